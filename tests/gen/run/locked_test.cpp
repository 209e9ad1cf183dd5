// SPDX-License-Identifier: BSL-1.0
// What the generated classes and functions do.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "accounts.locked.hpp"
#include "dlock/dlock.hpp"
#include "dlock/stores/memory.hpp"

int bank::count(stage& on, std::string_view name, int n) {
  on.run();
  return n + static_cast<int>(name.size());
}

namespace {

using namespace std::chrono_literals;
using namespace bank;
using Catch::Matchers::ContainsSubstring;
using dlock::key;

/// Two processes on one store, and a ledger of the first.
struct scene {
  dlock::stores::virtual_clock clock{};
  std::shared_ptr<dlock::store> store = std::make_shared<dlock::stores::memory_store>(clock);
  dlock::lock_service locks{store, {.label = "ours", .defaults = {.wait = 0s}, .time = &clock}};
  dlock::lock_service others{store, {.label = "theirs", .time = &clock}};
  stage on{};
  ledger inner{on};
  ledger_locked books{inner, locks};

  bool held(const dlock::lock_key& name) { return locks.holder(name).has_value(); }
  /// The body sees that key held.
  void expect_held(const dlock::lock_key& name) {
    on.act = [this, name] { CHECK(held(name)); };
  }
};

account ann() { return {account_id("ann"), "Ann"}; }

}  // namespace

// ---- keys -----------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: the key is held while the function runs, and free afterwards", "[T85]") {
  expect_held("account:ann");
  CHECK(books.book(ann(), 4) == 7);
  CHECK(on.entered == 1);
  CHECK_FALSE(held("account:ann"));
}

TEST_CASE_METHOD(scene, "gen: a generated lock and one by hand exclude each other, whatever the value is", "[T81]") {
  for (const std::string name : {"plain", "a:b", "50%", "", "{x}", "%3A"}) {
    const account a{account_id(name), "x"};
    const auto by_hand = key<"account:{a}">(name);
    expect_held(by_hand);
    books.book(a);
    const auto theirs = others.acquire(by_hand);
    CHECK_THROWS_AS(books.book(a), dlock::lock_timeout);
  }
  CHECK(on.entered == 6);
}

TEST_CASE_METHOD(scene, "gen: parts that join to the same text are different keys", "[T81]") {
  const account_id first("a");
  const account_id second("a:b");
  account a = ann();
  a.note = "b:c";
  const auto theirs = others.acquire(key<"account:{id}:{note}", "id", "note">(std::string("a"), std::string("b:c")));
  CHECK_THROWS_AS(books.book(&first, a), dlock::lock_timeout);
  a.note = "c";
  CHECK_NOTHROW(books.book(&second, a));
}

