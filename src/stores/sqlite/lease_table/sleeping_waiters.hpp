// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/key_waiters.hpp"
#include "stores/sql/deadlock_cycles.hpp"
#include "stores/sqlite/client/wake_file.hpp"
#include "stores/waiter_turns.hpp"

namespace dlock::stores::sqlite::lease_table {

/// What the wake file has of a key that this process waits for.
struct sleeping_key {
  int entry = -1;
  std::chrono::steady_clock::time_point look_at{};
  std::chrono::steady_clock::time_point second_look_at{};
  std::chrono::milliseconds look_after{};
};

/// The slot of the wake file on which a thread of this store object sleeps until a release rings it.
class sleeping_waiters final : public key_waiters<sleeping_key> {
 public:
  /// The longest sleep. After it the waiters poll their keys, so this bounds the cost of a lost ring, and the wait for
  /// a key that became free without one.
  static constexpr std::chrono::seconds slice{4};

  /// Waiters also poll this long after their watch has begun, and then after four times as long each time, up to
  /// `slice`. The search for cycles begins when a process has written what its waiting threads hold, and repeats at the
  /// same intervals.
  static constexpr std::chrono::milliseconds first_look{25};

  /// Reads who holds these keys in the database now, and the processes of these sessions. Returns false if that can't
  /// be read at present.
  using poll = std::function<bool(std::map<std::string, seen>& keys, std::map<id128, std::string>& sessions)>;

  /// `tables` tells apart lock tables in one database. `unfit` returns why no file can be made there, or an empty text.
  sleeping_waiters(std::string database, std::string tables, std::function<std::string()> unfit, poll polls,
                   report says)
      : key_waiters(std::move(says)),
        file_(std::move(database)),
        tables_(std::move(tables)),
        unfit_(std::move(unfit)),
        polls_(std::move(polls)) {}
  ~sleeping_waiters() { end(); }

  // For execute(). They take no lock that is held while a listener is notified.
  /// This process was granted the key.
  void taken(std::string_view key) noexcept { notes_.set_taken(key, true); }
  /// The key was released: wakes its first waiter. Returns how many waiters of other processes it woke. `says`: reports
  /// a file that can't be used.
  unsigned released(std::string_view key, bool says = true) noexcept;
  /// Whether somebody waits for the key.
  bool anyone(std::string_view key) noexcept;
  /// Wakes the first waiter of another process, or with `behind` the first one that has come after this process.
  void wake_other(std::string_view key, bool behind) noexcept;
  /// Whether a process that entered the key before this one waits for it: see wake_file::opened::first_other().
  bool others_first(std::string_view key, bool registered) noexcept;
  /// See store::waited_for(). Returns why no waiter can be found at present, or an empty text. Throws std::bad_alloc.
  std::string find_others(std::span<const request> keys, std::span<reply> replies);
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
  bool begin() DLOCK_REQUIRES(mutex_) override;
  void entered(place at) DLOCK_REQUIRES(mutex_) override;
  void left(place at) noexcept DLOCK_REQUIRES(mutex_) override;
  void held_changed(place at) DLOCK_REQUIRES(mutex_) override;
  bool serve(const std::stop_token& stop) DLOCK_REQUIRES(mutex_) override;
  clock::time_point next(clock::time_point served) const DLOCK_REQUIRES(mutex_) override;
  void wait(clock::time_point until) DLOCK_REQUIRES(mutex_) override;
  void wake() noexcept DLOCK_REQUIRES(mutex_) override;
  void lost() noexcept DLOCK_REQUIRES(mutex_) override;

  wake_file::hash hash_of(std::string_view key, bool row = false) const noexcept;
  std::shared_ptr<wake_file::opened> file_if_there(const char* without);
  std::vector<wake_file::opened::waiter> all_waiters();
  std::vector<sql::nested_waiter> nested_waiters() DLOCK_REQUIRES(mutex_);
  bool look_up_holders(std::vector<sql::nested_waiter>& waiters, std::map<std::string, sql::present_grant>& grants)
      DLOCK_REQUIRES(mutex_);
  void look_for_cycles(clock::time_point now) DLOCK_REQUIRES(mutex_);

  wake_file file_;
  const std::string tables_;
  const std::function<std::string()> unfit_;
  const poll polls_;

  std::shared_ptr<wake_file::opened> slot_ DLOCK_GUARDED_BY(mutex_){};  // not null while keys are watched
  std::uint32_t word_ DLOCK_GUARDED_BY(mutex_) = 0;                     // the slot's word after the last sleep
  clock::time_point file_at_ DLOCK_GUARDED_BY(mutex_){};                // the next check of the file itself
  clock::time_point cycles_at_ DLOCK_GUARDED_BY(mutex_) = clock::time_point::max();
  std::chrono::milliseconds cycles_after_ DLOCK_GUARDED_BY(mutex_){first_look};
  sql::lasting_cycles cycles_ DLOCK_GUARDED_BY(mutex_){};
  waiter_turns turns_{};
};

}  // namespace dlock::stores::sqlite::lease_table
