/* SPDX-License-Identifier: BSL-1.0

   One key of the lease table with the waiter table, in N processes: docs/protocol.md, docs/waiting.md. Each process has a
   caller, which acquires (src/engine/machines/acquire_machine.cpp), a thread that sleeps at the server
   (src/stores/mysql/parked/parked_waiters.cpp), and a clock. A step is a statement at the server, or what a thread does
   between two statements.

   Time: a session expires only after its process has stopped to trust it (rule 4). A waiter that polls sees each change
   of the row at some time. A waiter relies on a wake-up only for a grant that it has seen for so long that its release
   looks for waiters; from then on `looks` is set. `timeout` is the poll that comes every few seconds: it happens where
   nothing else can, so a wait without end is a deadlock, which Spin reports.

   A waiter is passed over where nothing else can happen (`timeout`), and with PASSES in any moment.

   Left out: replies that are lost (rule 6), clean-up, threads of one process. */

#ifndef N
#define N 2         /* processes */
#endif
#ifndef ROUNDS
#define ROUNDS 1    /* acquires of the first process; the others have one */
#endif
#ifndef FIFO
#define FIFO 0      /* fairness::fifo */
#endif
#ifndef HELD
#define HELD 0      /* another process has the key at first, and releases it */
#endif
#ifndef AGAIN
#define AGAIN 0     /* the first process has just got the key, for which it had waited */
#endif
#ifndef WAKE
#define WAKE 1      /* 0: waiters only poll (wake=off) */
#endif
#ifndef POLLS
#define POLLS 1     /* a waiter that relies on a wake-up polls now and then. 0: only wake-ups end its wait */
#endif
#ifndef LOSE
#define LOSE 0      /* a wake-up may be lost */
#endif
#ifndef CRASHES
#define CRASHES 0   /* processes that are killed */
#endif
#ifndef STOPS
#define STOPS 0     /* processes that are stopped, and never go on: their connections last */
#endif
#ifndef PASSES
#define PASSES 0    /* how often a waiter that runs is passed over */
#endif
#ifndef STALLS
#define STALLS 0    /* leases that run out because their renewals don't arrive */
#endif
#ifndef LEAVES
#define LEAVES 0    /* waits that end without the key */
#endif

/* Mistakes: each is 1 in a run that must fail. */
#ifndef EARLY_EXPIRY
#define EARLY_EXPIRY 0      /* the session may expire while its process still trusts it */
#endif
#ifndef SAME_FENCE
#define SAME_FENCE 0        /* a take-over keeps the fence */
#endif
#ifndef BLIND_TAKE_OVER
#define BLIND_TAKE_OVER 0   /* a take-over names neither the holder nor the fence that it saw */
#endif
#ifndef BLIND_RELEASE
#define BLIND_RELEASE 0     /* a release names neither session nor fence */
#endif
#ifndef RING_GRANTS
#define RING_GRANTS 0       /* a waiter that is woken takes the key for its own */
#endif
#ifndef RING_FIRST
#define RING_FIRST 0        /* a release wakes the waiter before it frees the key */
#endif
#ifndef NEVER_LOOKS
#define NEVER_LOOKS 0       /* a release of a grant without a wait looks for no waiter */
#endif
#ifndef LOOK_FIRST
#define LOOK_FIRST 0        /* a waiter looks at the key before it sleeps, and not after */
#endif
#ifndef LEAVE_SILENTLY
#define LEAVE_SILENTLY 0    /* a woken process that leaves without the key wakes nobody */
#endif
#ifndef NEWCOMER
#define NEWCOMER 0          /* fifo: a process that is not registered asks for no order */
#endif
#ifndef KEEP_PLACE
#define KEEP_PLACE 0        /* fifo: a process that waits again after a grant keeps its row */
#endif
#ifndef STALE_WORKS
#define STALE_WORKS 0       /* fifo: a look counts the row of an earlier wait as that of the present one */
#endif
#ifndef NEVER_PASSES
#define NEVER_PASSES 0      /* nobody passes over a process that is stopped */
#endif
#ifndef DEAD_FIRST
#define DEAD_FIRST 0        /* fifo: the row of a killed process keeps its place */
#endif

#if CRASHES || STOPS
#define unless_killed unless { crashed[p] }
#else
#define unless_killed
#endif

#define SESSIONS (N * (1 + STALLS))
#define ALIVE 1
#define EXPIRED 2

typedef order { byte at[N], rows }   /* the places of processes, from 1 on; 0: it has none */

