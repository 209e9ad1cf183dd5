// SPDX-License-Identifier: BSL-1.0
#include "dlock/distributed_mutex.hpp"

#include "support/test.hpp"
#include "unit/api/memory_fixture.hpp"

namespace {

using dlock::distributed_mutex;
using dlock::lease;
using dlock::owner_scope;
using dlock::test::eventually;
using dlock::test::granted;
using dlock::test::memory_fixture;
using dlock::test::thrown;
using namespace std::chrono_literals;

static_assert(!std::is_copy_constructible_v<distributed_mutex> && !std::is_move_constructible_v<distributed_mutex>);

constexpr std::size_t threads = 4;
constexpr int rounds = 100;

// A clock that no library knows.
struct users_clock {
  using duration = std::chrono::duration<double, std::ratio<60>>;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<users_clock>;
  [[maybe_unused]] static constexpr bool is_steady = false;
  static time_point now() { return time_point(duration(1000.0)); }
};

// A service on the machine's clock, where waits end by themselves.
struct real_time_fixture {
  dlock::lock_service locks{"memory:", {.close_limit = 0ms}};
};

}  // namespace

TEST_CASE_METHOD(memory_fixture, "mutex: locked means taken everywhere, unlocked means free") {
  distributed_mutex door{locks, "k"};
  door.lock();
  CHECK_FALSE(is_free("k"));
  door.unlock();
  CHECK(is_free("k"));
  REQUIRE(door.try_lock());
  CHECK_FALSE(is_free("k"));
  door.unlock();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "mutex: std guards lock and unlock it") {
  distributed_mutex door{locks, "k", {.wait = 0ms}};
  {
    const std::lock_guard guard(door);
    CHECK_FALSE(is_free("k"));
  }
  CHECK(is_free("k"));
  {
    std::unique_lock guard(door, std::try_to_lock);
    CHECK(guard.owns_lock());
    guard.unlock();
    CHECK(is_free("k"));
    CHECK(guard.try_lock_for(1h));
  }
  CHECK(is_free("k"));
  const lease theirs = rival.acquire("k");
  CHECK_FALSE(std::unique_lock(door, std::try_to_lock).owns_lock());
  CHECK_THROWS_AS(std::lock_guard(door), dlock::lock_timeout);
}

TEST_CASE_METHOD(memory_fixture, "mutex: two objects of one key exclude each other, of two keys do not") {
  distributed_mutex first{locks, "k"};
  distributed_mutex same{locks, "k"};
  distributed_mutex elsewhere{rival, "k"};
  distributed_mutex other{locks, "l"};
  const std::lock_guard guard(first);
  const owner_scope foreign;
  CHECK_FALSE(same.try_lock());
  CHECK_FALSE(elsewhere.try_lock());
  REQUIRE(other.try_lock());
  other.unlock();
}

TEST_CASE_METHOD(memory_fixture, "mutex: it is not recursive") {
  distributed_mutex door{locks, "k"};
  distributed_mutex same{locks, "k"};
  const std::lock_guard guard(door);
  CHECK(thrown([&] { door.lock(); }) == dlock::errc::already_held);
  CHECK(thrown([&] { (void)door.try_lock(); }) == dlock::errc::already_held);
  CHECK(thrown([&] { (void)door.try_lock_for(1s); }) == dlock::errc::already_held);
  CHECK(thrown([&] { same.lock(); }) == dlock::errc::already_held);
  CHECK_FALSE(is_free("k"));

  distributed_mutex throttle{locks, "k", {.wait = 0ms, .reentry = dlock::reentry::busy}};
  CHECK_FALSE(throttle.try_lock());
  CHECK_THROWS_AS(throttle.lock(), dlock::lock_timeout);
}

TEST_CASE_METHOD(memory_fixture, "mutex: a key held by a plain lease counts as held") {
  const lease mine = locks.acquire("k");
  distributed_mutex door{locks, "k"};
  CHECK(thrown([&] { door.lock(); }) == dlock::errc::already_held);
}

TEST_CASE_METHOD(memory_fixture, "mutex: only its owner can unlock it", "[T09]") {
  distributed_mutex door{locks, "k"};
  CHECK(thrown([&] { door.unlock(); }) == std::errc::operation_not_permitted);
  CHECK(thrown([&] { (void)door.held(); }) == std::errc::operation_not_permitted);
  door.lock();
  {
    const owner_scope foreign;
    CHECK(thrown([&] { door.unlock(); }) == std::errc::operation_not_permitted);
    CHECK(thrown([&] { (void)door.held(); }) == std::errc::operation_not_permitted);
  }
  CHECK_FALSE(is_free("k"));
  door.unlock();
  CHECK(thrown([&] { door.unlock(); }) == std::errc::operation_not_permitted);
}

