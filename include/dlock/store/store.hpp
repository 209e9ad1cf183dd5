// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

/// The seam between dlock and a place where locks live. Applications choose a store by URL or by a function of
/// dlock/stores/; this header is for those who write one. A store executes verbs on a connection and says what came of
/// it. It has no retry policy (a deadlock, which the server asks to be retried, excepted), no waiting policy and no
/// client clock; its verbs never throw; "unknown" is an answer.

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "dlock/store/holder_info.hpp"
#include "dlock/store/store_types.hpp"
#include "dlock/store/verification.hpp"

namespace dlock {

/// Runs one batch at a time, used by one thread at a time (interrupt() excepted).
class connection {
 public:
  virtual ~connection() = default;
  /// From any thread: makes what runs return soon, with outcome::unknown where it is not certain.
  virtual void interrupt() noexcept = 0;
  /// False once it broke; it never mends.
  virtual bool usable() const noexcept = 0;
  /// The same after it lay idle, when its server may have closed it. Sees what can be seen without a round trip, and
  /// costs no more than a microsecond. Called before each use, by the thread that is to use it.
  virtual bool alive() noexcept { return usable(); }
  virtual const connection_identity& identity() const noexcept = 0;
};

/// Thread safety: all functions may be called from any thread, with different connections at the same time.
class store {
 public:
  virtual ~store() = default;

  /// For messages: the URL without its password.
  virtual const std::string& name() const noexcept = 0;
  virtual capabilities caps() const noexcept = 0;

  /// Once, before anything else: makes or verifies the schema and checks that the server will do. Throws store_error
  /// (unreachable, schema missing or of another version) or std::invalid_argument (a setting that can't work).
  virtual void prepare() = 0;

  /// A new connection, or null and the reason. `limit`: how long somebody waits for it, which a store with several
  /// servers to choose from divides among them. It may take longer: whoever asked has left then, and the next one gets it.
  virtual std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept = 0;
  /// The same; returns soon once `cancel` is requested, as far as the store can do that.
  virtual std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token&) noexcept {
    return connect(limit, why);
  }

  /// Whether the calling thread may wait for a lock now. Says no (with the reason) where it would wait for itself: on
  /// SQLite, a thread with a write transaction open in the same file. Costs no statement.
  virtual bool caller_may_wait(fault&) const noexcept { return true; }

  /// Executes requests of one verb, sorted by resource, no resource twice. One reply for each. One statement where the
  /// store can, else one for each request. Precondition: replies.size() == requests.size() > 0.
  virtual void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept = 0;

  /// One statement on a session row. kill and close say no when there was nothing to delete.
  virtual reply session(connection& on, session_verb what, const session_record& of) noexcept = 0;

  /// Makes sure that nothing sent on a lost connection runs any more: ends it at the server and sees it gone. True only
  /// if that is certain (same server, same start of it; or a restart since).
  virtual bool settle(connection& on, const connection_identity& lost) noexcept = 0;

  /// The statement that proves, in a transaction of the application's, that a grant is still ours: it changes the lock
  /// row (so that a take-over waits for that transaction) if session and fence (rows: and nonce) are those given. The
  /// request's `what` is not looked at. No I/O. Only with capabilities::verify.
  virtual verification verification_of(const request& /*grant*/) const { return {}; }
  /// A statement that frees the key or row, for the application's transaction. Only with capabilities::verify.
  virtual verification release_of(const request& /*grant*/) const { return {}; }

  /// Which connection has a transaction open that verified the key: yes, and `out`, which settle() could end. no: none
  /// that can be seen. At most three statements.
  virtual reply blocker(connection&, const request& /*key*/, connection_identity& /*out*/) noexcept { return {}; }

  /// Waits at the server until the key may be free; a hint, never authority. Only with capabilities::parks.
  virtual outcome park(connection&, std::string_view /*resource*/, microseconds) noexcept { return outcome::failed; }

  /// The holder of one key (empty `out`: free or unknown key).
  virtual reply inspect(connection& on, std::string_view resource, std::vector<holder_info>& out) noexcept = 0;
  /// The same of a row of the application's; holder_info::key is left empty. Only with capabilities::rows.
  virtual reply inspect_row(connection&, const row_id&, std::vector<holder_info>& /*out*/) noexcept { return {}; }
  /// Held keys greater than `after` in byte order, at most `limit`.
  virtual reply list(connection& on, std::string_view after, std::size_t limit,
                     std::vector<holder_info>& out) noexcept = 0;
  /// Dooms the session that keeps the key: it can't renew, the key is free to others when it expires. no: nobody holds
  /// the key, or by an expiry of its own (which ends by itself).
  virtual reply doom(connection& on, std::string_view resource) noexcept = 0;
  /// The same for the session that keeps a row. Only with capabilities::rows.
  virtual reply doom_row(connection&, const row_id&) noexcept { return {}; }

  /// One step of clean-up, by primary key, autocommitted: sessions long dead that hold nothing, and free keys not granted
  /// for `idle` (0: none). Deletes at most `limit` rows of each kind, and passes over what a transaction has locked.
  /// reply::fence: how many rows went; `limit` or more: there may be more to do.
  virtual reply sweep(connection& on, microseconds idle, std::size_t limit) noexcept = 0;
};

}  // namespace dlock