/* ---- at the server ---- */
byte holder, fence;              /* the row of the key; 0: it is free */
bool looks;                      /* the release of this grant looks for a waiter */
byte session[SESSIONS + 2];
order table;                     /* the waiter table */
bool wake_id[N], asleep[N];         /* the named lock; its connection sleeps */
bool here[N];                    /* the other lock, which shows that the process is there */

/* ---- in each process ---- */
byte sid[N];
bool live[N];                    /* its clock is before the session's local deadline */
bool crashed[N];
byte has[N];                     /* the fence of its lease, or 0 */
bool watching[N], works[N], hint[N];   /* the caller listens; it relies on that; it has been notified */
bool registered[N], taken[N], stale[N];

/* ---- for the properties ---- */
order truth;                     /* the order of the present waits, as the table should have it */
byte newest, wrote, writer;      /* the newest fence; the newest fence at the resource, and whose it is */
byte crashes, stalls, leaves, stops, passes_done;

#define dead(s) (s != 0 && session[s] != ALIVE)
#define trusts(q) (has[q] != 0 && live[q])
#define counts(q) (table.at[q] != 0 && (here[q] || DEAD_FIRST))
#define earlier(q, p, reg) (q != p && counts(q) && !(reg && table.at[p] != 0 && table.at[p] < table.at[q]) && !(NEWCOMER && !reg))
#define passes(q, p) (q != p && watching[q] && here[q] && truth.at[q] != 0 && !(truth.at[p] != 0 && truth.at[p] < truth.at[q]))
#define sleeper(q, p) (q != p && table.at[q] != 0 && wake_id[q])
#if N == 2
#define is_behind(p) (earlier(0, p, 1) || earlier(1, p, 1))
#define others_first(p, reg) (FIFO && (earlier(0, p, reg) || earlier(1, p, reg)))
#define overtakes(p) (passes(0, p) || passes(1, p))
#define trusted (trusts(0) || trusts(1))
#else
#define is_behind(p) (earlier(0, p, 1) || earlier(1, p, 1) || earlier(2, p, 1))
#define others_first(p, reg) (FIFO && (earlier(0, p, reg) || earlier(1, p, reg) || earlier(2, p, reg)))
#define overtakes(p) (passes(0, p) || passes(1, p) || passes(2, p))
#define trusted (trusts(0) || trusts(1) || trusts(2))
#endif

/* Within a statement: the first waiter whose wake id is held, of other processes; N: there is none. */
inline find_first(p, first) {
  first = N;
  q = 0;
  do
  :: q < N ->
     if
     :: sleeper(q, p) && (first == N || table.at[q] < table.at[first]) -> first = q
     :: else
     fi;
     q++
  :: else -> break
  od;
  q = 0
}

inline append(list, p) { list.rows++; list.at[p] = list.rows }
inline remove(list, p) {
  q = 0;
  do
  :: q < N ->
     if
     :: list.at[p] != 0 && list.at[q] > list.at[p] -> list.at[q]--
     :: else
     fi;
     q++
  :: else -> break
  od;
  q = 0;
  if
  :: list.at[p] != 0 -> list.rows--; list.at[p] = 0
  :: else
  fi
}

/* Within a statement: the first process that counts and comes before p is passed over. */
inline pass_over(p, first) {
  first = N;
  q = 0;
  do
  :: q < N ->
     if
     :: earlier(q, p, 1) && (first == N || table.at[q] < table.at[first]) -> first = q
     :: else
     fi;
     q++
  :: else -> break
  od;
  q = 0;
  if
  :: first < N -> remove(table, first); remove(truth, first)
  :: else
  fi;
  first = N
}

/* KILL QUERY ends a sleep, and has no effect on a connection that does not sleep. */
inline ring(first) {
  if
  :: first < N -> asleep[first] = false
  :: first < N && LOSE
  :: first == N
  fi;
  first = N
}

/* Within a statement: the row is granted to p. */
inline grant(p) {
  assert(!trusted);                              /* one holder */
  assert(holder == 0 || dead(holder));           /* only its holder changes a held row */
  assert(!(FIFO && overtakes(p)));               /* nobody overtakes */
  if
  :: SAME_FENCE && holder != 0
  :: else -> fence++; assert(fence > newest); newest = fence   /* fences grow */
  fi;
  holder = sid[p];
  mine = fence;
  looks = (waited || FIFO)
}