TEST_CASE_METHOD(memory_fixture, "mutex: an owner may unlock on another thread", "[T09]") {
  distributed_mutex door{locks, "k"};
  const dlock::owner task;
  {
    const owner_scope here(task);
    door.lock();
  }
  std::thread([&] {
    const owner_scope there(task);
    door.unlock();
  }).join();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "mutex: held() is the lease of the current owner") {
  distributed_mutex door{locks, "k"};
  door.lock();
  const std::uint64_t first = door.held().fencing_token();
  CHECK(door.held().key() == "k");
  CHECK_NOTHROW(door.held().ensure_held());
  CHECK_FALSE(door.held().lost_token().stop_requested());
  door.unlock();
  door.lock();
  CHECK(door.held().fencing_token() == first + 1);
  outlive_leases();
  CHECK_THROWS_AS(door.held().ensure_held(), dlock::lock_lost);
  door.unlock();
}

TEST_CASE_METHOD(memory_fixture, "mutex: unlock after a loss throws nothing, tells the observer, spares a successor",
                 "[T08]") {
  distributed_mutex door{locks, "k"};
  lease theirs;
  {
    const std::lock_guard guard(door);
    outlive_leases();
    theirs = rival.acquire("k");
  }
  theirs.ensure_held();
  CHECK_FALSE(granted(locks.try_acquire("k")));
  CHECK(seen->wait_for(dlock::event::kind::lost));
}

TEST_CASE_METHOD(memory_fixture, "mutex: after a loss the object serves the next owner before the first has unlocked") {
  distributed_mutex door{locks, "k"};
  const dlock::owner next;
  door.lock();
  const std::uint64_t lost_fence = door.held().fencing_token();
  outlive_leases();
  REQUIRE(seen->wait_for(dlock::event::kind::lost));
  {
    const owner_scope here(next);
    REQUIRE(door.try_lock());
    CHECK(door.held().fencing_token() > lost_fence);
  }
  CHECK(door.held().fencing_token() == lost_fence);
  door.unlock();
  CHECK_FALSE(is_free("k"));
  const owner_scope here(next);
  door.unlock();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "mutex: destroying it releases") {
  std::optional<distributed_mutex> door(std::in_place, locks, "k");
  door->lock();
  CHECK_FALSE(is_free("k"));
  door.reset();
  CHECK(is_free("k"));
}

TEST_CASE_METHOD(memory_fixture, "mutex: options are checked when it is made, and used", "[T10]") {
  CHECK_THROWS_AS(distributed_mutex(locks, "k", {.ttl = 0ms}), std::invalid_argument);
  CHECK_THROWS_AS(distributed_mutex(locks, "k", {.wait = -1ms}), std::invalid_argument);
  CHECK_THROWS_AS(distributed_mutex(locks, ""), std::invalid_argument);
  distributed_mutex brief{locks, "k", {.ttl = 5s}};
  brief.lock();
  CHECK(brief.held().remaining() <= 5s);
  brief.unlock();
  distributed_mutex by_default{locks, "k"};
  CHECK(by_default.options().wait == 0ms);
  CHECK(by_default.key() == dlock::lock_key("k"));
  by_default.lock();
  CHECK(by_default.held().remaining() > 5s);
  by_default.unlock();
}

TEST_CASE_METHOD(memory_fixture, "mutex: any duration and any clock may bound the wait") {
  distributed_mutex door{locks, "k"};
  const auto taken = [&](bool got) {
    if (got) door.unlock();
    return got;
  };
  CHECK(taken(door.try_lock_for(0s)));
  CHECK(taken(door.try_lock_for(-1h)));
  CHECK(taken(door.try_lock_for(1ns)));
  CHECK(taken(door.try_lock_for(std::chrono::hours::max())));
  CHECK(taken(door.try_lock_for(std::chrono::nanoseconds::min())));
  CHECK(taken(door.try_lock_for(std::chrono::duration<float>(0.5F))));
  CHECK(taken(door.try_lock_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity()))));
  CHECK(taken(door.try_lock_until(std::chrono::system_clock::now() + 1h)));
  CHECK(taken(door.try_lock_until(std::chrono::system_clock::time_point::min())));
  CHECK(taken(door.try_lock_until(std::chrono::system_clock::time_point::max())));
  CHECK(taken(door.try_lock_until(std::chrono::steady_clock::time_point())));
  CHECK(taken(door.try_lock_until(users_clock::now() + 1min)));
  const lease theirs = rival.acquire("k");
  CHECK_FALSE(door.try_lock_for(0s));
  CHECK_FALSE(door.try_lock_for(-1h));
  CHECK_FALSE(door.try_lock_until(std::chrono::system_clock::now() - 1h));
}

TEST_CASE_METHOD(real_time_fixture, "mutex: a wait ends at its limit") {
  distributed_mutex door{locks, "k", {.wait = 30ms}};
  const lease theirs = locks.acquire("k");
  const owner_scope foreign;
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(door.lock(), dlock::lock_timeout);
  CHECK(std::chrono::steady_clock::now() - begin >= 30ms);

  // Theirs instead of the options', which would not wait at all.
  distributed_mutex brief{locks, "k", {.wait = 0ms}};
  CHECK_FALSE(brief.try_lock_for(20ms));
  CHECK_FALSE(brief.try_lock_for(std::chrono::duration<double>(0.02)));
  CHECK_FALSE(brief.try_lock_until(std::chrono::system_clock::now() + 20ms));
  CHECK_FALSE(brief.try_lock_until(users_clock::now() + 20ms));
  CHECK(std::chrono::steady_clock::now() - begin >= 100ms);
}

