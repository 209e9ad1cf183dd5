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

/// A connection with statements that have no answer (rule 6). All statements that were sent together share it, and are
/// settled together, however many keys they cover.
struct doubt {
  explicit doubt(connection_identity of) : where(std::move(of)), gone(where.id == 0) {}

  const connection_identity where;
  std::atomic<bool> gone;  ///< nothing that was sent on it can run any more
  // Guarded by the mutex of background_work:
  std::size_t open = 0;             ///< the attempts that are cancelled in the background because of it
  std::shared_ptr<void> counted{};  ///< the session that counts it, while there are such attempts
};

struct statement;
class blocked_caller;

/// Continues when a statement was answered. Called without a lock on the thread that executed the statement, perhaps
/// another caller's, so it must be short and must not wait.
class statement_owner {
 public:
  virtual void answered(statement& of) noexcept = 0;

 protected:
  ~statement_owner() = default;
};

/// Which statements go first.
enum class priority : std::uint8_t {
  renewals,  ///< keep sessions alive: they have a separate connection, and use any other idle one at need
  frees,     ///< releases and cancellations
  extends,   ///< move the expiry of one lease
  takes,     ///< everything else, in the order of arrival
};

/// All priorities, in their order.
inline constexpr std::array priorities{priority::renewals, priority::frees, priority::extends, priority::takes};

/// One request to the store. It lives in the frame of the function that sends it; the executor keeps a pointer to it
/// until it is answered.
struct statement {
  enum class kind : std::uint8_t {
    keyed,      ///< a verb on a key; may share a batch with others of its verb
    session,    ///< a verb on a session row
    terminate,  ///< ends what a lost connection may still run; yes means that it certainly has ended
    call,       ///< a request that only some callers need: inspection, clean-up
  };
  using function = reply (*)(void* about, connection& on);

  // The request.
  kind what = kind::keyed;
  engine::priority priority = engine::priority::takes;
  request ask{};                  ///< keyed
  session_verb session_action{};  ///< session
  session_record record{};        ///< session
  std::shared_ptr<doubt> lost{};  ///< terminate: the connection to end
  function call = nullptr;        ///< call
  void* about = nullptr;          ///< call
  instant queue_deadline{};       ///< how long it may wait for a connection, which may have to be made first
  microseconds
      timeout{};  ///< a statement that has run this long is treated as hung and interrupted; 0: at `queue_deadline`
  bool counts = true;  ///< in lock_service::statements()

  /// For statements without a caller: they do not count, and that owner gets the answer.
  void in_background(statement_owner& of, void* what_about, instant until, microseconds limit) noexcept {
    counts = false;
    owner = &of;
    about = what_about;
    queue_deadline = until;
    timeout = limit;
  }

  // The result.
  reply answer{};
  bool sent = false;  ///< false if there was no connection, for the reason in answer.why
  instant sent_at{};  ///< read before it was sent (rule 4)
  instant answered_at{};
  std::shared_ptr<doubt> in_doubt{};  ///< without an answer, the connection that may still run it

  // Used by the executor.
  enum class state : std::uint8_t { nowhere, queued, executing };
  state is = state::nowhere;
  bool once_more = false;      ///< its connection broke before the server executed it; it has got another one
  bool alone = false;          ///< it, or its batch, has met a locked row, so it does not share a batch again
  instant queued_at{};         ///< known once it has to wait
  std::uint64_t failures = 0;  ///< the failed attempts to connect before it had to wait
  statement* next = nullptr;
  statement_owner* owner = nullptr;  ///< gets the answer; or
  blocked_caller* caller = nullptr;  ///< waits for it
};

/// A transient fault. Its text is empty if memory ran out.
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
