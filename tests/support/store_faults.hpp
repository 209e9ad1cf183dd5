// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What faulty_store is made of: scripts, faults of servers and connections, and who waits for keys.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "dlock/error.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::test {

/// Where a statement stops until the test lets it go on, or its connection is interrupted.
class gate {
 public:
  /// Whether so many statements have come here; waits for them. The limit only ends a failing test.
  bool reached(int statements = 1) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{20}, [&] { return here_ >= statements; });
  }
  bool is_reached() {
    const std::lock_guard lock(mutex_);
    return here_ > 0;
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  /// Where nobody interrupts it.
  void pass() {
    const std::atomic<bool> never{false};
    pass(never);
  }
  /// False: interrupted.
  bool pass(const std::atomic<bool>& interrupted) {
    std::unique_lock lock(mutex_);
    ++here_;
    changed_.notify_all();
    while (!open_ && !interrupted) changed_.wait_for(lock, std::chrono::milliseconds{1});
    return open_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  bool open_ = false;
};

/// What is neither about a key nor about a session.
enum class other_verb { cleanup, mark };
/// Which statements a script is about.
using statement = std::variant<verb, session_verb, other_verb>;

/// What becomes of one. Default: it is executed and answered.
enum class fate {
  pass,    ///< executed, answered
  drop,    ///< executed, but the answer is lost: unknown, and the connection is broken
  ghost,   ///< not executed yet, unknown, connection broken: executed by run_ghosts()
  vanish,  ///< never executed; unknown, connection broken
  fail,    ///< not executed; failed with script::why
  say,     ///< not executed; answered with script::answer
};

struct script {
  fate what = fate::pass;
  fault why{};                     ///< fail
  outcome answer = outcome::no;    ///< say
  unsigned times = 1;              ///< for so many statements
  unsigned skip = 0;               ///< after letting so many pass
  microseconds takes{0};           ///< so long on its way, by the clock of the store, before it is executed
  microseconds ttl{0};             ///< session_verb: only of sessions of this ttl; 0: of any
  std::shared_ptr<gate> before{};  ///< stops there before it is executed
  std::shared_ptr<gate> after{};   ///< stops there after it was executed, before it is answered
  bool together = false;           ///< also on a connection that is broken: it was sent with what broke it
  bool deaf = false;               ///< an interruption does not end its stop
  std::function<void()> ahead{};   ///< called before it is executed
  std::function<void()> during{};  ///< called after it was executed, before it is answered
};

/// As MariaDB tells them.
inline const fault deadlock{.native = 1213, .transient = true, .text = "deadlock"};
inline const fault row_lock{.native = 1205, .transient = true, .contended = true, .text = "row lock"};
inline const fault denied{.native = 1142, .text = "denied"};
inline const fault gone{.native = 2006, .transient = true, .connection = true, .text = "gone"};
inline const fault away{.native = 2002, .transient = true, .connection = true, .text = "away"};

/// Who waits for which key, as store::watch() has been told; the test says when it may be free. Thread-safe.
class key_watches {
 public:
  /// Tells those who watch the key. Returns how many there are.
  std::size_t tell(std::string_view key, bool works = true) {
    return each_of(key, [works](key_listener& to) { to.may_be_free(works); });
  }
  /// The same as another process does it.
  std::size_t ring(std::string_view key) {
    return each_of(key, [](key_listener& to) { to.was_rung(); });
  }
  std::size_t watched(std::string_view key) const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::count_if(watches_.begin(), watches_.end(), [&](const auto& each) { return each.first == key; }));
  }

  /// How many watches there have been.
  std::size_t begun() const {
    const std::lock_guard lock(mutex_);
    return begun_;
  }

 protected:
  void add_watch(std::string_view key, key_listener& listener) {
    const std::lock_guard lock(mutex_);
    watches_.emplace_back(key, &listener);
    ++begun_;
  }
  void end_watch(std::string_view key, key_listener& listener) {
    const std::lock_guard lock(mutex_);
    watches_.remove_if([&](const auto& each) { return each.first == key && each.second == &listener; });
  }

 private:
  template <class Tell>
  std::size_t each_of(std::string_view key, Tell tells) {
    const std::lock_guard lock(mutex_);
    std::size_t count = 0;
    for (const auto& [of, listener] : watches_) {
      if (of != key) continue;
      tells(*listener);
      ++count;
    }
    return count;
  }

  mutable std::mutex mutex_;
  std::list<std::pair<std::string, key_listener*>> watches_{};
  std::size_t begun_ = 0;
};

/// Hands watches on to another store, and what it tells to who watches, unless `silent` says that nothing arrives.
/// Thread-safe.
class watch_relays {
 public:
  watch_relays(store& to, const std::atomic<bool>& silent) : to_(to), silent_(silent) {}