TEST_CASE_METHOD(real_time_fixture, "mutex: a waiter gets the key when it is unlocked") {
  distributed_mutex door{locks, "k", {.wait = 60s}};
  door.lock();
  std::thread waiter([&] { const std::lock_guard guard(door); });
  door.unlock();
  waiter.join();
  CHECK(door.try_lock_for(60s));
  door.unlock();
}

TEST_CASE_METHOD(real_time_fixture, "mutex: threads that share one object, or have one each, exclude each other") {
  distributed_mutex shared{locks, "k", {.wait = 60s}};
  int count = 0;  // no atomic: the lock is what protects it
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i != threads; ++i) {
      workers.emplace_back([&, own = i % 2 == 0] {
        distributed_mutex mine{locks, "k", {.wait = 60s}};
        for (int round = 0; round != rounds; ++round) {
          const std::lock_guard guard(own ? mine : shared);
          count = count + 1;
        }
      });
    }
  }
  CHECK(count == static_cast<int>(threads) * rounds);
}

TEST_CASE_METHOD(real_time_fixture, "mutex: scoped_lock over several in opposite orders does not deadlock") {
  distributed_mutex a{locks, "a", {.wait = 60s}};
  distributed_mutex b{locks, "b", {.wait = 60s}};
  distributed_mutex c{locks, "c", {.wait = 60s}};
  int count = 0;
  {
    std::jthread forth([&] {
      for (int round = 0; round != rounds; ++round) {
        const std::scoped_lock all(a, b, c);
        count = count + 1;
      }
    });
    std::jthread back([&] {
      for (int round = 0; round != rounds; ++round) {
        const std::scoped_lock all(c, b, a);
        count = count + 1;
      }
    });
  }
  CHECK(count == 2 * rounds);
}

TEST_CASE_METHOD(memory_fixture, "mutex: the round after a failed one begins with a pause, which close() ends") {
  distributed_mutex a{locks, "a", {.wait = 1h}};
  distributed_mutex b{locks, "b", {.wait = 1h}};
  std::optional<lease> theirs = rival.acquire("b");
  std::atomic<bool> last{false}, over{false};
  std::error_code end;
  std::thread thread([&] {
    a.lock();
    CHECK_FALSE(b.try_lock());
    a.unlock();
    theirs.reset();
    last = true;
    end = thrown([&] { b.lock(); });  // b is free, and the clock stands still
    over = true;
  });
  CHECK(eventually([&] { return last.load(); }));
  static_cast<void>(eventually([&] { return over.load(); }, 200ms));
  locks.close(0ms);
  thread.join();
  CHECK(end == dlock::errc::closed);
}

TEST_CASE_METHOD(memory_fixture, "mutex: what is no failed round makes nobody pause") {
  distributed_mutex a{locks, "a", {.wait = 1h}};
  distributed_mutex b{locks, "b", {.wait = 1h}};
  distributed_mutex c{locks, "c", {.wait = 1h}};
  std::optional<lease> theirs = rival.acquire("b");
  // Each of these would wait for a clock that stands still.
  CHECK_FALSE(b.try_lock());  // without a lock before it
  theirs.reset();
  b.lock();
  b.unlock();
  theirs = rival.acquire("b");
  a.lock();
  CHECK_FALSE(b.try_lock());
  a.unlock();
  theirs.reset();
  c.lock();  // another one than the one that was busy
  c.unlock();
  b.lock();
  b.unlock();
}

TEST_CASE_METHOD(real_time_fixture, "mutex: many threads that cross each other's mutexes all come through") {
  distributed_mutex a{locks, "a", {.wait = 60s}};
  distributed_mutex b{locks, "b", {.wait = 60s}};
  distributed_mutex c{locks, "c", {.wait = 60s}};
  int count = 0;
  constexpr int few = 40;
  {
    std::vector<std::jthread> workers;
    for (std::size_t i = 0; i != 2 * threads; ++i) {
      workers.emplace_back([&, i] {
        for (int round = 0; round != few; ++round) {
          if (i % 3 == 0) {
            const std::scoped_lock all(a, b, c);
            count = count + 1;
          } else if (i % 3 == 1) {
            const std::scoped_lock all(c, b, a);
            count = count + 1;
          } else {
            const std::scoped_lock all(b, c, a);
            count = count + 1;
          }
        }
      });
    }
  }
  CHECK(count == 2 * static_cast<int>(threads) * few);
}

TEST_CASE_METHOD(memory_fixture, "mutex: std::lock keeps nothing when one of several fails") {
  distributed_mutex a{locks, "a"};
  distributed_mutex b{locks, "b"};
  const lease theirs = rival.acquire("b");
  CHECK(std::try_lock(a, b) == 1);
  CHECK(is_free("a"));
  CHECK_THROWS_AS(std::lock(a, b), dlock::lock_timeout);  // the default wait of the fixture is 0
  CHECK(is_free("a"));
}
