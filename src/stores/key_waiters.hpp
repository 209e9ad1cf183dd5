// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_listeners.hpp"

namespace dlock::stores {

/// The keys that this process waits for in one place, and the thread that notifies their listeners. The medium by which
/// a release reaches the thread derives from it, and calls end() in its destructor. `Key` has what the medium notes
/// about a key.
///
///   watch()    opens what the thread needs (begin), starts it, and enters the key (entered)
///   unwatch()  removes the key (left), at once or on the thread
///   thread     does what is due (serve), waits (wait), and so on. After a failure, waiters poll for a while (lost).
///              It ends with the object, or after a minute in which no key was watched (wind_up).
///
/// Thread safety: the public functions from any thread. The others are called with the mutex locked.
template <class Key>
class key_waiters {
 public:
  using clock = std::chrono::steady_clock;
  /// Reports why waiters can't be woken at present, once for each reason.
  using report = std::function<void(const std::string& why)>;

  key_waiters(const key_waiters&) = delete;
  key_waiters& operator=(const key_waiters&) = delete;

  /// See store::watch() and unwatch().
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept {
    if (thread_.in_child()) return;
    try {
      const base::lock_guard lock(mutex_);
      if (!begin()) return;
      start();
      const auto at = keys_.try_emplace(std::string(key)).first;
      auto& about = at->second;
      about.listeners.add(listener);
      if (about.listeners.all.size() == 1) {
        about.session = session;
        about.begun = clock::now();
      }
      entered(at);
    } catch (const std::exception&) {
      // Memory or threads ran out: no waiter is notified, so waiters poll.
    }
  }
  void unwatch(std::string_view key, key_listener& listener) noexcept {
    if (thread_.in_child()) return;
    const base::lock_guard lock(mutex_);
    const auto found = keys_.find(key);
    if (found == keys_.end()) return;
    std::erase(found->second.listeners.all, &listener);
    if (found->second.listeners.all.empty()) left(found);
  }
  /// Whether a service of this store object waits for the key.
  bool watches(std::string_view key) noexcept {
    if (thread_.in_child()) return false;
    const base::lock_guard lock(mutex_);
    return is_watched(key);
  }
  /// The locks that the key's listeners hold have changed.
  void changed(std::string_view key) noexcept {
    if (notes_.empty() || thread_.in_child()) return;
    try {
      const base::lock_guard lock(mutex_);
      const auto found = keys_.find(key);
      if (found != keys_.end() && !found->second.listeners.all.empty()) held_changed(found);
    } catch (const std::exception&) {
      // Memory ran out, so a deadlock cycle may not be found.
    }
  }

 protected:
  static constexpr std::chrono::milliseconds retry{500};     ///< between two attempts after a failure
  static constexpr std::chrono::seconds off_for{60};         ///< how long waiters poll where wake-ups can't work
  static constexpr std::chrono::seconds kept_idle{60};       ///< how long the thread is kept while nobody waits
  static constexpr std::chrono::milliseconds farewell{400};  ///< how long end() waits before it interrupts

  struct watched_key : Key {
    key_listeners listeners{};
    id128 session{};
    clock::time_point begun{};  ///< when the first of them came
    held_meanwhile held{};      ///< as the other processes know it
  };
  using key_map = std::map<std::string, watched_key, std::less<>>;
  using place = typename key_map::iterator;

  explicit key_waiters(report says, std::chrono::milliseconds idle = kept_idle) : says_(std::move(says)), idle_(idle) {}
  ~key_waiters() = default;
  void end() noexcept { thread_.end(); }
  bool in_child() const noexcept { return thread_.in_child(); }

