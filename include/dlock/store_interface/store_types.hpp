// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The interface between the engine and a store. Only authors of stores need it.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "dlock/export.hpp"
#include "dlock/store_interface/capabilities.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/lease_kind.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace DLOCK_EXPORT dlock {

using std::chrono::microseconds;

/// The operations on a lock row. docs/protocol.md has the statement of each.
enum class verb : std::uint8_t {
  take,       ///< grant if free: no holder, or the row's own expiry has passed
  insert,     ///< first use of a key: make the row, granted, fence = floor + 1; no: another process made it
  poll,       ///< who holds it, with which fence, and whether that holder is alive; absent: there is no such row
  take_over,  ///< grant if holder and fence (rows: and nonce) are those of request::expected and that session is gone
  extend,     ///< own expiry = max(expiry, now + ttl) if session and fence are ours and it has not passed
  release,    ///< free (with min_hold: not before acquired_at + min_hold) if session and fence are ours
  cancel,     ///< free if session and nonce are ours, whatever the fence
  pass_on,  ///< capabilities::passes_on: release and take in one. If session and fence are ours, the session keeps the
            ///< lock under request::nonce, with the next fence. With request::units, capabilities::shares: the key is
            ///< open to members, of which that nonce of the session is one, and the fence stays
  reserve,  ///< capabilities::lingers: fence = fence + request::count if session and fence are ours
  // capabilities::shares:
  close,  ///< if the key is open to members, close it to new ones; if it is closed, note that it still has to be
  open,   ///< undoes close
};

/// A mark in the nonce of a grant: its session may keep the key after the release (capabilities::lingers).
inline constexpr std::uint64_t lingering_nonce = std::uint64_t{1} << 62U;
constexpr bool lingers(std::uint64_t nonce) noexcept { return (nonce & lingering_nonce) != 0; }

enum class outcome : std::uint8_t {
  yes,      ///< done
  no,       ///< executed, but the condition did not hold
  absent,   ///< poll: there is no such row
  unknown,  ///< no answer: it may have been executed, or may still be executed later
  failed,   ///< certainly not executed; reply::why has the reason
};

/// An error of the database. With native == 0 and an empty text there is none.
struct fault {
  int native = 0;           ///< the client library's own number
  char sqlstate[6] = {};    ///< zero-terminated; may be empty
  bool transient = false;   ///< the same statement may succeed later
  bool connection = false;  ///< the connection broke, or none could be made
  bool contended = false;   ///< a row lock was not free in time (1205, 3572): counts as busy
  bool full = false;        ///< connecting: the server works, but allows no more connections (1040)
  bool missing = false;     ///< a table of the application, or one of its lock columns, does not exist
  std::string text{};       ///< safe to show: no password, no parameter value
};

/// Whether members share a key: readers and holders of permits (capabilities::shares).
enum class membership : std::uint8_t {
  none,    ///< the key is free, or has one exclusive holder
  open,    ///< it has members, or has had some last, and takes further ones
  closed,  ///< it takes no further ones, because a caller waits for the exclusive lock
};

/// The mode in which a caller wants a key: request::units and request::permits.
struct key_mode {
  std::uint32_t units = 0;
  std::uint32_t permits = 0;

  friend constexpr bool operator==(const key_mode&, const key_mode&) noexcept = default;
};

/// How long a key stays closed after the last verb::close; and after a third of that time it has to be repeated.
constexpr microseconds closed_for = std::chrono::seconds{3};

/// A holder, as a poll has read it.
struct seen {
  id128 holder{};  ///< its session; zero if the key is free
  std::uint64_t fence = 0;
  std::uint64_t nonce = 0;  ///< of the granted attempt; 0 if the store does not show it. Rows always have it
  lease_kind kind = lease_kind::expiring;
  bool gone = false;          ///< lease_kind::session: its session row does not exist
  bool expired = false;       ///< the expiry of the session, or of the row, has passed by the server's clock
  microseconds remaining{0};  ///< until that expiry; 0 if past
  bool others_first = false;  ///< with request::in_order: it can be taken, but others must have it first
  std::string who{};          ///< "host/pid label", for messages; may be empty
  /// capabilities::shares. Unless it is none, `holder` is a member, of those that the caller must wait for the one
  /// whose session ends first; zero if it need not wait. A caller in a mode of its own gets it only where the key is
  /// not open to it.
  membership shared = membership::none;
  std::uint64_t closing = 0;  ///< closed: with `fence` a number of its own for each time that the key was closed
  bool stale = false;         ///< closed, and whoever waits must say so again: verb::close
};