TEST_CASE_METHOD(scene, "gen: a missing value is no key: null and empty are refused with the part's name", "[T83]") {
  const account_id id("a");
  CHECK_THROWS_WITH(books.book(&id, ann()),
                    ContainsSubstring("'account:{id->text()}:{a.note}'") && ContainsSubstring("'a.note'"));
  CHECK_THROWS_AS(books.book(&id, ann()), std::invalid_argument);
  CHECK_THROWS_WITH(books.book(nullptr, ann()), ContainsSubstring("'id' is null"));
  CHECK_THROWS_AS(books.book(nullptr, ann()), std::invalid_argument);
  CHECK(on.entered == 0);
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(scene, "gen: the key is composed once, so a body may change or move what it is made of", "[T84]") {
  account a = ann();
  expect_held("mutated:Ann");
  books.mutate(a);
  CHECK(a.owner == "another");
  CHECK_FALSE(held("mutated:Ann"));
  CHECK_FALSE(held("mutated:another"));

  expect_held("account:ann");
  CHECK(books.book(std::string("ann")) == -1);
  CHECK_FALSE(held("account:ann"));
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(scene, "gen: a template may name what the object is", "[T85]") {
  expect_held("ledger:ledger:42");
  books.of_object();
  inner.number = 43;
  expect_held("ledger:ledger:43");
  books.of_object();
  CHECK(on.entered == 2);
}

TEST_CASE_METHOD(scene, "gen: two functions share a key if their templates say so, and not otherwise", "[T85]") {
  const auto theirs = others.acquire("bank.ledger.with_prefix:3");
  CHECK_THROWS_AS(books.with_prefix(3), dlock::lock_timeout);
  CHECK_NOTHROW(books.with_prefix(4));
  shelf inner_shelf(on);
  shelf_locked store_shelf(inner_shelf, locks);
  const auto shelf_3 = others.acquire("shelf:3");
  CHECK_FALSE(store_shelf.put(3).has_value());
  CHECK(store_shelf.take(3) == 3);
  const auto other_3 = others.acquire("other:3");
  CHECK_THROWS_AS(store_shelf.take(3), dlock::lock_timeout);
}

// ---- functions of all kinds -----------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: overloads, const, references and default arguments are those of the class",
                 "[T86][T87]") {
  CHECK(books.book(ann()) == 6);
  expect_held("ledger:2026");
  CHECK(books.close(2026) == 2026);
  CHECK(books.title() == "ledger");
  CHECK(books.version() == 7);
  on.act = [] {};
  const std::string* const name = &inner.reference();
  expect_held("reference");
  static_assert(std::is_same_v<decltype(books.reference()), std::string&>);
  CHECK(&books.reference() == name);
  CHECK(&std::as_const(books).reference() == name);
  static_assert(std::is_same_v<decltype(std::as_const(books).reference()), const std::string&>);
}

TEST_CASE_METHOD(scene, "gen: what can only be moved is moved in and out", "[T87]") {
  expect_held("move:name");
  std::string last = "last";
  const auto result = books.take(std::make_unique<std::string>("text"), "name", std::move(last));
  CHECK(*result == "textnamelast");
  CHECK(last.empty());  // NOLINT(bugprone-use-after-move): it was moved into the body
}

TEST_CASE_METHOD(scene, "gen: an exception passes, and the key is free", "[T87]") {
  on.act = [] { throw std::runtime_error("from the body"); };
  CHECK_THROWS_WITH(books.book(ann()), "from the body");
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(scene, "gen: recursion enters the key again", "[T86]") {
  on.act = [this] {
    if (on.entered < 3) CHECK(books.book(ann()) == 6);
  };
  CHECK(books.book(ann()) == 6);
  CHECK(on.entered == 3);
  CHECK(locks.held_keys().empty());
}

TEST_CASE_METHOD(scene, "gen: wrappers of an abstract class may be stacked", "[T86]") {
  base_ledger_locked once(inner, locks);
  base_ledger_locked twice(static_cast<base_ledger&>(once), locks);
  expect_held("ledger:2026");
  base_ledger& as_base = twice;
  CHECK(as_base.close(2026) == 2026);
  CHECK(as_base.title() == "ledger");
  CHECK(on.entered == 1);
  CHECK(&twice.dlock_wrapped() == &once);
}

TEST_CASE_METHOD(scene, "gen: a proxy may keep its object, and refuses null") {
  auto kept = std::make_shared<ledger>(on);
  ledger_locked keeps(kept, locks);
  kept.reset();
  CHECK(keeps.book(ann()) == 6);
  CHECK_THROWS_AS(ledger_locked(std::shared_ptr<ledger>(), locks), std::invalid_argument);
}

TEST_CASE_METHOD(scene, "gen: a free function is locked in the service it is given, or in the default one") {
  on.act = [this] { CHECK(held("free:abc")); };
  CHECK(count_locked(locks, on, "abc") == 5);
  CHECK(count_locked(locks, on, "abc", 7) == 10);
  CHECK_THROWS_AS(count_locked(on, "abc"), std::logic_error);  // none is set
  dlock::set_default_service(locks);
  CHECK(count_locked(on, "abc") == 5);
  ledger_locked by_default(inner);
  expect_held("account:ann");
  CHECK(by_default.book(ann()) == 6);
}

// ---- several keys ---------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: several annotations take all keys or none") {
  on.act = [this] {
    CHECK(held("account:1"));
    CHECK(held("account:2"));
  };
  CHECK(books.transfer(1, 2));
  const auto theirs = others.acquire("account:2");
  CHECK_THROWS_AS(books.transfer(1, 2), dlock::lock_timeout);
  CHECK_FALSE(held("account:1"));
  CHECK(on.entered == 1);
  expect_held("account:3");
  CHECK_FALSE(books.transfer(3, 3));  // named twice, one key
}

// ---- busy -----------------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: no function runs while another process has its key, whatever happens instead",
                 "[T03][T87]") {
  const auto theirs = others.acquire("busy");
  CHECK_THROWS_AS(books.fail(), dlock::lock_timeout);
  books.skip_nothing();
  CHECK(books.skip_optional() == std::nullopt);
  CHECK_FALSE(books.skip_value().has_value());
  CHECK_FALSE(books.skip_bool().has_value());
  CHECK_FALSE(books.skip_void());
  CHECK_FALSE(books.skip_reference().has_value());
  CHECK(books.call_other(std::make_unique<int>(3), "text") == "text!3");
  CHECK(on.entered == 0);
}

