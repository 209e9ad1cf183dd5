// SPDX-License-Identifier: BSL-1.0

/// release, cancel: what a holder may do, and what another program may not.

#include <memory>
#include <utility>
#include <vector>

#include "contract/store/two_actors.hpp"

namespace dlock::test {

TEST_CASE_METHOD(two_actors, "store: a release by another owner or of another key changes nothing", "[contract][T01]") {
  const auto fence = a.acquire("k");
  CHECK(answer(b.release("k", fence)) == outcome::no);
  if (b.store->caps().min_hold) CHECK(answer(b.release("k", fence, for_long)) == outcome::no);
  CHECK(answer(b.release("other", fence)) == outcome::no);
  CHECK(answer(a.release("other", fence)) == outcome::no);
  CHECK(b.sees(a, "k"));
  if (!b.hides) CHECK((b.at("k").kind == lease_kind::session) == a.keeps);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE("store: a release with an old fence changes nothing", "[contract][T12]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture);
  const auto old = a.acquire("k");
  REQUIRE(answer(a.release("k", old)) == outcome::yes);
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", old)) == outcome::no);
  CHECK(answer(a.release("k", fence + 1)) == outcome::no);
  CHECK(a.sees(a, "k"));
  CHECK(answer(a.release("k", fence)) == outcome::yes);
}

TEST_CASE_METHOD(two_actors, "store: releasing twice is harmless", "[contract][T08]") {
  const auto fence = a.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(answer(a.release("k", fence)) == outcome::no);
  b.acquire("k");
  CHECK(answer(a.release("k", fence)) == outcome::no);
  CHECK(b.sees(b, "k"));
}

TEST_CASE_METHOD(two_actors, "store: cancel frees by nonce, whatever the fence", "[contract]") {
  a.acquire("k");
  const auto nonce = a.nonce;
  CHECK(answer(a.cancel("k", nonce + 1)) == outcome::no);
  CHECK(answer(a.cancel("other", nonce)) == outcome::no);
  CHECK(answer(b.cancel("k", nonce)) == outcome::no);
  CHECK(a.sees(a, "k"));
  CHECK(answer(a.cancel("k", nonce)) == outcome::yes);
  CHECK_FALSE(a.sees_held("k"));
  CHECK(answer(a.cancel("k", nonce)) == outcome::no);
  CHECK(answer(b.take("k")) == outcome::yes);
}

TEST_CASE("store: cancel of an old attempt leaves the session's new grant alone", "[contract]") {
  const auto fixture = make_store_fixture();
  actor a(*fixture);
  const auto fence = a.acquire("k");
  const auto old = a.nonce;
  REQUIRE(answer(a.release("k", fence)) == outcome::yes);
  a.acquire("k");
  REQUIRE(a.nonce != old);
  CHECK(answer(a.cancel("k", old)) == outcome::no);
  CHECK(a.sees(a, "k"));
}

TEST_CASE("store: a grant belongs to its holder, each verb about it may go over another connection",
          "[contract][T95]") {
  const auto fixture = make_store_fixture();
  actor holder(*fixture), other(*fixture);
  std::vector<std::unique_ptr<connection>> before;  // they stay open
  const auto connect_anew = [&] {
    fault why;
    before.push_back(std::exchange(holder.connection, holder.store->connect(10s, why)));
    INFO(why.text);
    REQUIRE(holder.connection != nullptr);
  };
  const auto fence = holder.acquire("k");
  connect_anew();
  CHECK(other.sees(holder, "k"));
  if (holder.keeps) CHECK(holder.renew(for_long) == outcome::yes);
  if (!holder.keeps) CHECK(answer(holder.extend("k", fence, for_long)) == outcome::yes);
  connect_anew();
  CHECK(answer(other.take("k")) == outcome::no);
  CHECK(answer(holder.release("k", fence)) == outcome::yes);
  const auto next = holder.acquire("k");
  CHECK(holder.follows(next, fence));
  connect_anew();
  CHECK(answer(holder.cancel("k", holder.nonce)) == outcome::yes);
  connect_anew();
  CHECK(other.follows(other.acquire("k"), next));
  CHECK(holder.close() == outcome::yes);
}

}  // namespace dlock::test
