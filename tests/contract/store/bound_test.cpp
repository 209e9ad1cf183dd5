// SPDX-License-Identifier: BSL-1.0

/// Verbs where a lock is bound to a connection of its holder's: it ends with that, and nobody else learns more than
/// that it is held. Of stores without expiring leases.

#include "contract/store/store_contract.hpp"
#include "support/calls.hpp"

namespace dlock::test {

namespace {

constexpr auto yes = outcome::yes, no = outcome::no;

/// take, and insert where a free key has no row.
outcome acquired(actor& by, std::string_view key) {
  const auto taken = answer(by.take(key));
  return taken == no && !by.sees_held(key) ? answer(by.insert(key)) : taken;
}

}  // namespace

TEST_CASE_METHOD(two_actors, "bound: a poll shows that a connection holds the key") {
  a.acquire("k");
  CHECK(b.at("k").kind == lease_kind::connection);
}

TEST_CASE("bound: what a process held is free as soon as its connections end, long before its ttl", "[T91]") {
  const auto fixture = make_store_fixture();
  actor b(*fixture);
  {
    actor a(*fixture);
    for (const char* key : {"one", "two"}) a.acquire(key);
    CHECK(answer(b.take("one")) == no);
    a.connection.reset();
    a.store.reset();
    CHECK(eventually([&] { return !b.sees_held("one") && !b.sees_held("two"); }));
  }
  CHECK(acquired(b, "one") == yes);
}

TEST_CASE("bound: a holder that is silent for its ttl holds nothing any more, and is told", "[T24][T30]") {
  const auto fixture = make_store_fixture();
  actor b(*fixture), a(*fixture, 4s);  // in this order: its ttl runs from now on
  const auto fence = a.acquire("k", a.keeps ? 0us : 4s);
  CHECK(answer(b.take("k")) == no);
  CHECK(eventually([&] { return acquired(b, "k") == yes; }));
  if (a.keeps) CHECK(a.renew(4s) == no);
  if (!a.keeps) CHECK(answer(a.extend("k", fence, 4s)) == no);
  CHECK(answer(a.release("k", fence)) == no);
  CHECK(b.sees_held("k"));
}

}  // namespace dlock::test