  // ---- the medium
  /// Opens what entered() and the thread need. Returns false if waiters have to poll.
  virtual bool begin() DLOCK_REQUIRES(mutex_) { return true; }
  /// The key has a new listener, the last one of its list.
  virtual void entered(place at) DLOCK_REQUIRES(mutex_) = 0;
  /// The key has no listener any more. Unless this erases the key, the thread does.
  virtual void left(place at) noexcept DLOCK_REQUIRES(mutex_) = 0;
  virtual void held_changed(place) DLOCK_REQUIRES(mutex_) {}
  /// Does what is due for the keys; may unlock the mutex meanwhile. Returns false if notifications don't work.
  virtual bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) = 0;
  /// When serve(), which was called at that time, has to be called again.
  virtual clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) = 0;
  /// Waits for a change of the keys, a notification, or that time, and takes up what has happened.
  virtual void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) {
    std::array<pollfd, 1> watched{{{changed_.descriptor(), POLLIN, 0}}};
    wait_for(watched, until);
  }
  /// Ends wait().
  virtual void wake() noexcept DLOCK_REQUIRES(mutex_) { changed_.raise(); }
  /// Ends a call of the medium that keeps end() waiting.
  virtual void interrupt() noexcept DLOCK_REQUIRES(mutex_) { wake(); }
  /// Closes what the thread has opened.
  virtual void close() noexcept DLOCK_REQUIRES(mutex_) {}
  /// Notifications don't work any more, which listeners that rely on them must learn.
  virtual void lost() noexcept DLOCK_REQUIRES(mutex_) {
    close();
    for (auto at = keys_.begin(); at != keys_.end();) {
      auto& about = at->second;
      static_cast<Key&>(about) = Key{};
      if (about.listeners.relied_on) about.listeners.notify(false);
      if (about.listeners.all.empty()) notes_.end(at->first);
      at = about.listeners.all.empty() ? keys_.erase(at) : std::next(at);
    }
  }
  /// The thread ends.
  virtual void wind_up() noexcept DLOCK_REQUIRES(mutex_) { lost(); }

  // ---- for the medium
  /// Waits until one of these descriptors is readable; the first is changed_'s.
  void wait_for(std::span<pollfd> watched, clock::time_point until) DLOCK_REQUIRES(mutex_) {
    const base::unlocked others(mutex_);
    ::poll(watched.data(), watched.size(), static_cast<int>(remaining(until).count()));
    changed_.clear();
  }
  static std::chrono::milliseconds remaining(clock::time_point until) noexcept {
    using std::chrono::milliseconds;
    return std::clamp(std::chrono::ceil<milliseconds>(until - clock::now()), milliseconds{0}, milliseconds{kept_idle});
  }
  /// Waiters poll for a while. Returns false.
  bool give_up(const std::string& why) DLOCK_REQUIRES(mutex_) {
    off_until_ = clock::now() + off_for;
    say_once(why);
    return false;
  }
  void say_once(const std::string& why) {
    if (note_said(why) && says_) says_(why);
  }
  /// Returns whether that was not the last reason.
  bool note_said(const std::string& why) {
    const base::lock_guard lock(said_mutex_);
    return std::exchange(said_, why) != why;
  }

  bool is_watched(std::string_view key) const noexcept DLOCK_REQUIRES(mutex_) {
    const auto found = keys_.find(key);
    return found != keys_.end() && !found->second.listeners.all.empty();
  }
  /// Whether threads hold locks while they wait here.
  bool any_held() const DLOCK_REQUIRES(mutex_) {
    return std::any_of(keys_.begin(), keys_.end(), [](const auto& each) { return !each.second.held.locks.empty(); });
  }
  static held_meanwhile held_by_waiters(const watched_key& about) {
    held_meanwhile all;
    about.listeners.all.front()->list_held(all);
    return all.locks.empty() ? held_meanwhile{} : all;
  }
  /// Ends waits that close deadlock cycles. `Cycle` is sql::deadlock_cycle.
  template <class Cycle>
  void break_cycles(const std::vector<Cycle>& cycles) DLOCK_REQUIRES(mutex_) {
    for (const auto& cycle : cycles) {
      const auto found = keys_.find(cycle.waits_for);
      if (found != keys_.end() && !found->second.listeners.all.empty())
        found->second.listeners.all.front()->closes_cycle(cycle.held, cycle.others);
    }
  }

  const base::wake_event changed_{"dlock: a file descriptor for waiting"};
  base::mutex mutex_{};  // locked while a listener is notified, so that no notification follows after unwatch()
  key_map keys_ DLOCK_GUARDED_BY(mutex_){};
  key_notes notes_{};
  clock::time_point off_until_ DLOCK_GUARDED_BY(mutex_){};

 private:
  void start() DLOCK_REQUIRES(mutex_) {
    if (runs_) return;
    idle_since_ = clock::now();
    thread_.start([this](const std::stop_token& stop) { run(stop); }, [this] { ask_to_end(); });
    runs_ = true;
  }

  void ask_to_end() noexcept {
    base::unique_lock lock(mutex_);
    wake();
    while (runs_) {
      if (ended_.wait_for(lock.native(), farewell) == std::cv_status::timeout && runs_) interrupt();
    }
  }

  void run(const std::stop_token& stop) noexcept {
    const base::lock_guard lock(mutex_);
    while (!stop.stop_requested() && step(stop)) continue;
    wind_up();
    runs_ = false;
    ended_.notify_all();
  }

  /// Returns false if the thread is not needed any more.
  bool step(const std::stop_token& stop) noexcept DLOCK_REQUIRES(mutex_) {
    const auto now = clock::now();
    if (keys_.empty() && now >= idle_since_ + idle_) return false;
    try {
      if (!keys_.empty()) {
        idle_since_ = now;
        const bool off = now < off_until_;
        if (off || !serve(stop)) {
          lost();  // also drops the keys that were unwatched meanwhile
          if (!off) off_until_ = std::max(off_until_, clock::now() + retry);
        }
      }
      wait(keys_.empty() ? idle_since_ + idle_ : clock::now() < off_until_ ? off_until_ : next(now));
    } catch (const std::exception&) {  // no memory
      key_waiters::wait(clock::now() + retry);
    }
    return true;
  }

  const report says_;
  const std::chrono::milliseconds idle_;
  base::mutex said_mutex_{};
  std::string said_ DLOCK_GUARDED_BY(said_mutex_){};
  clock::time_point idle_since_ DLOCK_GUARDED_BY(mutex_){};
  bool runs_ DLOCK_GUARDED_BY(mutex_) = false;
  std::condition_variable ended_{};
  base::background_thread thread_{};  // destroyed before what it uses
};

}  // namespace dlock::stores
