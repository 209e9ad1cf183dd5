/* SPDX-License-Identifier: BSL-1.0

   Deadlock cycles of N processes that wait for each other (docs/several-keys.md; src/stores/sql/deadlock_cycles.cpp). Each process
   holds a lock of its own, and may wait for that of the next one. The thread of its waiters writes what it holds into the
   waiter table, reads the rows of all, then the present grants, and refuses its own wait, confirms it, or asks the others
   to confirm theirs. The wait of a cycle that ends first is refused, of several that end together the youngest.

   `timeout` is the look that comes every few seconds: it happens where nothing else can, so a cycle that nobody finds is
   a deadlock, which Spin reports. */

#ifndef N
#define N 3
#endif
#ifndef LEAVES
#define LEAVES 0        /* waits that end by their limit */
#endif
#ifndef LOSSES
#define LOSSES 0        /* leases that are lost while their holder waits for another lock */
#endif
#ifndef LOSE
#define LOSE 0          /* a wake-up may be lost */
#endif

/* Mistakes: each is 1 in a run that must fail. */
#ifndef UNCONFIRMED
#define UNCONFIRMED 0   /* a wait is refused although the others have not confirmed theirs */
#endif
#ifndef CONFIRMS_ALL
#define CONFIRMS_ALL 0  /* a process confirms a wait that has ended */
#endif
#ifndef ANY_VICTIM
#define ANY_VICTIM 0    /* each process of a cycle refuses its wait */
#endif
#ifndef ASKS_NOBODY
#define ASKS_NOBODY 0   /* a process neither asks the others nor looks again */
#endif

#define NOBODY N
typedef rows { byte waits_for[N], since[N], confirmed[N]; bool held[N] }

/* At the server: who holds the key of process k, the waiter table, and the clock. */
byte holder[N + 1], now;
rows table;

/* In each process: the key that its caller waits for, whether it has its own lock, and whether its thread looks at once. */
byte wants[N + 1], ends[N];
bool owns[N], looks[N], refused[N];

/* For the properties. */
byte refusals, leaves, losses, tries[N];
bool closed_cycle[N];   /* when its row was written */

#define next(q) holder[wants[q]]
#define in_cycle(q) (next(q) != NOBODY && (next(next(q)) == q || next(next(next(q))) == q))
#define before(q) (!in_cycle(q) || tries[p] <= tries[q])

proctype caller(byte p) {
  if
  :: wants[p] = (p + 1) % N
  :: true
  fi;
waiting:
  if
  :: atomic { wants[p] != NOBODY && holder[wants[p]] == NOBODY -> holder[wants[p]] = p; wants[p] = NOBODY }
  :: atomic { refused[p] -> wants[p] = NOBODY }
  :: atomic { wants[p] != NOBODY && leaves < LEAVES -> leaves++; wants[p] = NOBODY }
  :: atomic { wants[p] != NOBODY && owns[p] && losses < LOSSES -> losses++; owns[p] = false; holder[p] = NOBODY }
     goto waiting
  :: wants[p] == NOBODY
  fi;
  /* It releases all that it holds. */
  owns[p] = false;
  byte k = 0;
  do
  :: atomic { k < N ->
       if
       :: holder[k] == p -> holder[k] = NOBODY
       :: else
       fi;
       k++ }
  :: k == N -> break
  od
}

