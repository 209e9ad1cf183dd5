// SPDX-License-Identifier: BSL-1.0

// The examples of the pages in docs/, so that they compile and do what the pages say. scripts/check_docs.sh
// compares the regions between "// [name]" and "// [/name]" with the pages.

#include "dlock/dlock.hpp"
#include "dlock/event_log.hpp"
#include "dlock/metrics.hpp"
#include "dlock/stores/memory.hpp"
#include "dlock/trace.hpp"
#include "support/test.hpp"

namespace {

using namespace std::chrono_literals;

// [granted]
/// Whether the call gave a lease, which is released at once.
template <class Lease>
bool granted(const Lease& lease) {
  return static_cast<bool>(lease);
}
// [/granted]

struct two_workers {
  dlock::stores::virtual_clock clock;
  std::shared_ptr<dlock::stores::memory_store> store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "worker 1", .time = &clock}};
  dlock::lock_service others{store, {.label = "worker 2", .time = &clock}};
};

struct order {
  int id;
  std::string customer;
};

int ship(const order& o) { return o.id; }

int ship_in_any_way(dlock::lock_service& locks, const order& o, int& skipped) {
  int shipped = 0;
  // clang-format off
  // [faces]
  // A block, and its lease by name. The end of the block releases the lock.
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"order:{o.id}:{o.customer}">(o), {.ttl = 30s, .wait = 0s}) {
    shipped += ship(o);
    held.ensure_held();  // throws lock_lost if it is not ours any more
  }

  // One attempt.
  DISTRIBUTED_TRY_LOCKED("report:daily") {
    shipped += ship(o);
  } else {
    ++skipped;
  }

  // A function that locks by its arguments, and checks the lease at the end.
  const auto ship_locked = locks.locked<"order:{o.id}:{o.customer}", "o">([](const order& it) { return ship(it); });
  shipped += ship_locked(o);

  // A mutex for the standard library's guards.
  dlock::distributed_mutex door{locks, "warehouse:7"};
  std::lock_guard guard{door};
  // [/faces]
  // clang-format on
  shipped += ship(o);
  return shipped;
}

int transfer(int from, int) { return from; }

int transfer_in_any_way(dlock::lock_service& locks) {
  int moved = 0;
  // clang-format off
  // [several]
  DISTRIBUTED_LOCKED({"wallet:7", "wallet:9"}, {.ttl = 30s, .wait = 2s}) {
    moved += transfer(7, 9);
  }

  const auto both = locks.acquire_all({"wallet:7", "wallet:9"}, {.wait = 2s});
  moved += transfer(9, 7);
  both.ensure_held();                                    // throws lock_lost if one of them is lost
  const auto token = both["wallet:9"].fencing_token();   // each key has its own lease

  const std::vector<std::string> products{"stock:3", "stock:1", "stock:3"};
  locks.with_locks(products, [&](const dlock::multi_lease& held) { moved += static_cast<int>(held.size()); });  // 2
  // [/several]
  // clang-format on
  return moved + static_cast<int>(token);
}

struct report_storage {
  std::uint64_t fence = 0;
  std::string text{};

  bool save(const char*, const std::string& body, std::uint64_t token) {
    if (token < fence) return false;
    fence = token;
    text = body;
    return true;
  }
};

std::string build_report() { return "all is well"; }
int ship(int id) { return id; }
int try_later(const std::string&) { return -1; }
int discard(std::string_view) { return -2; }
int report(const std::string&) { return -3; }

int ship_42(dlock::lock_service& locks) {
  // [errors]
  try {
    return locks.with_lock("order:42", {.ttl = 30s, .wait = 2s}, [&] { return ship(42); });
  } catch (const dlock::lock_timeout& busy) {
    return try_later(busy.what());  // "dlock: key 'order:42': still busy after 2000 ms, held by app1/4312: ..."
  } catch (const dlock::lock_lost& lost) {
    return discard(to_string(lost.reason()));  // ship() has run, but perhaps not alone
  } catch (const dlock::store_error& broken) {
    return broken.transient() ? try_later(broken.what()) : report(broken.what());
  }
  // [/errors]
}

}  // namespace

