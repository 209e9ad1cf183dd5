// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What passes between the engine and a store. Applications don't need this; authors of stores do.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/export.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/lease_kind.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace DLOCK_EXPORT dlock {

using std::chrono::microseconds;

/// What may be done to a lock row. docs/protocol.md has the statement of each.
enum class verb : std::uint8_t {
  take,       ///< grant if free: no holder, or the row's own expiry has passed
  insert,     ///< first use of a key: make the row, granted, fence = floor + 1; no: another process made it
  poll,       ///< who holds it, with which fence, is that one alive; absent: there is no such row
  take_over,  ///< grant if holder and fence (rows: and nonce) are those of request::expected and that session is gone
  extend,     ///< own expiry = max(expiry, now + ttl) if session and fence are ours and it has not passed
  release,    ///< free (with min_hold: not before acquired_at + min_hold) if session and fence are ours
  cancel,     ///< free if session and nonce are ours, whatever the fence
  pass_on,  ///< capabilities::passes_on: release and take in one. If session and fence are ours, the session keeps the
            ///< lock under request::nonce, with the next fence
};

enum class outcome : std::uint8_t {
  yes,      ///< done
  no,       ///< executed, but the condition did not hold
  absent,   ///< poll: there is no such row
  unknown,  ///< no answer: it may have been done, or may still be done later
  failed,   ///< certainly not done; reply::why says why
};

/// An error of the database. native == 0 and an empty text: none.
struct fault {
  int native = 0;           ///< the client library's own number
  char sqlstate[6] = {};    ///< zero-terminated; may be empty
  bool transient = false;   ///< the same statement may succeed later
  bool connection = false;  ///< the connection broke, or none could be made
  bool contended = false;   ///< a row lock was not to be had in time (1205, 3572): counts as busy
  bool full = false;        ///< connecting: the server works, and has no more connections to give (1040)
  bool missing = false;     ///< a table of the application's, or one of its lock columns, is not there
  std::string text{};       ///< safe to show: no password, no parameter value
};

/// A holder as a poll has shown it.
struct seen {
  id128 holder{};  ///< its session; zero: the key is free
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;  ///< of the attempt that was granted; 0: the store does not show it. Rows always have it
  lease_kind kind = lease_kind::expiring;
  bool gone = false;          ///< lease_kind::session: its session row does not exist
  bool expired = false;       ///< the expiry of the session, or of the row, has passed by the server's clock
  microseconds remaining{0};  ///< until that expiry; 0 if past
  bool others_first = false;  ///< with request::in_order: it can be taken, and others are to have it first
  std::string who{};          ///< "host/pid label", for messages; may be empty
};

/// What a store does about a row that a transaction of another program has locked. It never waits for longer than about
/// a second, and answers fault::contended if it has not got the row by then.
enum class row_wait : std::uint8_t {
  avoid,   ///< it does not wait, if the server can be told so by the same statement
  never,   ///< it does not wait, even if that costs a statement more
  accept,  ///< it waits
};

/// One verb on one key, or on one row of the application's.
struct request {
  verb action{};
  std::string_view resource{};  ///< the key's bytes, 1 to 255; must outlive the call
  id128 session{};              ///< ours
  const row_id* row = nullptr;  ///< the row that the key names, locked in place; null: a key. Must outlive the call
  std::uint64_t nonce = 0;  ///< names this attempt of the session, never used again; release, extend: that of our grant
  std::uint64_t fence = 0;  ///< release, extend, pass_on: that of our grant
  lease_kind kind = lease_kind::session;  ///< take, insert, take_over: what is asked for
  microseconds ttl{0};                    ///< take, insert, take_over, extend: the own expiry; 0 for session
  microseconds min_hold{0};               ///< release
  /// capabilities::request_ids: in whose name it is asked for, which enters again what it holds through others, and to
  /// whom a poll says that nobody has that. Empty: in nobody's. Must outlive the call.
  std::string_view request_id{};
  const seen* expected = nullptr;  ///< take_over: the holder that was seen. Must outlive the call
  bool polled = false;  ///< take: it follows a poll, so what makes it wait may be a transaction of a dead holder
  /// take, take_over, poll, with capabilities::keeps_order: not before other processes that are registered as waiters.
  /// `registered`: this one is
  /// registered too, and comes before those that registered later.
  bool in_order = false;
  bool registered = false;
  row_wait if_locked = row_wait::avoid;  ///< of verbs that change a row; a store without row locks ignores it
  /// release, cancel, with capabilities::wakes_others: somebody may be registered as a waiter, so the store looks for
  /// one and wakes it, which costs more than a plain release.
  bool wake = false;
};

