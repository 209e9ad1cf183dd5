// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace dlock::engine {

/// A connection on which something was sent that has no answer (rule 6). All that was sent together shares it: it is
/// settled once, however many keys it was about.
struct doubt {
  explicit doubt(connection_identity of) : where(std::move(of)), gone(where.id == 0) {}

  const connection_identity where;
  std::atomic<bool> gone;  ///< nothing sent on it can run any more
  // Guarded by the mutex of background_work:
  std::size_t open = 0;             ///< attempts that are cancelled in the background because of it
  std::shared_ptr<void> counted{};  ///< while there are some: the session that counts it
};

struct statement;
class blocked_caller;

/// Continues when a statement was answered. Called without a lock, on the thread that executed the statement, which may
/// be another caller's: it must be short and must not wait.
class statement_owner {
 public:
  virtual void answered(statement& of) noexcept = 0;

 protected:
  ~statement_owner() = default;
};

/// Which statements go first.
enum class priority : std::uint8_t {
  renewals,  ///< keep sessions alive: they have a connection of their own, and use any other that is idle at need
  frees,     ///< releases and cancellations
  extends,   ///< move the expiry of one lease
  takes,     ///< everything else, in the order of arrival
};

/// All of them, the first first.
inline constexpr std::array priorities{priority::renewals, priority::frees, priority::extends, priority::takes};

/// One thing that is to be sent to the store. It lives in the frame of the function that wants it sent; the executor
/// keeps a pointer to it until it has been answered.
struct statement {
  enum class kind : std::uint8_t {
    keyed,      ///< a verb on a key; may share a batch with others of its verb
    session,    ///< a verb on a session row
    terminate,  ///< ends what a lost connection may still run; said yes: it is gone for certain
    call,       ///< something that only some callers need: inspection, clean-up
  };
  using function = reply (*)(void* about, connection& on);

  // What is asked.
  kind what = kind::keyed;
  engine::priority priority = engine::priority::takes;
  request ask{};                  ///< keyed
  session_verb session_action{};  ///< session
  session_record record{};        ///< session
  std::shared_ptr<doubt> lost{};  ///< terminate: the connection that is to be ended
  function call = nullptr;        ///< call
  void* about = nullptr;          ///< call
  instant queue_deadline{};       ///< how long it may wait for a connection, which may have to be made first
  microseconds timeout{};  ///< so long after its sending it counts as hung and is interrupted; 0: at `queue_deadline`
  bool counts = true;      ///< in lock_service::statements()

  /// For sends without a caller: they do not count, and that owner gets the answer.
  void in_background(statement_owner& of, void* what_about, instant until, microseconds limit) noexcept {
    counts = false;
    owner = &of;
    about = what_about;
    queue_deadline = until;
    timeout = limit;
  }

  // What came of it.
  reply answer{};
  bool sent = false;  ///< false: there was no connection; answer.why says why not
  instant sent_at{};  ///< read before it left (rule 4)
  instant answered_at{};
  std::shared_ptr<doubt> in_doubt{};  ///< no answer: the connection that may still run it

  // The executor's.
  enum class state : std::uint8_t { nowhere, queued, executing };
  state is = state::nowhere;
  bool once_more = false;      ///< its connection broke before it could be done; it has got another one
  bool alone = false;          ///< it has met a locked row, or its batch has: it does not share a batch again
  instant queued_at{};         ///< known once it has to wait
  std::uint64_t failures = 0;  ///< of attempts to connect, before it had to
  statement* next = nullptr;
  statement_owner* owner = nullptr;  ///< gets the answer; or
  blocked_caller* caller = nullptr;  ///< waits for it
};

/// What passes. Without memory it has no text.
inline fault passing_fault(const char* text, bool connection) noexcept {
  fault passing;
  passing.transient = true;
  passing.connection = connection;
  try {
    passing.text = text;
  } catch (const std::bad_alloc&) {
    passing.text.clear();
  }
  return passing;
}

}  // namespace dlock::engine
