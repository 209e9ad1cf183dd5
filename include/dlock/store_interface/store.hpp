// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The interface between dlock and a place where locks live. Applications choose a store by URL or by a function of
/// dlock/stores/; this header is for authors of stores. A store executes verbs on a connection and returns their
/// results. It has no retry policy (except for a deadlock, which the server asks to be retried), no waiting policy and
/// no client clock. Its verbs never throw; "unknown" is an answer. docs/writing-a-store.md says how to write one.

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "dlock/export.hpp"
#include "dlock/store_interface/key_listener.hpp"
#include "dlock/store_interface/store_types.hpp"

namespace DLOCK_EXPORT dlock {

class mark_store;
class store_admin;
class transactional_store;

/// Runs one batch at a time.
/// Thread safety: used by one thread at a time (interrupt() excepted).
class connection {
 public:
  virtual ~connection() = default;
  /// Makes running calls return soon, with outcome::unknown if the result is not certain.
  /// Thread safety: from any thread.
  virtual void interrupt() noexcept = 0;
  /// Returns false once it broke; it never recovers.
  virtual bool usable() const noexcept = 0;
  /// The same after it was idle, when its server may have closed it. Notices what is visible without a round trip.
  /// Called before each use, by the thread that will use it.
  /// Cost: no more than a microsecond.
  virtual bool alive() noexcept { return usable(); }
  virtual const connection_identity& identity() const noexcept = 0;
};

/// A service, for its store.
/// Thread safety: all functions from any thread; they only signal, so the store may hold its locks.
class store_listener {
 public:
  /// A connection to the server broke, or the server ended a session: the service renews its sessions at once.
  virtual void renew_now() noexcept = 0;
  /// That session held the key with this fencing token (as a member: with this nonce), and another program has deleted
  /// the lock at the server: the service treats the lease as lost (loss_reason::taken_over).
  virtual void lock_deleted(std::string_view key, const id128& session, std::uint64_t fence) noexcept = 0;
  /// The store can't notify waiters, although its capabilities say so, and they poll. It reports each reason once.
  virtual void waiters_poll(std::string_view /*why*/) noexcept {}

 protected:
  ~store_listener() = default;
};

/// A place where locks live.
/// Thread safety: all functions may be called from any thread, with different connections at the same time.
class store {
 public:
  virtual ~store() = default;

  /// For messages: the URL without its password.
  virtual const std::string& name() const noexcept = 0;
  virtual capabilities caps() const noexcept = 0;
  /// Whether a take may wait up to a second for a row that another transaction has locked. Called at each acquire,
  /// because a store may know it only once it is connected, and a failover may lead to another server.
  virtual bool takes_wait() const noexcept { return false; }
  /// Without capabilities::any_key: why the text can't be a key here; empty if it can. Called at each call, before
  /// anything is sent. Before prepare() it need not know what only prepare() finds out.
  virtual std::string unfit_key(std::string_view /*key*/) const { return {}; }
  /// Without capabilities::any_mode: why keys can't be had in that mode; empty if they can. Called at each call, before
  /// anything is sent.
  virtual std::string unfit_mode(const key_mode& /*wanted*/) const { return {}; }

  /// Once, before anything else: makes or verifies the schema and checks that the server will do.
  /// Errors: store_error, unreachable, schema missing or of another version; std::invalid_argument, a setting that
  /// can't work.
  virtual void prepare() = 0;

  /// Makes a new connection, or returns null and sets `why`. `limit` is how long the caller waits, which a store with
  /// several servers divides among them. It may take longer; then the caller has left, and the next one gets the
  /// connection.
  virtual std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept = 0;
  /// The same; returns soon once `cancel` is requested, as far as the store can do that.
  virtual std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token&) noexcept {
    return connect(limit, why);
  }

  /// Executes requests of one verb, with one reply for each.
  /// Precondition: they are sorted by resource, no resource twice, and replies.size() == requests.size() > 0.
  /// Cost: one statement if the store can, otherwise one for each request.
  virtual void execute(connection& connection, std::span<const request> requests,
                       std::span<reply> replies) noexcept = 0;

  /// Executes one verb on a session row. remove_expired and close return no if there was nothing to delete.
  /// Cost: one statement.
  virtual reply session(connection& connection, session_verb action, const session_record& record) noexcept = 0;

  /// waiting::notified, waiting::woken: notifies `listener` once when the watch begins to work (the key may have
  /// become free before), whenever the key may have become free after that, and when the watch stops working.
  /// `session`: the waiter's, at most one watch of a key for each; zero: some session, as often as it likes. A store
  /// that keeps a queue at the server may give the session its place there, and a take of it what that place obtains.
  /// Cost: returns at once; a round trip that it takes is made in the background, and if that fails, no listener is
  /// notified.
  virtual void watch(std::string_view /*key*/, const id128& /*session*/, key_listener& /*listener*/) noexcept {}
  /// Ends the watch: the listener isn't called any more once this returns. Does nothing if there is none.
  /// Cost: waits for no server.
  virtual void unwatch(std::string_view /*key*/, const id128& /*session*/, key_listener& /*listener*/) noexcept {}

  /// capabilities::lingers: sets reply::waiters to 1 for each key of a request for which another process, or service of
  /// this store object, is registered as a waiter. Returns yes, or why none can be found. Keys are as for execute().
  /// Cost: one statement at most.
  virtual reply waited_for(connection&, std::span<const request> /*keys*/, std::span<reply> /*replies*/) noexcept {
    return {};
  }

  /// The result of key_listener::list_held() has changed for a key that may be watched.
  /// Cost: returns at once.
  virtual void waiters_changed(std::string_view /*key*/) noexcept {}

  /// The store notifies `listener` of what it finds outside of calls, until unlisten(). A store that finds nothing
  /// ignores both.
  virtual void listen(store_listener& /*listener*/) noexcept {}
  /// The listener isn't called any more once this returns. Does nothing if it does not listen.
  virtual void unlisten(store_listener& /*listener*/) noexcept {}

  /// Makes sure that nothing sent on a lost connection runs any more: ends it at the server and checks that it is gone.
  /// Returns true only if that is certain (same server, same start of it; or a restart since).
  virtual bool terminate(connection& connection, const connection_identity& lost) noexcept = 0;

  /// The functions for operators and clean-up (store_admin.hpp). Null if the store has none.
  virtual store_admin* admin() noexcept { return nullptr; }
  /// The functions for transactions of the application (transactional_store.hpp). Null if leases of this store can't be
  /// verified in a transaction.
  virtual transactional_store* transactions() noexcept { return nullptr; }
  /// capabilities::marks: the functions for work that is done once (mark_store.hpp). Null otherwise.
  virtual mark_store* marks() noexcept { return nullptr; }
};

}  // namespace dlock