/// How a store treats a row that a transaction of another program has locked. It waits for about a second at most, and
/// then answers fault::contended.
enum class row_wait : std::uint8_t {
  avoid,   ///< it does not wait, if the same statement can tell the server so
  never,   ///< it does not wait, even if that costs a further statement
  accept,  ///< it waits
};

/// One verb on one key, or on one row of the application.
struct request {
  verb action{};
  std::string_view resource{};  ///< the key's bytes, 1 to 255; must outlive the call
  id128 session{};              ///< ours
  const row_id* row = nullptr;  ///< the row that the key names, locked in place; null for a key. Must outlive the call
  /// Names this attempt of the session, never used again; release, extend: that of our grant; close, open: the caller
  /// that waits, and gives up; 0: none does.
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;                ///< release, extend, pass_on, reserve: that of our grant
  std::uint64_t count = 0;                ///< reserve: how many fencing tokens
  lease_kind kind = lease_kind::session;  ///< take, insert, take_over: the requested kind
  microseconds ttl{0};                    ///< take, insert, take_over, extend: the own expiry; 0 for session
  microseconds min_hold{0};               ///< release
  /// capabilities::request_ids: the request in whose name this asks. It re-enters what it holds through other
  /// processes, and a poll then shows no holder. Empty if there is none. Must outlive the call.
  std::string_view request_id{};
  /// take_over: the holder that was seen; with a membership, dead members to remove, and the answer is no. take,
  /// exclusive, with a membership: it was seen closed and without members. take, with units: what the last poll has
  /// shown, null before one: a key that was not seen open may have to be opened first. Must outlive the call.
  const seen* expected = nullptr;
  /// capabilities::shares: 0 for an exclusive lock. Otherwise the member's units; the take is granted if the key is
  /// open and, with `permits`, has room for so many. The nonce names the member, for release and cancel.
  std::uint32_t units = 0;
  std::uint32_t permits = 0;
  bool polled = false;  ///< take: it follows a poll, so it may have to wait for a transaction of a dead holder
  /// take, take_over, poll, with capabilities::keeps_order: not before other processes that are
  /// registered as waiters. `registered`: this one is registered too, and comes before those that
  /// registered later. poll, with units: `registered` says that the caller was woken; if it finds no room, the store
  /// wakes the next waiter.
  bool in_order = false;
  bool registered = false;
  row_wait if_locked = row_wait::avoid;  ///< for verbs that change a row; a store without row locks ignores it
  /// release, cancel, where capabilities::looks_for_waiters(): another process may be registered as a waiter, so the
  /// store looks for one and wakes it, which costs more than a plain release.
  /// poll, with capabilities::lingers: the caller waits for the key. If the holder's nonce says that it may keep the
  /// key without a lease, the store notifies the watch of the holder's linger_bell.
  /// take, with units, where capabilities::looks_for_waiters(): the caller had to wait, and was woken, as a rule. There
  /// may be room for others, too, so the store wakes the next waiter.
  bool wake = false;
};

struct reply {
  outcome result = outcome::failed;
  std::uint64_t fence = 0;  ///< take, insert, take_over, pass_on, reserve returned yes: the row's new fence
  seen holder{};            ///< poll returned yes
  fault why{};              ///< failed, unknown
  unsigned waiters = 0;     ///< release returned yes: how many waiters were notified, and now race for the key
  unsigned statements = 1;  ///< sent for it; if one served a batch, the first reply has 1 and the others 0
  bool more = false;        ///< clean-up: it has not reached the end of the store
};

/// The operations on a session row.
enum class session_verb : std::uint8_t {
  open,            ///< create it with expires_at = now + ttl
  renew,           ///< expires_at = max(expires_at, now + ttl) if not past and not revoked; no: that session is lost
  remove_expired,  ///< delete it if it has expired; any process's
  close,           ///< delete it; our own
};

struct session_record {
  id128 id{};
  microseconds ttl{0};
  std::string_view host{};
  std::int64_t pid = 0;
  std::string_view label{};
};

/// Identifies a connection beyond its life, so that another one can end what it still executes at the server.
struct connection_identity {
  std::string server{};       ///< the server (or file): the same after its restart
  std::string incarnation{};  ///< the start of the server
  std::uint64_t id = 0;       ///< the connection's number there; 0 if nothing of it can outlive this client
};

}  // namespace dlock
