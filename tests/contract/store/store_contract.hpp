// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What every store must do, whatever it is made of, and what those must do that can more: a suite for each capability.
/// A backend links the suites that its store is for, and defines make_store_fixture().

#include <iosfwd>
#include <latch>

#include "contract/store_fixture.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// Long enough that it does not end during a test.
inline constexpr microseconds for_long = 1h;
/// What a grant with that expiry of its own is; 0: none.
inline lease_kind kind_for(microseconds ttl) { return ttl > 0us ? lease_kind::expiring : lease_kind::session; }
/// Short enough to wait for its end.
inline constexpr microseconds for_moments = 30ms;

/// Lets time pass until `done` says so; a failure after a while.
void pass_until(store_fixture& fixture, const std::function<bool()>& done);

/// A connection; a failure if there is none in time.
std::unique_ptr<connection> connect(store& to, microseconds limit = 10s);
/// The answer to a request, and those to a batch.
reply executed(store& whom, connection& by, const request& one);
std::vector<reply> executed(store& whom, connection& by, const std::vector<request>& batch);
/// How many statements the store needed for a batch.
unsigned statements(const std::vector<reply>& replies);

/// A key, or a row by its key, as a request names it.
struct resource_name {
  resource_name(const char* key) : text(key) {}
  resource_name(std::string_view key) : text(key) {}
  resource_name(const std::string& key) : text(key) {}
  resource_name(const lock_key& key) : text(key.view()), row(key.row()) {}

  std::string_view text;
  const row_id* row = nullptr;
};

/// A process as a store sees it: a store object, a connection and, where the store has sessions, one that is opened at
/// once. Not thread-safe. A ttl of zero asks for a grant that lasts: one that the session keeps, or else one for an
/// hour.
class actor {
 public:
  explicit actor(store_fixture& fixture, microseconds session_ttl = for_long, std::string label = "worker");

  /// Our request about it; about a row in the name of the last attempt.
  request about(verb action, resource_name key) const;
  /// Takes of all of them, each an attempt of its own.
  std::vector<request> takes(const std::vector<lock_key>& keys, microseconds own_ttl = 0us);
  reply take(resource_name key, microseconds own_ttl = 0us) { return attempt(verb::take, key, own_ttl); }
  reply insert(resource_name key, microseconds own_ttl = 0us) { return attempt(verb::insert, key, own_ttl); }
  /// take(), and insert() where there is no row: the grant. A failure if it is not granted.
  std::uint64_t acquire(resource_name key, microseconds own_ttl = 0us);
  reply take_over(resource_name key, const seen& holder, microseconds own_ttl = 0us) {
    return attempt(verb::take_over, key, own_ttl, &holder);
  }
  reply extend(resource_name key, std::uint64_t fence, microseconds own_ttl);
  reply release(resource_name key, std::uint64_t fence, microseconds min_hold = 0us);
  reply cancel(resource_name key, std::uint64_t of_nonce);
  /// The last attempt.
  reply cancel(resource_name key) { return cancel(key, nonce); }
  reply pass_on(resource_name key, std::uint64_t fence);
  reply poll(resource_name key) { return run(about(verb::poll, key)); }
  /// What a poll shows; nobody, if there is no row.
  seen at(resource_name key);
  /// Whether a poll shows that this one holds the key; where that is hidden, that somebody does.
  bool sees(const actor& holder, resource_name key);
  bool sees_held(resource_name key) { return static_cast<bool>(at(key).holder); }
  /// What operators see of that key.
  std::vector<holder_info> inspected(resource_name key);
  outcome revoke(resource_name key);
  /// The request whose verification proves the grant of the last attempt.
  request grant(resource_name key, std::uint64_t fence) const;