proctype waits(byte p) {
  rows seen;
  bool valid[N];
  byte at, steps, youngest, in_vain, q;
  bool certain, found, confirms;

end_idle:
  wants[p] != NOBODY;
write:
  atomic {
    now++;
    table.waits_for[p] = wants[p]; table.since[p] = now; table.confirmed[p] = now; table.held[p] = owns[p];
    closed_cycle[p] = in_cycle(p)
  }
  if
  :: wants[p] == NOBODY -> goto done
  :: else
  fi;
look:
  looks[p] = false;
  atomic {
    q = 0;
    do
    :: q < N ->
       seen.waits_for[q] = table.waits_for[q]; seen.since[q] = table.since[q]; seen.confirmed[q] = table.confirmed[q];
       seen.held[q] = table.held[q];
       q++
    :: else -> break
    od
  }
  atomic {
    q = 0;
    do
    :: q < N -> valid[q] = seen.held[q] && holder[q] == q; q++
    :: else -> break
    od;
    /* Along the rows, from the key that this process waits for to its own. */
    at = seen.waits_for[p]; steps = 0; youngest = p; in_vain = p; certain = true; confirms = false;
    do
    :: at != NOBODY && at != p && valid[at] && seen.waits_for[at] != NOBODY && steps < N ->
       if
       :: seen.since[at] > seen.since[youngest] -> youngest = at
       :: else
       fi;
       if
       :: ends[at] < ends[in_vain] || (ends[at] == ends[in_vain] && seen.since[at] > seen.since[in_vain]) -> in_vain = at
       :: else
       fi;
       at = seen.waits_for[at];
       steps++
    :: else -> break
    od;
    found = (at == p && valid[p] && steps > 0);
    if
    :: found ->
       at = seen.waits_for[p];
       do
       :: at != p -> certain = certain && seen.confirmed[at] >= seen.since[youngest]; at = seen.waits_for[at]
       :: else -> break
       od
    :: else
    fi;
    if
    :: found && (in_vain == p || ANY_VICTIM) && (certain || UNCONFIRMED) && wants[p] != NOBODY && !refused[p] ->
       assert(closed_cycle[youngest]);
       assert(LEAVES + LOSSES > 0 || in_cycle(p));
       assert(refusals == 0);
       refusals++; refused[p] = true
    :: found && in_vain == p && !certain && !UNCONFIRMED && !ASKS_NOBODY ->
       at = seen.waits_for[p];
       do
       :: at != p ->
          if
          :: seen.confirmed[at] < seen.since[youngest] -> looks[at] = true
          :: seen.confirmed[at] < seen.since[youngest] && LOSE
          :: seen.confirmed[at] >= seen.since[youngest]
          fi;
          at = seen.waits_for[at]
       :: else -> break
       od
    :: found && in_vain != p ->
       if
       :: seen.confirmed[p] < seen.since[youngest] ->
          confirms = (CONFIRMS_ALL || (wants[p] != NOBODY && owns[p] == table.held[p]))
       :: youngest == p && !ASKS_NOBODY -> looks[in_vain] = true
       :: youngest == p && LOSE
       :: else
       fi
    :: else
    fi;
    at = 0; steps = 0; youngest = 0; in_vain = 0; certain = false; found = false
  }
  atomic {
    q = 0;
    do
    :: q < N -> seen.waits_for[q] = 0; seen.since[q] = 0; seen.confirmed[q] = 0; seen.held[q] = false; valid[q] = false; q++
    :: else -> break
    od;
    q = 0;
    if
    :: confirms -> now++; table.confirmed[p] = now; confirms = false
    :: else
    fi
  }
end_asleep:
  if
  :: wants[p] == NOBODY -> goto done
  :: looks[p] -> goto look
  :: wants[p] != NOBODY && !owns[p] && table.held[p] -> goto write
  :: atomic { timeout && in_cycle(p) && !refused[p] && tries[p] < 3 && before(0) && before(1) && before(N - 1) && !ASKS_NOBODY ->
       tries[p]++; goto look }
  fi;
done:
  table.waits_for[p] = NOBODY
}

init {
  byte p;
  atomic {
    holder[N] = NOBODY; wants[N] = NOBODY;
    do
    :: p < N ->
       holder[p] = p; owns[p] = true; wants[p] = NOBODY; table.waits_for[p] = NOBODY;
       if
       :: ends[p] = 0
       :: ends[p] = 1
       fi;
       p++
    :: else -> break
    od;
    p = 0;
    do
    :: p < N -> run caller(p); run waits(p); p++
    :: else -> break
    od;
    p = 0
  }
}