proctype caller(byte p) {
  byte seen, seen_fence, mine, rounds, first, q;
  bool waited, behind, relied;
  {
  first = N;
#if AGAIN
  if
  :: p == 0 -> rounds = 1; mine = 1; goto granted
  :: else
  fi;
#endif
  do
  :: rounds == (p == 0 -> ROUNDS : 1) -> break
  :: else -> rounds++

take:
    atomic {
      if
      :: !live[p] -> sid[p] = sid[p] + N; session[sid[p]] = ALIVE; live[p] = true   /* never the old one again */
      :: else
      fi;
      if
      :: holder == 0 && !others_first(p, works[p]) -> grant(p); goto granted
      :: else -> seen = 0; seen_fence = 0
      fi
    }

poll:
    atomic {
      relied = false; seen = holder; seen_fence = fence; behind = others_first(p, works[p]);
      if
      :: seen != 0 && !dead(seen) -> goto pause
      :: (seen == 0 || dead(seen)) && behind -> find_first(p, first)
      :: seen == 0 && !behind -> goto take
      :: dead(seen) && !behind -> goto take_over
      fi
    }
    ring(first);
    goto pause;

take_over:
    atomic {
      if
      :: session[seen] == EXPIRED -> session[seen] = 0
      :: else
      fi
    }
    atomic {
      if
      :: (BLIND_TAKE_OVER || (holder == seen && fence == seen_fence)) && !others_first(p, works[p]) -> grant(p); goto granted
      :: else -> goto poll
      fi
    }

pause:
    atomic {
      if
      :: !watching[p] ->
         watching[p] = true; works[p] = false; hint[p] = false; waited = true;
         stale[p] = registered[p] && taken[p]; taken[p] = false
      :: else
      fi
    }
    if
    :: atomic { hint[p] ->
         hint[p] = false;
         if
         :: RING_GRANTS -> grant(p); goto granted
         :: else -> goto take
         fi }
    :: atomic { POLLS && timeout && holder == 0 && !others_first(p, works[p]) -> goto poll }
    :: atomic { dead(holder) && !others_first(p, works[p]) -> goto poll }         /* the lease can end */
    :: atomic { leaves < LEAVES -> leaves++; mine = 0; goto left }
    /* It polls, until it has seen this grant for a while. */
    :: atomic { !relied && (holder != seen || fence != seen_fence) -> goto poll }
    :: atomic { !relied && behind && !others_first(p, works[p]) -> goto poll }
    :: atomic { !relied && works[p] && seen != 0 && holder == seen && fence == seen_fence ->
         relied = true; looks = (looks || !NEVER_LOOKS); goto pause }
    fi;

granted:
    atomic {
      has[p] = mine; taken[p] = (registered[p] || watching[p]); relied = false; behind = false;
      watching[p] = false; works[p] = false; remove(truth, p)
    }
    /* A write reaches the resource whether the lease is still trusted or not. */
    if
    :: atomic {
         if
         :: trusts(p) -> assert(holder == sid[p] && fence == mine && mine >= wrote)
         :: else
         fi;
         if
         :: mine >= wrote -> assert(mine > wrote || writer == p); wrote = mine; writer = p   /* one writer per fence */
         :: else
         fi
       }
    :: true
    fi;
    atomic { has[p] = 0; seen = sid[p] }
#if RING_FIRST
    atomic { find_first(p, first) };
    ring(first);
#endif
    atomic {
      if
      :: BLIND_RELEASE || (holder == seen && fence == mine) ->
         holder = 0;
         if
         :: looks && !RING_FIRST -> find_first(p, first)
         :: else
         fi
      :: else
      fi;
      looks = false
    }
    ring(first);

left:
    atomic { watching[p] = false; works[p] = false; waited = false; mine = 0; seen = 0; seen_fence = 0; relied = false; behind = false }
  od
  } unless_killed
}