struct reply {
  outcome result = outcome::failed;
  std::uint64_t fence = 0;  ///< take, insert, take_over said yes: the new fencing token
  seen holder{};            ///< poll said yes
  fault why{};              ///< failed, unknown
  unsigned waiters = 0;     ///< release said yes: so many waiters were notified, and now race for the key
  unsigned statements = 1;  ///< sent for it; where one served a batch, the first reply tells, the others have 0
  bool more = false;        ///< clean-up: it has not come to the end of the store
};

/// What may be done to a session row.
enum class session_verb : std::uint8_t {
  open,            ///< create it with expires_at = now + ttl
  renew,           ///< expires_at = max(expires_at, now + ttl) if not past and not revoked; no: that session is lost
  remove_expired,  ///< delete it if it has expired; anybody's
  close,           ///< delete it; our own
};

struct session_record {
  id128 id{};
  microseconds ttl{0};
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
};

/// Names a connection beyond its life, so that another one can end what it still does at the server.
struct connection_identity {
  std::string server{};       ///< which server (or file): the same after its restart
  std::string incarnation{};  ///< which start of it
  std::uint64_t id = 0;       ///< the connection's number there; 0: nothing of it can outlive this client
};

/// What a store can do, the same as long as it lives. What it can't do is refused at the call that asks for it, with
/// the store's name.
struct capabilities {
  bool session_leases = true;   ///< lease_kind::session
  bool expiring_leases = true;  ///< lease_kind::expiring
  bool rows = false;            ///< rows of the application's tables, and lease_kind::column on them
  bool batch = true;            ///< several requests of one verb in one statement; otherwise they are sent one by one
  bool renewed_leases =
      false;          ///< lease_kind::column of keys: each has an expiry, which the service renews by `extend`
  bool fence = true;  ///< a grant's fence is greater than all before of its key; false: it names the grant and no more
  /// With fence: the next grant of a key, of whichever process, has a fence that is greater by one. False: it may be
  /// greater by more.
  bool consecutive_fences = true;
  bool min_hold = true;     ///< request::min_hold; false: nothing tells the store when a key was granted
  bool tells_free = false;  ///< store::watch(): the store notifies a waiter when its key may be free
  /// store::watch() registers a waiter at the server, which costs statements, and a release with request::wake wakes
  /// the first of them. So a waiter polls first, and watches what it finds held for longer. Excludes tells_free.
  bool wakes_one = false;
  /// Of that the second half, which wakes_one includes: request::wake wakes waiters of other processes, though those of
  /// this one poll.
  bool wakes_others = false;
  bool looks_for_waiters() const noexcept { return wakes_one || wakes_others; }
  /// With either of the two: other programs lock and free the same keys without the store's knowledge. So a waiter that
  /// it notifies asks at once, and polls on with the pauses of retry_policy. It watches only what it has found held.
  bool others_release = false;
  /// A thread that releases a lock for which another thread of its service waits passes it on, by verb::pass_on: one
  /// statement instead of two. Of keys with lease_kind::session.
  bool passes_on = false;
  bool keeps_order = false;  ///< request::in_order, or the store serves waiters in the order in which they came anyway
  bool request_ids = false;  ///< a caller with a request::request_id re-enters what it holds, from any process
  bool any_key = true;       ///< any 1 to 255 bytes are a separate key; false: unfit_key() is asked about each
};

}  // namespace dlock