  outcome renew(microseconds ttl) { return session(session_verb::renew, id, ttl); }
  outcome kill(const id128& whose) { return session(session_verb::remove_expired, whose, 0us); }
  outcome close() { return keeps ? session(session_verb::close, id, 0us) : outcome::yes; }
  outcome session(session_verb action, const id128& whose, microseconds ttl);

  reply run(const request& q) { return executed(*store, *connection, q); }
  /// A batch.
  std::vector<reply> run(const std::vector<request>& batch) { return executed(*store, *connection, batch); }
  /// Whether `fence` is that of a grant so many after the one with the fence `last`; 0: the first of its key. Without
  /// fences it names a grant of its session, and that is all.
  bool follows(std::uint64_t fence, std::uint64_t last, std::uint64_t grants = 1) const {
    if (counts) return fence == last + grants;
    return store->caps().fence ? fence > last : fence != 0;
  }
  microseconds lasting(microseconds ttl) const { return keeps || ttl > 0us ? ttl : for_long; }

  std::shared_ptr<dlock::store> store;
  const bool keeps = store->caps().session_leases;  ///< grants of its session
  const microseconds rounding;                      ///< how much longer than asked for an expiry may be
  const bool deletes;                               ///< a free key has no row: a take makes it, a release deletes it
  const bool makes_rows;                            ///< the first take of a key makes its row, an insert is a take
  const bool forgets;                               ///< nor has one whose expiry has passed
  const bool hides;                                 ///< others than the holder learn only that a key is held
  const bool counts;                                ///< each fence is one more than that of the grant before
  std::unique_ptr<dlock::connection> connection;
  id128 id = id128::random();
  std::uint64_t nonce = 0;  ///< of the last attempt
  std::string label;

 private:
  reply attempt(verb action, resource_name key, microseconds own_ttl, const seen* expected = nullptr);
};

/// Not executed is no answer to a test: a failure with the store's text. Else the outcome.
outcome answer(const reply& r);

/// What many test cases of a store begin with: a place, and actors in it.
struct any_store {
  const std::unique_ptr<store_fixture> fixture = make_store_fixture();
};

struct one_actor : any_store {
  actor a{*fixture};
};

struct two_actors : one_actor {
  actor b{*fixture};
};

/// A lock that could not be had in time is a kind of "no", where the place says that this may be.
inline bool contended(const store_fixture& fixture, const reply& r) {
  return fixture.may_be_contended() && r.result == outcome::failed && r.why.contended;
}

inline std::vector<std::unique_ptr<actor>> crowd(store_fixture& fixture, std::size_t size) {
  std::vector<std::unique_ptr<actor>> actors;
  for (std::size_t i = 0; i < size; ++i) actors.push_back(std::make_unique<actor>(fixture));
  return actors;
}

/// Calls one(actor, index) in a thread for each, all at once; the replies.
template <class One>
std::vector<reply> all_at_once(std::vector<std::unique_ptr<actor>>& who, One call) {
  std::vector<reply> replies(who.size());
  std::latch start(static_cast<std::ptrdiff_t>(who.size()));
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < who.size(); ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        replies[i] = call(*who[i]);
      });
    }
  }
  return replies;
}

inline std::ptrdiff_t count_yes(const std::vector<reply>& replies) {
  return std::count_if(replies.begin(), replies.end(), [](const reply& r) { return r.result == outcome::yes; });
}

/// At most one of them got it. Where nobody did, because their votes were split, nothing of them is left.
inline void check_one_got(store_fixture& fixture, const std::vector<reply>& replies, actor& another,
                          std::string_view key) {
  if (fixture.votes_may_split() && count_yes(replies) == 0) {
    CHECK(answer(another.insert(key)) == outcome::yes);
    return;
  }
  REQUIRE(count_yes(replies) == 1);
}

}  // namespace dlock::test

/// So that Catch2 can print them.
namespace dlock {
std::ostream& operator<<(std::ostream& out, outcome outcome);
std::ostream& operator<<(std::ostream& out, const id128& id);
}  // namespace dlock
