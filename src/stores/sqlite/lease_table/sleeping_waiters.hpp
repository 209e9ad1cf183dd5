// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_listeners.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "stores/sqlite/client/wake_file.hpp"
#include "stores/waiter_turns.hpp"

namespace dlock::stores::sqlite::lease_table {

/// The keys that this store object waits for. A thread sleeps on the object's slot of the wake file until a release
/// rings it. The thread starts with the first watch, and ends a minute after the last. Thread safety: all functions
/// from any thread.
class sleeping_waiters {
 public:
  /// The longest sleep. After it the waiters poll their keys, so this bounds the cost of a lost ring, and the wait for
  /// a key that became free without one.
  static constexpr std::chrono::seconds slice{4};

  /// Waiters also poll this long after their watch has begun, and then after four times as long each time, up to
  /// `slice`. The search for cycles begins when a process has written what its waiting threads hold, and repeats at the
  /// same intervals.
  static constexpr std::chrono::milliseconds first_look{25};

  /// Reports why waiters can't be woken at present, once for each reason.
  using report = std::function<void(const std::string& why)>;

  /// Reads who holds these keys in the database now, and the processes of these sessions. Returns false if that can't
  /// be read at present.
  using poll = std::function<bool(std::map<std::string, seen>& keys, std::map<id128, std::string>& sessions)>;

  /// `tables` tells apart lock tables in one database. `unfit` returns why no file can be made there, or an empty text.
  sleeping_waiters(std::string database, std::string tables, std::function<std::string()> unfit, poll polls,
                   report says)
      : file_(std::move(database)),
        tables_(std::move(tables)),
        unfit_(std::move(unfit)),
        polls_(std::move(polls)),
        says_(std::move(says)) {}
  sleeping_waiters(const sleeping_waiters&) = delete;
  sleeping_waiters& operator=(const sleeping_waiters&) = delete;

  /// See store::watch() and unwatch(). They wait for nothing but the file.
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept;
  void unwatch(std::string_view key, key_listener& listener) noexcept;
  /// The locks that the key's listeners hold have changed.
  void changed(std::string_view key) noexcept;

  // For execute(). They take no lock that is held while a listener is notified.
  /// This process was granted the key.
  void taken(std::string_view key) noexcept { notes_.set_taken(key, true); }
  /// The key was released: wakes its first waiter. Returns how many waiters of other processes it woke. `says`: reports
  /// a file that can't be used.
  unsigned released(std::string_view key, bool says = true) noexcept;
  /// Whether a process that entered the key before this one waits for it: see wake_file::opened::first_other().
  bool others_first(std::string_view key, bool registered) noexcept;
  /// The same for a key that is free, last granted with that fence. It rings the first of them, and passes over one
  /// that does not take the key in its turn.
  bool let_first(std::string_view key, bool registered, std::uint64_t fence) noexcept;
  /// The waiters of a key, of all processes. Throws std::bad_alloc.
  std::vector<wake_file::opened::waiter> of_key(std::string_view key);
  /// Sets the number of waiters for each. Throws std::bad_alloc.
  void count(std::vector<holder_info>& of);
  /// A session has ended, and with it unknown keys.
  void session_ended() noexcept;

 private:
  using clock = std::chrono::steady_clock;
  struct watched_key {
    key_listeners listeners{};
    int entry = -1;
    clock::time_point look_at{};
    clock::time_point second_look_at{};
    std::chrono::milliseconds look_after{first_look};
    std::vector<wake_file::opened::held_lock> held{};  ///< as written in the file
    row_grant row{};                                   ///< likewise
  };

  wake_file::hash hash_of(std::string_view key, bool row = false) const noexcept;
  std::shared_ptr<wake_file::opened> file_if_there(const char* without);
  std::vector<wake_file::opened::waiter> all_waiters();
  bool begin() DLOCK_REQUIRES(mutex_);
  bool give_up(const std::string& why) DLOCK_REQUIRES(mutex_);
  void run(const std::stop_token& stop) noexcept;
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_);
  void lost() noexcept DLOCK_REQUIRES(mutex_);
  void write_held(const std::string& key, watched_key& about) DLOCK_REQUIRES(mutex_);
  std::vector<sql::nested_waiter> nested_waiters() DLOCK_REQUIRES(mutex_);
  bool look_up_holders(std::vector<sql::nested_waiter>& waiters, std::map<std::string, sql::present_grant>& grants)
      DLOCK_REQUIRES(mutex_);
  void break_cycles(clock::time_point now) DLOCK_REQUIRES(mutex_);
  void say_once(const std::string& why) noexcept;

  wake_file file_;
  const std::string tables_;
  const std::function<std::string()> unfit_;
  const poll polls_;
  const report says_;

  base::mutex mutex_{};  // held while a listener is notified, so that none is after unwatch()
  std::map<std::string, watched_key, std::less<>> keys_ DLOCK_GUARDED_BY(mutex_){};
  std::shared_ptr<wake_file::opened> slot_ DLOCK_GUARDED_BY(mutex_){};  // not null while the thread runs
  std::uint32_t word_ DLOCK_GUARDED_BY(mutex_) = 0;                     // the slot's word before the last sleep
  clock::time_point file_at_ DLOCK_GUARDED_BY(mutex_){};                // the next check of the file itself
  clock::time_point cycles_at_ DLOCK_GUARDED_BY(mutex_) = clock::time_point::max();
  std::chrono::milliseconds cycles_after_ DLOCK_GUARDED_BY(mutex_){first_look};
  sql::lasting_cycles cycles_ DLOCK_GUARDED_BY(mutex_){};
  clock::time_point off_until_ DLOCK_GUARDED_BY(mutex_){};
  clock::time_point idle_since_ DLOCK_GUARDED_BY(mutex_){};

  key_notes notes_{};
  waiter_turns turns_{};
  base::mutex said_mutex_{};
  std::string said_ DLOCK_GUARDED_BY(said_mutex_){};
  base::background_thread thread_{};  // destroyed before what it uses
};

}  // namespace dlock::stores::sqlite::lease_table
