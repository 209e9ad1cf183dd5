// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_keys.hpp"

#include <catch2/catch_test_macros.hpp>
#include <list>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlock/dlock.hpp"
#include "support/calls.hpp"

namespace {

using namespace dlock;
using namespace std::chrono_literals;

std::vector<std::string> texts(const lock_keys& keys) {
  std::vector<std::string> texts;
  for (const auto& each : keys) texts.emplace_back(each.view());
  return texts;
}

template <class Key>
concept takes_as_key = requires(lock_service& locks, const Key& key) {
  locks.acquire(key);
};
template <class Keys>
concept takes_as_keys = requires(lock_service& locks, const Keys& keys) {
  locks.acquire_all(keys);
};

lock_key row(std::int64_t id) {
  static const auto table = [] {
    row_table orders;
    orders.table = "`orders`";
    orders.label = "orders";
    orders.id = {"`id`"};
    return std::make_shared<const row_table>(orders);
  }();
  return lock_key::of_row(table, {id});
}

std::vector<std::string> numbered(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back("k" + std::to_string(i));
  return keys;
}

std::string refusal_of(const std::vector<std::string>& keys) {
  return test::refusal([&] { return lock_keys(keys); });
}

template <class Wanted, class Got>
constexpr bool is = std::is_same_v<Wanted, Got>;

}  // namespace

TEST_CASE("lock_keys: one order whatever the order they are named in", "[lock_keys][T76]") {
  CHECK(texts({"b", "a", "c"}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(lock_keys{"b", "a"} == lock_keys{"a", "b"});
  // By bytes: no locale, no case.
  CHECK(texts({"b", "B", "a\xff", "a"}) == std::vector<std::string>{"B", "a", "a\xff", "b"});
}

TEST_CASE("lock_keys: a key named twice counts once", "[lock_keys][T77]") {
  CHECK(texts({"a", "b", "a", "a"}) == std::vector<std::string>{"a", "b"});
  CHECK(lock_keys{row(1), row(1)}.size() == 1);
}

TEST_CASE("lock_keys: texts and rows are mixed, and never taken for each other", "[lock_keys]") {
  const lock_keys keys{row(7), "orders:7", "a"};
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].view() == "a");
  CHECK(keys[1].row() == nullptr);
  CHECK(keys[2].row() != nullptr);
  CHECK(keys.find(row(7)) == 2);
  CHECK(keys.find("orders:7") == 1);
  CHECK(keys.find(row(8)) == keys.size());
}

TEST_CASE("lock_keys: any range of keys or texts will do", "[lock_keys]") {
  const lock_keys wanted{"a", "b"};
  CHECK(lock_keys(std::vector<std::string>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::set<std::string_view>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::list<const char*>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::vector<lock_key>{"b", "a"}) == wanted);
}

TEST_CASE("lock_keys: 1 to 256, and the error names the number", "[lock_keys]") {
  CHECK(refusal_of({}).find("0 keys") != std::string::npos);
  CHECK(refusal_of(numbered(1)).empty());
  CHECK(refusal_of(numbered(256)).empty());
  CHECK(refusal_of(numbered(257)).find("257 keys") != std::string::npos);
  CHECK_THROWS_AS(lock_keys({}), std::invalid_argument);
  CHECK_THROWS_AS(lock_keys({"a", ""}), std::invalid_argument);
  // It is the different ones that are counted.
  auto twice = numbered(200);
  for (const auto& each : numbered(200)) twice.push_back(each);
  CHECK(refusal_of(twice).empty());
}

TEST_CASE("lock_keys: for messages each is quoted and printable", "[lock_keys]") {
  CHECK(printable(lock_keys{"b", "a\n"}) == "'a\\x0a', 'b'");
}

TEST_CASE("lock_keys: one key gives a lease, a list or range a multi_lease", "[lock_keys]") {
  // Only asked, never called: there is no service.
  std::string text;
  std::vector<std::string> several;
  std::vector<lock_key> more;
  const lock_key key("k");
  const lock_keys keys{"k"};
  const lock_options options;
  // What the macros take.
  using detail::hold;
  using detail::try_hold;
  STATIC_CHECK(is<lease, decltype(hold("a"))>);
  STATIC_CHECK(is<lease, decltype(hold(text, {.wait = 1s}))>);
  STATIC_CHECK(is<lease, decltype(try_hold(key, options))>);
  STATIC_CHECK(is<multi_lease, decltype(hold({"a"}))>);
  STATIC_CHECK(is<multi_lease, decltype(hold({text}, {.wait = 1s}))>);
  STATIC_CHECK(is<multi_lease, decltype(hold({key}, options))>);
  STATIC_CHECK(is<multi_lease, decltype(hold({key, "a", text, row(1)}, {.wait = 1s}))>);
  STATIC_CHECK(is<multi_lease, decltype(hold(keys))>);
  STATIC_CHECK(is<multi_lease, decltype(hold({keys}, options))>);
  STATIC_CHECK(is<multi_lease, decltype(try_hold(several))>);
  STATIC_CHECK(is<multi_lease, decltype(try_hold(more, {.wait = 1s}))>);
  // What the service takes says its name: a list never becomes one key, nor one key a list.
  using service = lock_service&;
  STATIC_CHECK(is<multi_lease, decltype(std::declval<service>().acquire_all({"a"}))>);
  STATIC_CHECK(is<multi_lease, decltype(std::declval<service>().acquire_all({"a", "b"}, {.wait = 1s}))>);
  STATIC_CHECK(is<multi_lease, decltype(std::declval<service>().acquire_all(keys, options))>);
  STATIC_CHECK(is<multi_lease, decltype(std::declval<service>().try_acquire_all(several, {.wait = 1s}))>);
  STATIC_CHECK(is<multi_lease, decltype(std::declval<service>().try_acquire_all(several, options))>);
  STATIC_CHECK(is<lease, decltype(std::declval<service>().acquire(text, {.wait = 1s}))>);
  STATIC_CHECK_FALSE(takes_as_key<std::vector<std::string>>);
  STATIC_CHECK_FALSE(takes_as_key<lock_keys>);
  STATIC_CHECK_FALSE(takes_as_keys<std::string>);
  STATIC_CHECK_FALSE(takes_as_keys<lock_key>);
}
