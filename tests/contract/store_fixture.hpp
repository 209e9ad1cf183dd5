// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "dlock/stores/memory.hpp"

namespace dlock::test {

/// Somewhere locks live: empty when made, gone when destroyed. Each backend has one, and all suites run on it. Unless
/// it says otherwise, time there is the machine's.
class store_fixture {
 public:
  virtual ~store_fixture() = default;
  /// Another store object on the same place, prepared: to the locks it is another process.
  virtual std::shared_ptr<store> open() = 0;
  /// Lets so much time pass there, or a little more.
  virtual void pass(std::chrono::microseconds time) { std::this_thread::sleep_for(time); }
  /// From now on time passes there by pass() only, for stores that are opened later.
  virtual void stop_clock() {}
  /// The clock that services on it go by. It runs by itself from now on.
  virtual environment& time() { return system_time(); }
  /// How much later than asked for an expiry may be, where a column keeps whole seconds.
  virtual std::chrono::microseconds rounding() const { return {}; }
  /// An expiry that is short enough to wait for; and long enough to get an answer before it, where that is the limit.
  virtual std::chrono::microseconds moments() const { return std::chrono::milliseconds{30}; }
  /// Whether a key is free by having no row.
  virtual bool deletes_free_rows() const { return false; }
  /// Whether the first take of a key only makes its row, and an insert is another take.
  virtual bool makes_rows_first() const { return false; }
  /// Whether nothing is left of a grant once its own expiry has passed.
  virtual bool forgets_expired() const { return false; }
  /// Whether a take or a release may be told that a row's lock was not to be had in time (fault::contended), which
  /// counts as a busy key.
  virtual bool may_be_contended() const { return false; }
  /// Whether of many that ask for a free key at once none may get it, each having won a part of several servers.
  virtual bool votes_may_split() const { return false; }
  /// Whether others than the holder are only told that a key is held, and not by whom.
  virtual bool hides_holders() const { return false; }
  /// Whether it says who waits for a key, and not only how many processes do.
  virtual bool names_waiters() const { return true; }
  /// Whether a release that looks for a waiter takes another statement for that.
  virtual bool looks_apart() const { return false; }
  /// Whether it keeps sessions alive by itself, however little of the service's gets through, until the process has
  /// died.
  virtual bool keeps_by_itself() const { return false; }
  /// Whether its client library makes descriptors that a program which is started inherits.
  virtual bool leaves_descriptors() const { return false; }
  /// For stores that find deadlock cycles of processes: the number of recorded locks that waiting threads hold.
  virtual std::size_t held_by_waiters() { return 0; }
  /// For a service in any process of this host. Empty: other processes can't reach it.
  virtual std::string url() const { return {}; }
  /// For a child of fork() whose parent has url() open: the same, if the store can be opened there.
  virtual std::string url_after_fork() const { return url(); }
};

/// Defined by each backend.
std::unique_ptr<store_fixture> make_store_fixture();

/// Locks at a URL, wherever that leads. A class derived from it may have another URL each time.
class url_fixture : public store_fixture {
 public:
  explicit url_fixture(std::string at = {}) : url_(std::move(at)) {}
  std::shared_ptr<store> open() override {
    auto opened = open_store(url());
    opened->prepare();
    return opened;
  }
  std::string url() const override { return url_; }

 private:
  const std::string url_;
};

/// A store in this process, made with a clock that stands still until a test moves it, or asks for one that runs: about
/// five times as fast as outside. All who open it share it, and compete as processes do.
template <class Store, class Fixture = store_fixture>
class virtual_fixture : public Fixture {
 public:
  ~virtual_fixture() override {
    over_ = true;
    if (ticking_.joinable()) ticking_.join();
  }
  std::shared_ptr<store> open() override { return store_; }
  const std::shared_ptr<Store>& opened() const noexcept { return store_; }
  void pass(std::chrono::microseconds time) override { clock_.advance(time); }
  environment& time() override {
    if (!ticking_.joinable()) ticking_ = std::thread([this] { tick(); });
    return clock_;
  }

 private:
  void tick() {
    while (!over_) {
      clock_.advance(std::chrono::milliseconds{5});
      // For those who have been woken: time does not pass while the machine does not let them run, or not as fast.
      static_cast<void>(clock_.at_rest({}, std::chrono::milliseconds{20}));
      std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
  }

  stores::virtual_clock clock_;
  std::shared_ptr<Store> store_ = std::make_shared<Store>(clock_);
  std::atomic<bool> over_{false};
  std::thread ticking_;
};

}  // namespace dlock::test