TEST_CASE("example: a key that another service of the memory store holds is busy") {
  // [setup]
  dlock::stores::virtual_clock clock;
  auto store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "worker 1", .time = &clock}};
  dlock::lock_service others{store, {.label = "worker 2", .time = &clock}};
  // [/setup]
  // [busy]
  const auto theirs = others.acquire("report:daily");
  const auto ours = locks.try_acquire("report:daily");
  CHECK_FALSE(ours);
  CHECK_THROWS_AS(locks.acquire("report:daily", {.wait = 0s}), dlock::lock_timeout);
  // [/busy]
}

TEST_CASE_METHOD(two_workers, "example: a lease is lost when the virtual clock passes its ttl") {
  // [lost]
  const auto held = locks.acquire("report:daily", {.ttl = 30s});
  CHECK(held.loss() == dlock::loss_reason::none);
  clock.advance(40s);  // as if this process had been stopped for 40 s
  CHECK(held.loss() == dlock::loss_reason::unreachable);
  CHECK_THROWS_AS(held.ensure_held(), dlock::lock_lost);
  // [/lost]
}

TEST_CASE_METHOD(two_workers, "example: a test waits for what the background does") {
  // [rest]
  const auto held = locks.acquire("report:daily", {.ttl = 30s});
  clock.advance(11s);                  // more than ttl/3
  CHECK(clock.at_rest());              // the renewal is over
  CHECK(held.remaining() == 28500ms);  // ttl - margin, from now on
  // [/rest]
}

TEST_CASE_METHOD(two_workers, "example: with_lock throws away a result that was made under a lost lease") {
  // [result]
  const auto work = [&] {
    clock.advance(40s);  // longer than the ttl allows
    return 42;
  };
  CHECK_THROWS_AS(locks.with_lock("report:daily", {.ttl = 30s}, work), dlock::lock_lost);
  // [/result]
}

TEST_CASE_METHOD(two_workers, "example: an expiry of its own ends a lease that nobody renews") {
  // [expiry]
  const auto held = locks.acquire("tick", {.ttl = 100ms, .renewal = dlock::renewal::none});
  clock.advance(100ms);
  CHECK(held.loss() == dlock::loss_reason::expired);
  const auto next = others.try_acquire("tick");
  CHECK(next);
  // [/expiry]
}

TEST_CASE_METHOD(two_workers, "example: a service counts what happened") {
  // [counts]
  locks.with_lock("order:42", [] {});
  CHECK(locks.count(dlock::event::kind::granted) == 1);
  CHECK(locks.count(dlock::event::kind::released) == 1);
  CHECK(locks.count(dlock::event::kind::lost) == 0);
  // [/counts]
}

TEST_CASE_METHOD(two_workers, "example: a resource that checks the fencing token refuses an older holder") {
  dlock::set_default_service(locks);
  report_storage storage;
  const auto save = [&] {
    // [fencing]
    DISTRIBUTED_LOCKED_AS(held, "report:daily") {
      const auto text = build_report();
      if (!storage.save("daily", text, held.fencing_token())) throw std::runtime_error("a newer report is there");
    }
    // [/fencing]
  };
  CHECK_NOTHROW(save());
  storage.fence = 100;
  CHECK_THROWS_AS(save(), std::runtime_error);
}

TEST_CASE_METHOD(two_workers, "example: a gate in front of a resource refuses a holder that was overtaken [T71]") {
  std::string archived;
  dlock::fence_gate gate;
  const auto receive = [&](std::uint64_t token, const std::string& text) {
    // [fence_gate]
    gate.require("report:daily", token, [&] { archived = text; });  // stale_fence: a newer holder was here
    // [/fence_gate]
  };
  receive(7, "new");
  CHECK_THROWS_AS(receive(6, "old"), dlock::stale_fence);
  CHECK(archived == "new");
}

TEST_CASE("example: a fenced statement checks and writes at once [T71]") {
  const std::string sql = [] {
    // [fenced_update]
    const dlock::fenced_update save{.table = "report", .assignments = "body = ?", .condition = "id = ?"};
    return save.sql();  // its parameters: body, token, id, token
    // [/fenced_update]
  }();
  CHECK(sql == "UPDATE report SET body = ?, fence = ? WHERE (id = ?) AND fence <= ?");
}

