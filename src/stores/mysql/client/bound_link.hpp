// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <sys/types.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/mutex.hpp"
#include "stores/mysql/client/connection.hpp"

namespace dlock::stores::mysql {

/// Ends what one caller waits for, once and for ever. Thread safety: raise() from any thread.
class caller_signal {
 public:
  /// Throws std::system_error if there is no file descriptor left.
  caller_signal();
  ~caller_signal();
  caller_signal(const caller_signal&) = delete;
  caller_signal& operator=(const caller_signal&) = delete;

  void raise() noexcept;
  std::stop_token token() const noexcept { return stop_.get_token(); }
  /// Can be read from once it was raised.
  int descriptor() const noexcept { return descriptor_; }

 private:
  const int descriptor_;
  std::stop_source stop_{};
};

/// What a statement on a bound_link was answered.
struct bound_answer {
  outcome result = outcome::unknown;
  mysql_rows rows{};
  fault why{};
};

/// A connection that locks are bound to at the server: they end when it ends. So a caller that has no more time does not end
/// it: the answer stays to be read by whoever uses the connection next. Thread safety: all functions may be called from
/// any thread; whoever has the turn sends.
class bound_link {
 public:
  /// Told of the answer, exactly once, by whoever reads it, who has the turn. It must not throw.
  using handler = std::function<void(bound_answer&)>;

  /// `patience`: without an answer for so long, the connection is ended.
  bound_link(std::unique_ptr<mysql_connection> link, std::chrono::milliseconds patience);
  /// A child of fork() leaves the connection to its parent.
  ~bound_link();
  bound_link(const bound_link&) = delete;
  bound_link& operator=(const bound_link&) = delete;

  /// The right to send. It ends with the object.
  class turn {
   public:
    turn(turn&& from) noexcept : link_(std::exchange(from.link_, nullptr)), by_(from.by_) {}
    turn& operator=(turn&&) = delete;
    ~turn();
    /// One round trip. unknown: it may be done still, and then `done` is told later.
    outcome run(const std::string& sql, const char* doing, handler done, fault& why);
    /// The same, for what needs no handler.
    outcome query(const std::string& sql, const char* doing, mysql_rows* rows, fault& why);

   private:
    friend class bound_link;
    turn(bound_link& link, const caller_signal& by) noexcept : link_(&link), by_(&by) {}
    bound_link* link_;
    const caller_signal* by_;
  };

  /// Waits for the turn, and reads an answer that was left. Nothing, and the reason: `by` was raised, or (why.connection) the
  /// connection is gone.
  std::optional<turn> wait_turn(const caller_signal& by, fault& why);

  bool usable() const noexcept { return link_->usable(); }
  const connection_identity& identity() const noexcept { return link_->identity(); }
  /// Ends the connection. What runs returns soon.
  void end() noexcept { link_->interrupt(); }

 private:
  struct left_open {
    const char* doing;
    handler done;
    std::chrono::steady_clock::time_point until;
  };
  enum class event { answer, raised, nothing };

  event wait_next(const caller_signal& by, std::chrono::steady_clock::time_point until) const noexcept;
  outcome finish(const caller_signal& by, fault& why);
  void read(event next, const char* doing, bound_answer& answer);
  void lose(const handler& done, const fault& why);

  std::unique_ptr<mysql_connection> link_;
  const pid_t process_;
  const std::chrono::milliseconds patience_;
  base::mutex mutex_;
  std::condition_variable_any freed_;
  bool taken_ DLOCK_GUARDED_BY(mutex_) = false;
  std::optional<left_open> open_{};               // of who has the turn
  std::chrono::steady_clock::time_point used_{};  // likewise: when it answered last
};

}  // namespace dlock::stores::mysql