  void begin(std::string_view key, const id128& session, key_listener& listener) {
    relay* mine = nullptr;
    {
      const std::lock_guard lock(mutex_);
      mine = &relays_.emplace_back(*this, key, session, listener);
    }
    to_.watch(key, session, *mine);
  }
  void end(std::string_view key, const id128& session, key_listener& listener) {
    std::list<relay> mine;
    {
      const std::lock_guard lock(mutex_);
      for (auto at = relays_.begin(); at != relays_.end(); ++at) {
        if (at->key != key || at->session != session || &at->listener != &listener) continue;
        mine.splice(mine.end(), relays_, at);
        break;
      }
    }
    for (auto& each : mine) to_.unwatch(key, session, each);
  }
  /// How often somebody was told something.
  std::size_t notified() const { return notified_; }

 private:
  struct relay final : key_listener {
    relay(watch_relays& of, std::string_view watched, const id128& by, key_listener& to)
        : owner(of), key(watched), session(by), listener(to) {}
    void may_be_free(bool works) noexcept override {
      if (owner.silent_) return;
      ++owner.notified_;
      listener.may_be_free(works);
    }
    key_mode mode() const noexcept override { return listener.mode(); }
    watch_relays& owner;
    const std::string key;
    const id128 session;
    key_listener& listener;
  };

  store& to_;
  const std::atomic<bool>& silent_;
  std::atomic<std::size_t> notified_{0};
  std::mutex mutex_{};
  std::list<relay> relays_{};
};

/// What can go wrong with connections apart from statements; for a store that asks it. Thread safety: all functions
/// from any thread.
class connect_faults {
 public:
  /// Attempts to connect stop there, until it opens or they are cancelled. Null: no more.
  void hold_connects(std::shared_ptr<gate> at) {
    const std::lock_guard lock(mutex_);
    held_at_ = std::move(at);
  }
  /// No more than so many connections at one time: error 1040.
  void allow_connections(std::size_t most) { allowed_ = most; }
  /// The next so many times that the store is prepared, that fails.
  void not_ready(std::size_t times, store_error error) {
    const std::lock_guard lock(mutex_);
    not_ready_ = times;
    error_.emplace(std::move(error));
  }
  /// How often it was prepared, or tried to be.
  std::size_t prepared() const { return prepared_; }
  /// No connection can be made, for that reason.
  void refuse_connections(fault why) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(why);
  }
  /// The server closes all connections while they lie idle. `seen`: a poll at one shows it; else it shows as it is
  /// used, before anything is sent.
  void close_connections(bool seen = true) {
    closing_shows_ = seen;
    ++closings_;
  }

  std::size_t connections() const { return connections_; }
  std::size_t most_connections() const { return most_connections_; }
  /// How often a connection was asked for.
  std::size_t tried() const { return tried_; }
  /// How many attempts were under way at one time.
  std::size_t most_connecting() const { return most_connecting_; }

 protected:
  void prepares() {
    const std::lock_guard lock(mutex_);
    ++prepared_;
    if (not_ready_ == 0) return;
    --not_ready_;
    throw *error_;
  }

  /// A connection counts, and knows whether the server has closed it.
  class existence {
   public:
    explicit existence(connect_faults& faults) : faults_(faults), born_(faults.closings_) {
      raise(faults_.most_connections_, ++faults_.connections_);
    }
    ~existence() {
      --faults_.connections_;
      faults_.leave_slot();
    }
    existence(const existence&) = delete;
    existence& operator=(const existence&) = delete;
    bool closed() const noexcept { return born_ != faults_.closings_; }
    bool seen_closed() const noexcept { return closed() && faults_.closing_shows_; }

   private:
    connect_faults& faults_;
    const std::size_t born_;
  };

  /// An attempt begins. False, and the reason: it fails. True: it has a place, which is a connection's until that ends,
  /// or must be left.
  bool may_connect(const std::stop_token& cancel, fault& why) {
    ++tried_;
    raise(most_connecting_, ++connecting_);
    if (const auto at = held_at()) {
      std::atomic<bool> cancelled{false};
      const std::stop_callback on_cancel(cancel, [&] { cancelled = true; });
      at->pass(cancelled);
    }
    --connecting_;
    if (const std::lock_guard lock(mutex_); refusal_) {
      why = *refusal_;
      return false;
    }
    auto taken = taken_.load();
    while (!cancel.stop_requested() && taken < allowed_) {
      if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    why = {.native = 1040, .transient = true, .connection = true, .full = true, .text = "too many connections"};
    return false;
  }
  void leave_slot() noexcept { --taken_; }

 private:
  static void raise(std::atomic<std::size_t>& most, std::size_t now) {
    for (auto before = most.load(); before < now && !most.compare_exchange_weak(before, now);) {
    }
  }
  std::shared_ptr<gate> held_at() const {
    const std::lock_guard lock(mutex_);
    return held_at_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<gate> held_at_{};  // these three guarded by mutex_
  std::optional<fault> refusal_{};   // guarded by mutex_
  std::size_t not_ready_ = 0;
  std::optional<store_error> error_{};
  std::atomic<std::size_t> prepared_{0};
  std::atomic<std::size_t> allowed_{1'000'000};
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> most_connections_{0};
  std::atomic<std::size_t> tried_{0};
  std::atomic<std::size_t> connecting_{0};
  std::atomic<std::size_t> most_connecting_{0};
  std::atomic<std::size_t> closings_{0};
  std::atomic<bool> closing_shows_{true};
};

}  // namespace dlock::test
