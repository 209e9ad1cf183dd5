// SPDX-License-Identifier: BSL-1.0

/// What was done once. Of stores with capabilities::marks.

#include "contract/store/store_contract.hpp"
#include "dlock/store_interface/mark_store.hpp"

namespace dlock::test {

namespace {

struct marked_store : two_actors {
  reply set(actor& by, const char* key, std::uint64_t fence, std::optional<microseconds> valid = std::nullopt) {
    auto grant = by.about(verb::poll, key);
    grant.fence = fence;
    return marks(by).set_mark(*by.connection, grant, valid, "host/1 " + by.label);
  }
  std::optional<done_mark> find(actor& by, std::string_view key) {
    done_mark found;
    const auto said = marks(by).find_mark(*by.connection, key, found);
    if (said.result == outcome::absent) return std::nullopt;
    REQUIRE(answer(said) == outcome::yes);
    return found;
  }
  reply forget(actor& by, std::string_view key) { return marks(by).delete_mark(*by.connection, key); }
  static mark_store& marks(actor& of) {
    REQUIRE(of.store->caps().marks);
    REQUIRE(of.store->marks() != nullptr);
    return *of.store->marks();
  }
};

}  // namespace

TEST_CASE_METHOD(marked_store, "mark: the holder's mark is seen by all, for ever, until it is deleted") {
  CHECK_FALSE(find(a, "k"));
  CHECK(answer(forget(b, "k")) == outcome::no);
  const auto fence = a.acquire("k");
  REQUIRE(answer(set(a, "k", fence)) == outcome::yes);
  a.release("k", fence);
  const auto seen = find(b, "k");
  REQUIRE(seen);
  CHECK(seen->fence == fence);
  CHECK(seen->by == "host/1 worker");
  CHECK(seen->since >= 0us);
  CHECK(seen->since < 1min);
  CHECK_FALSE(seen->remaining);
  CHECK_FALSE(find(b, "K"));
  CHECK_FALSE(find(b, "k "));
  CHECK(answer(forget(b, "k")) == outcome::yes);
  CHECK_FALSE(find(a, "k"));
}

TEST_CASE_METHOD(marked_store, "mark: who is not the holder any more marks nothing") {
  const auto fence = a.acquire("k");
  CHECK(answer(set(b, "k", fence)) == outcome::no);
  CHECK(answer(set(a, "k", fence + 1)) == outcome::no);
  CHECK(answer(set(a, "other", fence)) == outcome::no);
  a.release("k", fence);
  CHECK(answer(set(a, "k", fence)) == outcome::no);
  const auto theirs = b.acquire("k");
  CHECK(answer(set(a, "k", fence)) == outcome::no);
  CHECK_FALSE(find(a, "k"));
  CHECK(answer(set(b, "k", theirs)) == outcome::yes);
  CHECK(find(a, "k")->fence == theirs);
}

TEST_CASE_METHOD(marked_store, "mark: it counts for as long as was asked for, and can be set again") {
  const auto fence = a.acquire("k");
  REQUIRE(answer(set(a, "k", fence, 1h)) == outcome::yes);
  auto seen = find(b, "k");
  REQUIRE(seen);
  REQUIRE(seen->remaining);
  CHECK(*seen->remaining <= 1h);
  CHECK(*seen->remaining > 59min);
  REQUIRE(answer(set(a, "k", fence, for_moments)) == outcome::yes);
  pass_until(*fixture, [&] { return !find(b, "k"); });
  REQUIRE(answer(set(a, "k", fence)) == outcome::yes);
  seen = find(b, "k");
  REQUIRE(seen);
  CHECK_FALSE(seen->remaining);
}

TEST_CASE_METHOD(marked_store, "mark: clean-up deletes those that count no more, and no other") {
  const auto fence = a.acquire("over");
  REQUIRE(answer(set(a, "over", fence, for_moments)) == outcome::yes);
  REQUIRE(answer(set(a, "lasts", a.acquire("lasts"), 1h)) == outcome::yes);
  REQUIRE(answer(set(a, "ever", a.acquire("ever"))) == outcome::yes);
  pass_until(*fixture, [&] { return !find(b, "over"); });
  CHECK(answer(a.store->admin()->cleanup(*a.connection, 0us, 100)) == outcome::yes);
  CHECK_FALSE(find(a, "over"));
  CHECK(find(a, "lasts"));
  CHECK(find(a, "ever"));
  CHECK(answer(forget(a, "over")) == outcome::no);
}

TEST_CASE_METHOD(marked_store, "mark: one that does not count any more is none to delete") {
  const auto fence = a.acquire("k");
  REQUIRE(answer(set(a, "k", fence, for_moments)) == outcome::yes);
  pass_until(*fixture, [&] { return !find(b, "k"); });
  CHECK(answer(forget(a, "k")) == outcome::no);
}

TEST_CASE_METHOD(marked_store, "mark: any bytes are a key") {
  const std::string key("a\0'\\\"\xff", 6);
  CHECK_FALSE(find(a, key));
  const auto fence = a.acquire(std::string_view(key));
  auto grant = a.about(verb::poll, std::string_view(key));
  grant.fence = fence;
  REQUIRE(answer(marks(a).set_mark(*a.connection, grant, std::nullopt, "o'brien\\")) == outcome::yes);
  const auto seen = find(b, key);
  REQUIRE(seen);
  CHECK(seen->by == "o'brien\\");
  CHECK_FALSE(find(b, std::string_view("a")));
}

}  // namespace dlock::test