TEST_CASE_METHOD(two_workers, "example: the faces that the README shows") {
  dlock::set_default_service(locks);
  const order o{42, "ann"};
  int skipped = 0;
  CHECK(ship_in_any_way(locks, o, skipped) == 4 * 42);
  CHECK(skipped == 0);
  const auto theirs = others.acquire("order:42:ann");
  CHECK_THROWS_AS(ship_in_any_way(locks, o, skipped), dlock::lock_timeout);
}

TEST_CASE("example: a service is made by the URL of its store") {
  const auto start = [] {
    // [start]
    dlock::lock_service locks{"mysql://locker:secret@db1,db2/locks", {.label = "billing", .start_limit = 30s}};
    // [/start]
  };
  const auto redis = [] {
    // [redis]
    dlock::lock_service locks{"redis://locker:secret@redis1.example.com,redis2.example.com/0?persistence=everysec"};
    // [/redis]
  };
  const auto redlock = [] {
    // [redlock]
    dlock::lock_service locks{"redlock://locker:secret@redis1.example.com,redis2.example.com,redis3.example.com/0"};
    // [/redlock]
  };
  const auto zookeeper = [] {
    // [zookeeper]
    dlock::lock_service locks{"zookeeper://zk1.example.com,zk2.example.com,zk3.example.com/app?base=/locks"};
    // [/zookeeper]
  };
  // This program links none of these stores.
  CHECK_THROWS_WITH(start(), Catch::Matchers::ContainsSubstring("dlock::mysql"));
  CHECK_THROWS_WITH(redis(), Catch::Matchers::ContainsSubstring("dlock::redis"));
  CHECK_THROWS_WITH(redlock(), Catch::Matchers::ContainsSubstring("dlock::redis"));
  CHECK_THROWS_WITH(zookeeper(), Catch::Matchers::ContainsSubstring("dlock::zookeeper"));
}

namespace {

// [trace]
/// Passes dlock's spans on to a tracing library.
class span_printer final : public dlock::trace_sink {
 public:
  void on_span(const dlock::trace_span& span) override {
    printed.push_back(std::string(span.name) +
                      (span.failed ? " failed" : ""));  // start and end it with span.begin, span.end
  }
  void on_event(std::string_view name, std::chrono::system_clock::time_point /*at*/,
                std::span<const dlock::trace_attribute> /*attributes*/) override {
    printed.emplace_back(name);
  }
  std::vector<std::string> printed{};
};
// [/trace]

}  // namespace

TEST_CASE("docs: metrics, traces and logs of events are observers, and a tee makes one of several") {
  const std::string path = "/dev/null";
  // [observers]
  const auto numbers = std::make_shared<dlock::metrics>();
  const auto spans = std::make_shared<span_printer>();
  const auto observer =
      dlock::make_tee_observer({numbers, dlock::make_trace_observer(spans), dlock::make_event_log(path)});
  dlock::lock_service locks{"memory:", {.observer = observer}};
  const auto gauges = numbers->watch(locks);

  const auto held = locks.acquire("order:42");
  const std::string answer = numbers->text();  // of a scrape, in Prometheus' text format
  // [/observers]
  CHECK(answer.find("dlock_events_total{event=\"granted\"} 1\n") != std::string::npos);
  CHECK(answer.find("dlock_held_keys 1\n") != std::string::npos);
  CHECK(spans->printed == std::vector<std::string>{"dlock.session_opened", "dlock.acquire"});
}

TEST_CASE("example: the URL chooses the store") {
  // [by_url]
  dlock::lock_service locks{"memory:shop"};  // in production "mysql://app:secret@db.example.com/locks"
  const auto held = locks.acquire("order:42");
  // [/by_url]
  CHECK(held);
}

TEST_CASE_METHOD(two_workers, "example: a coroutine, or any task, with an owner of its own") {
  // [owner]
  dlock::owner me;  // one for each task
  auto held = [&] {
    const dlock::owner_scope here{me};
    return locks.acquire("order:42", {.ttl = 30s, .wait = 2s});
  }();
  // ... co_await, on whatever thread; a nested call that says `me` in the same way enters again
  // [/owner]
  const auto on_the_heap = std::make_unique<dlock::lease>(std::move(held));
  CHECK_FALSE(granted(locks.try_acquire("order:42")));
  const dlock::owner_scope here{me};
  CHECK(locks.try_acquire("order:42").reentered());
}

