// SPDX-License-Identifier: BSL-1.0

/// The life of the thread of key_waiters, with a medium that does what the test says.

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

#include "stores/key_waiters.hpp"
#include "support/calls.hpp"
#include "support/counting_listener.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

using namespace std::chrono_literals;

struct no_notes {};

/// A place whose notifications work as long as `works`.
class test_medium final : public stores::key_waiters<no_notes> {
 public:
  explicit test_medium(std::chrono::milliseconds idle = kept_idle)
      : key_waiters([this](const std::string&) { ++reports; }, idle) {}
  ~test_medium() { end(); }
  void release() {
    rung = true;
    changed_.raise();
  }

  std::atomic<bool> opens{true}, works{true}, stuck{false}, rung{false};
  std::atomic<int> served{0}, closed{0}, reports{0};

 private:
  bool begin() DLOCK_REQUIRES(mutex_) override { return opens || give_up("it can't be opened"); }
  void entered(place) DLOCK_REQUIRES(mutex_) override { changed_.raise(); }
  void left(place at) noexcept DLOCK_REQUIRES(mutex_) override { keys_.erase(at); }
  bool serve(const std::stop_token&) DLOCK_REQUIRES(mutex_) override {
    ++served;
    if (stuck) {
      const base::unlocked others(mutex_);
      interrupted_.acquire();
    }
    if (!works) return false;
    const bool free = rung.exchange(false);
    for (auto& [key, about] : keys_) {
      if (free || !about.listeners.informed) about.listeners.notify(true);
    }
    return true;
  }
  clock::time_point next(clock::time_point) const DLOCK_REQUIRES(mutex_) override { return clock::time_point::max(); }
  void interrupt() noexcept DLOCK_REQUIRES(mutex_) override { interrupted_.release(); }
  void close() noexcept DLOCK_REQUIRES(mutex_) override { ++closed; }

  std::counting_semaphore<> interrupted_{0};
};

}  // namespace

TEST_CASE("key waiters: a listener is notified when its watch works, and of each release, until it is unwatched") {
  test_medium medium;
  counting_listener one, other;
  medium.watch("a", {}, one);
  REQUIRE(eventually([&] { return one.yes == 1; }));
  medium.release();
  REQUIRE(eventually([&] { return one.yes == 2; }));
  medium.watch("b", {}, other);
  REQUIRE(eventually([&] { return other.yes == 1; }));
  medium.unwatch("a", one);
  medium.release();
  REQUIRE(eventually([&] { return other.yes == 2; }));
  CHECK(one.calls() == 2);
  CHECK(medium.closed == 0);
}

TEST_CASE("key waiters: who relies on notifications learns that they fail, and that they work again") {
  test_medium medium;
  counting_listener one;
  medium.watch("a", {}, one);
  REQUIRE(eventually([&] { return one.yes == 1; }));
  medium.works = false;
  medium.release();
  REQUIRE(eventually([&] { return one.no == 1; }));
  CHECK(medium.closed >= 1);
  medium.works = true;
  REQUIRE(eventually([&] { return one.yes == 2; }));
  CHECK(one.no == 1);
}

TEST_CASE("key waiters: the thread ends when nobody waits, and begins again") {
  test_medium medium{20ms};
  counting_listener one;
  for (int times = 1; times != 3; ++times) {
    CAPTURE(times);
    medium.watch("a", {}, one);
    REQUIRE(eventually([&] { return one.yes == times; }));
    CHECK(medium.closed == times - 1);
    medium.unwatch("a", one);
    medium.release();  // so that it notices at once
    REQUIRE(eventually([&] { return medium.closed == times; }));
  }
}

TEST_CASE("key waiters: the end interrupts what keeps it waiting") {
  counting_listener one;
  auto medium = std::make_unique<test_medium>();
  medium->stuck = true;
  medium->watch("a", {}, one);
  REQUIRE(eventually([&] { return medium->served == 1; }));
  medium.reset();
  CHECK(one.yes == 1);
}

TEST_CASE("key waiters: where the medium can't be opened nobody is notified, and that is reported once") {
  test_medium medium;
  counting_listener one;
  medium.opens = false;
  medium.watch("a", {}, one);
  medium.watch("b", {}, one);
  CHECK(medium.reports == 1);
  CHECK(medium.served == 0);
  CHECK(one.calls() == 0);
}

}  // namespace dlock::test
