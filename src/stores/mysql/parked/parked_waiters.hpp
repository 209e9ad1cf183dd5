// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "base/wake_event.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/mysql/client/client.hpp"
#include "stores/mysql/parked/waiter_sql.hpp"
#include "stores/sql/waiting_circles.hpp"

namespace dlock::stores::mysql::parked {

/// The keys that this process waits for, and the connection on which a release of another process wakes it. Each key
/// has a row in the waiter table. One connection for all of them sleeps at the server while it has the process's bell,
/// a named lock; a release finds the first row whose bell is held, and ends that sleep by KILL QUERY. Another
/// connection writes the rows, and looks at the keys after each sleep and now and then: a key that became free without
/// a ring is found so. One thread, which begins with the first watch. Thread safety: all functions from any thread.
class parked_waiters {
 public:
  /// The longest sleep of the parked connection.
  static constexpr std::chrono::seconds slice{10};
  /// A key is looked at so long after its row was written, then after four times as long each time, up to `last_look`.
  /// It bounds what a lost ring costs.
  static constexpr std::chrono::milliseconds first_look{25};
  static constexpr std::chrono::milliseconds last_look{4'000};

  /// Why waiters can't be woken at present: said once for each reason.
  using report = std::function<void(const std::string& why)>;

  /// `client` must outlive it.
  parked_waiters(mysql_client& client, waiter_sql sql, report says)
      : client_(client), sql_(std::move(sql)), says_(std::move(says)) {}
  ~parked_waiters();
  parked_waiters(const parked_waiters&) = delete;
  parked_waiters& operator=(const parked_waiters&) = delete;

  /// What store::watch() and unwatch() say.
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;
  /// What the key's listeners say of locks that are held has changed.
  void changed(std::string_view key) noexcept;

  // What execute() does, and operators ask. It takes no lock that is held while a listener is notified.
  /// The bell of this process, which its own releases pass over. Zero: it has never waited.
  id128 bell() const noexcept;
  /// Whether there are rows of waiters to be read there.
  bool can_read(const mysql_connection& by) const noexcept {
    return by.sync_prefix().empty() && !unreadable_.load(std::memory_order_relaxed);
  }
  /// Whether the release looks for a waiter.
  bool looks(const mysql_connection& by, const request& asked) const noexcept {
    return asked.action == verb::release && asked.wake && asked.min_hold.count() <= 0 && can_read(by);
  }
  /// Whether that error says that the rows can't be read: there is no such table, or this user lacks the right. Then
  /// they are not read again.
  bool note_unreadable(const fault& why);
  /// Wakes a waiter. Whether that succeeded.
  bool ring(mysql_connection& by, std::uint64_t sleeper) noexcept;
  /// Wakes the first waiter of each key that was released by another statement. `held_too`: also where somebody has it
  /// again, who may not know of waiters. What goes wrong here is no matter of the release.
  void wake_first(mysql_connection& by, std::span<const request> requests, std::span<reply> replies,
                  bool held_too = true) noexcept;
  /// Tells those of this process that wait what was done.
  void note_done(std::span<const request> requests, std::span<const reply> replies) noexcept;
  /// Counts those of keys that are held. Where there are none to be seen, nothing is counted.
  reply count(mysql_connection& by, std::vector<holder_info>& of);

 private:
  using clock = std::chrono::steady_clock;
  struct watched_key {
    std::vector<key_listener*> listeners{};
    id128 session{};
    bool registered = false;  ///< it has a row
    bool stale = false;       ///< that is of a wait which a grant has ended: another wait has another place
    bool works = false;       ///< its listeners rely on notifications
    bool was_rung = false;    ///< perhaps by a release that took this process for the next
    std::uint64_t fence = 0;  ///< as the last look has seen it; 0: none has
    bool missed = false;      ///< it was found free without a ring
    std::string held{};       ///< as its row has it
    bool asked = false;       ///< a look asks about it
  };
  struct noted {
    bool taken = false;
    bool released = false;
  };

  /// Whether there is no such table, or this user lacks the right. Says it once.
  bool lacks_table(const fault& why);
  void note(std::string_view key, bool noted::*what, bool wakes) noexcept;
  void wake_first(mysql_connection& by, const std::string& keys, std::span<const request> requests,
                  std::span<reply> replies, bool held_too);
  enum class rung : std::uint8_t { woken, gone, refused };  // refused: this user may not
  /// Ends the sleep of that connection.
  static rung interrupt(mysql_connection& by, std::uint64_t sleeper) noexcept;
  void run(const std::stop_token& stop) noexcept;
  bool in_child() const noexcept;
  void serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool work(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void hear_notes() DLOCK_REQUIRES(mutex_);
  bool connected(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  bool enter_new() DLOCK_REQUIRES(mutex_);
  bool leave_old() DLOCK_REQUIRES(mutex_);
  bool enter_held() DLOCK_REQUIRES(mutex_);
  std::string held_by_waiters(const watched_key& about) const DLOCK_REQUIRES(mutex_);
  bool write_held(const std::string& key, const std::string& held, std::optional<std::uint64_t> since)
      DLOCK_REQUIRES(mutex_);
  bool break_circles(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool park() DLOCK_REQUIRES(mutex_);
  bool confirm() DLOCK_REQUIRES(mutex_);
  bool look(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool drop_dead_rows(clock::time_point now) DLOCK_REQUIRES(mutex_);
  bool awake() DLOCK_REQUIRES(mutex_);
  bool wake_next(const std::string& keys, bool held_too) DLOCK_REQUIRES(mutex_);
  bool ask(const std::string& sql, const char* doing, mysql_rows* rows) DLOCK_REQUIRES(mutex_);
  bool failed(const fault& why) DLOCK_REQUIRES(mutex_);
  bool give_up(const std::string& why) DLOCK_REQUIRES(mutex_);
  void lost() noexcept DLOCK_REQUIRES(mutex_);
  void wind_up() noexcept DLOCK_REQUIRES(mutex_);
  void tell(watched_key& about, bool works) noexcept DLOCK_REQUIRES(mutex_);
  bool wanted() const noexcept DLOCK_REQUIRES(mutex_);
  clock::time_point next_time() const DLOCK_REQUIRES(mutex_);
  std::string bell_name(std::string_view suffix = {}) const;

  mysql_client& client_;
  const waiter_sql sql_;
  const report says_;
  const base::wake_event changed_{"dlock: a file descriptor for waiting"};
  std::stop_source stop_{};
  // The thread's:
  std::unique_ptr<mysql_connection> parked_{};
  std::unique_ptr<mysql_connection> helper_{};
  bool sleeps_ = false;     // the parked connection does, and was seen to
  bool new_sleep_ = false;  // no key was looked at since it began
  bool killed_ = false;     // its last sleep was ended
  bool has_bell_ = false;   // perhaps: to be freed before the next sleep
  id128 own_bell_{};
  clock::time_point sleeps_until_{};
  clock::time_point look_at_{};
  std::chrono::milliseconds look_after_{first_look};
  clock::time_point dead_rows_at_{};
  clock::time_point off_until_{};
  clock::time_point idle_since_{};
  unsigned missed_ = 0;  // keys that were found free without a ring, one after the other
  std::string said_{};

  base::mutex mutex_;  // held while a listener is notified, so that none is after unwatch()
  std::map<std::string, watched_key, std::less<>> keys_ DLOCK_GUARDED_BY(mutex_){};
  std::thread thread_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<pid_t> process_{0};    // which has the thread
  mutable base::mutex notes_mutex_;  // never held while anything else is locked or called
  std::map<std::string, noted, std::less<>> notes_ DLOCK_GUARDED_BY(notes_mutex_){};  // of the watched keys
  id128 bell_ DLOCK_GUARDED_BY(notes_mutex_){};
  std::atomic<std::size_t> watched_{0};
  std::atomic<bool> unreadable_{false};
  std::atomic<bool> said_lacks_{false};
  std::atomic<bool> cannot_ring_{false};  // some waiter, whose connection is another user's
};

}  // namespace dlock::stores::mysql::parked