TEST_CASE_METHOD(two_workers, "example: a request that several processes serve") {
  const std::string request_id = "7f3a0c52-9d1e-4b7a-8c1f-0e5d2a6b4c11";
  const auto work = [&] {
    // [request_id]
    const dlock::owner_scope here{dlock::owner{request_id}};  // as the caller's header names it
    const auto held = locks.acquire("order:42", {.ttl = 30s, .wait = 2s, .renewal = dlock::renewal::none});
    // [/request_id]
  };
  // These locks are in memory, which no other process sees.
  CHECK_THROWS_WITH(work(), Catch::Matchers::ContainsSubstring(request_id));
}

TEST_CASE_METHOD(two_workers, "example: the example of errors.md") { CHECK(ship_42(locks) == 42); }

TEST_CASE_METHOD(two_workers, "example: the ways to wait") {
  // clang-format off
  // [wait]
  auto held = locks.acquire("order:42", {.wait = 2s});         // waits up to 2 s, then throws lock_timeout
  auto tried = locks.try_acquire("order:43");                  // one attempt; an empty lease if the key is busy
  auto soon = locks.try_acquire("order:44", {.wait = 2s});     // waits like acquire, and returns an empty lease
  auto quick = locks.acquire("tick", {.retry = {.pause = 1ms, .max_pause = 10ms}});  // a lock held for a few ms
  // [/wait]
  // clang-format on
  CHECK((held && tried && soon && quick));
}

TEST_CASE("example: a wait that closes a deadlock cycle") {
  dlock::lock_service locks("memory:");
  std::atomic<int> refused{0};
  int moved = 0;
  const auto again = [&](const std::string& why) {
    refused += why.find("': the wait would never end: another thread of ") != std::string::npos ? 1 : 100;
  };
  std::promise<void> held;
  std::thread other([&] {
    const auto from = locks.acquire("wallet:9");
    held.set_value();
    while (!locks.holder("wallet:7")) std::this_thread::yield();
    try {
      const auto to = locks.acquire("wallet:7", {.wait = 10s});
    } catch (const dlock::lock_deadlock& cycle) {
      again(cycle.what());
    }
  });
  held.get_future().wait();
  // clang-format off
  // [cycle]
  try {
    const auto from = locks.acquire("wallet:7", {.wait = 10s});
    const auto to = locks.acquire("wallet:9", {.wait = 10s});
    moved += transfer(7, 9);
  } catch (const dlock::lock_deadlock& cycle) {
    again(cycle.what());  // `from` is released now, so the other thread can go on
  }
  // [/cycle]
  // clang-format on
  other.join();
  CHECK(refused == 1);  // whichever began to wait last
}

TEST_CASE_METHOD(two_workers, "example: several locks at once") {
  dlock::set_default_service(locks);
  CHECK(transfer_in_any_way(locks) == 7 + 9 + 2 + 2);
  const auto theirs = others.acquire("wallet:9");
  CHECK_THROWS_AS(locks.acquire_all({"wallet:7", "wallet:9"}, {.wait = 0s}), dlock::lock_timeout);
  CHECK(granted(others.try_acquire("wallet:7")));
}

// The example of docs/zh-CN/annotations.md.

namespace {

struct purchase {
  int id;
  long amount;
};

// [place]
std::string place(const purchase& o) { return "receipt for order " + std::to_string(o.id); }

auto place_locked(dlock::lock_service& locks) {
  return locks.locked<"order:{o.id}", "o">(place, {.ttl = 30s, .wait = 2s});
}
// [/place]

}  // namespace

TEST_CASE("example: the Chinese page's decorated function locks by its argument") {
  const auto store = std::make_shared<dlock::stores::memory_store>();
  dlock::lock_service locks{store};
  dlock::lock_service others{store, {.defaults = {.wait = 0s}}};
  const auto place_one = place_locked(locks);
  CHECK(place_one(purchase{42, 100}) == "receipt for order 42");
  const auto held = locks.acquire("order:42");
  const auto theirs = others.locked<"order:{o.id}", "o">(place, {.wait = 0s});
  CHECK_THROWS_AS(theirs(purchase{42, 100}), dlock::lock_timeout);
  CHECK(theirs(purchase{43, 100}) == "receipt for order 43");
}