TEST_CASE_METHOD(scene, "gen: a key that is free leaves every kind of result as it is", "[T87]") {
  const std::string* const name = &inner.skip_reference();
  expect_held("busy");
  books.fail();
  books.skip_nothing();
  CHECK(books.skip_optional() == 4);
  static_assert(std::is_same_v<decltype(books.skip_optional()), std::optional<int>>);
  CHECK(books.skip_value() == 5);
  CHECK(books.skip_bool() == false);
  CHECK(books.skip_void());
  CHECK(&books.skip_reference()->get() == name);
  CHECK(books.call_other(std::make_unique<int>(3), "text") == "text3");
  CHECK(on.entered == 9);  // one of them without the wrapper
}

TEST_CASE_METHOD(scene, "gen: a function that is skipped makes one attempt, or waits as .wait says") {
  auto theirs = others.acquire("busy", {.ttl = 1h});
  const auto begun = clock.now();
  books.skip_nothing();
  CHECK(clock.now() == begun);
  on.act = [&] { CHECK(clock.now() >= begun + 5s); };
  {
    const std::jthread time([&] { clock.advance(6s); });
    books.skip_after_wait();
  }
  CHECK(on.entered == 0);
}

// ---- options, loss --------------------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: options of the annotation are in force") {
  on.act = [this] {
    if (on.entered < 2) CHECK_THROWS_AS(books.once(), dlock::lock_refused);
  };
  books.once();
  CHECK(on.entered == 1);
}

TEST_CASE_METHOD(scene, "gen: a result made after the lock was lost is thrown away") {
  on.act = [this] { clock.advance(11s); };  // more than .max_hold
  CHECK_THROWS_AS(books.held_short(), dlock::lock_lost);
  CHECK(on.entered == 1);
}

// ---- calls on the object itself -------------------------------------------------------------------------------------

TEST_CASE_METHOD(scene, "gen: calls on the object itself pass a proxy by, and not a subclass", "[T86]") {
  on.act = [this] {
    CHECK(held("outer"));
    CHECK_FALSE(held("inner"));
  };
  books.outer();
  CHECK(on.entered == 2);

  till_locked counts(locks, on, 7);
  CHECK(counts.number() == 7);
  on.act = [this] {
    CHECK(held("till:7"));
    if (on.entered == 4) CHECK(held("count:7"));
  };
  till& as_base = counts;
  as_base.open();
  CHECK(on.entered == 4);
  const auto theirs = others.acquire("count:7");
  CHECK_THROWS_AS(counts.open(), dlock::lock_timeout);
  CHECK(on.entered == 5);
  CHECK_FALSE(held("till:7"));
}