/* The thread that sleeps for p. */
proctype waits(byte p) {
  byte saw, seen_fence, first, q;
  bool may_be_free, was_rung, new_sleep, passes_on, behind, rung, deleted;
  {
  first = N;
#if AGAIN
  if
  :: p == 0 -> goto look
  :: else
  fi;
#endif
end_idle:
  atomic { watching[p] -> registered[p] = true; stale[p] = false }
enter:
  atomic { here[p] = true; append(table, p); append(truth, p); saw = 0; was_rung = false }
work:
  if
  :: atomic { watching[p] && stale[p] && !KEEP_PLACE -> stale[p] = false; passes_on = false }
     atomic { remove(table, p) }
     atomic {
       if
       :: holder == 0 -> find_first(p, first)
       :: else
       fi
     }
     ring(first);
     goto enter
  :: atomic { watching[p] && stale[p] && KEEP_PLACE -> stale[p] = false; append(truth, p) }
  :: atomic { !watching[p] -> registered[p] = false; passes_on = (was_rung && !taken[p]); taken[p] = false }
     atomic { remove(table, p); remove(truth, p) }
     atomic {
       if
       :: (passes_on || holder == 0) && !LEAVE_SILENTLY -> find_first(p, first)
       :: else
       fi;
       passes_on = false; was_rung = false; saw = 0
     }
     ring(first);
     goto end_idle
  :: watching[p] && !stale[p]
  fi;
#if LOOK_FIRST
  atomic { may_be_free = (holder == 0 || dead(holder)); seen_fence = fence }
#endif
  if
  :: !asleep[p] -> wake_id[p] = false; atomic { wake_id[p] = true; asleep[p] = true; new_sleep = true }
  :: else
  fi;
look:
#if !LOOK_FIRST
  atomic {
    may_be_free = (holder == 0 || dead(holder)); seen_fence = fence;
    behind = (holder == 0 && is_behind(p) && works[p] && !rung && !stale[p]);
    deleted = (table.at[p] == 0); rung = false
  }
#endif
  if
  :: deleted -> deleted = false; behind = false; may_be_free = false; seen_fence = 0; goto enter
  :: behind -> may_be_free = false; behind = false; atomic { find_first(p, first) }
     ring(first)
  :: else
  fi;
  atomic {
    if
    :: watching[p] && (!stale[p] || STALE_WORKS) &&
       (may_be_free || !works[p] || (new_sleep && saw != 0 && saw != seen_fence)) -> works[p] = true; hint[p] = true
    :: else
    fi;
    saw = seen_fence; seen_fence = 0; may_be_free = false; new_sleep = false
  }
end_sleep:
  if
  :: atomic { (STOPS || PASSES) && !NEVER_PASSES && watching[p] && !stale[p] && works[p] && holder == 0 && is_behind(p) &&
       (passes_done < PASSES || timeout) ->
       if
       :: passes_done < PASSES -> passes_done++
       :: else
       fi;
       pass_over(p, first) }
     goto look
  /* The look that comes every few seconds; a process that is stopped may have released the key and woken nobody. */
  :: atomic { timeout && watching[p] && !stale[p] &&
       (table.at[p] == 0 || (STOPS && holder == 0 && works[p] && !is_behind(p))) -> goto look }
  :: atomic { !asleep[p] ->
       was_rung = true; rung = true;
       if
       :: works[p] && watching[p] -> hint[p] = true
       :: else
       fi }
     goto work
  :: !watching[p] || stale[p] -> goto work
  :: watching[p] && !stale[p] && !works[p] -> goto look
  fi
  } unless_killed
}

proctype clock(byte p) {
end:
  do
  :: atomic { stalls < STALLS && live[p] -> stalls++; live[p] = false }
  :: atomic { crashes < CRASHES && !crashed[p] ->
       crashes++; crashed[p] = true; live[p] = false; wake_id[p] = false; asleep[p] = false; here[p] = false }
  :: atomic { stops < STOPS && !crashed[p] -> stops++; crashed[p] = true; live[p] = false }
  :: atomic { session[p + 1] == ALIVE && (sid[p] != p + 1 || !live[p] || EARLY_EXPIRY) -> session[p + 1] = EXPIRED }
#if STALLS
  :: atomic { session[p + 1 + N] == ALIVE && (!live[p] || EARLY_EXPIRY) -> session[p + 1 + N] = EXPIRED }
#endif
  od
}

#if HELD
proctype elder() {
  byte first, q;
  atomic { holder = 0; find_first(N, first) }
  ring(first)
}
#endif

init {
  byte p;
  atomic {
    do
    :: p < N ->
       sid[p] = p + 1; session[p + 1] = ALIVE; live[p] = true;
       run caller(p); run clock(p);
       if
       :: WAKE -> run waits(p)
       :: else
       fi;
       p++
    :: else -> break
    od;
#if HELD
    holder = SESSIONS + 1; session[holder] = ALIVE; fence = 1; newest = 1; looks = true;
    run elder();
#endif
#if AGAIN
    holder = 1; fence = 1; newest = 1; looks = true;
    append(table, 0); append(truth, 0);
    here[0] = true; wake_id[0] = true; asleep[0] = true; registered[0] = true; works[0] = true; watching[0] = true;
#endif
    p = 0
  }
}
