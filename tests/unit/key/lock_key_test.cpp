// SPDX-License-Identifier: BSL-1.0

#include <catch2/generators/catch_generators_range.hpp>
#include <unordered_set>

#include "dlock/detail/sha256.hpp"
#include "dlock/dlock.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/lock_key_formatter.hpp"
#include "dlock/lock_keys.hpp"
#include "support/calls.hpp"
#include "support/test.hpp"

using namespace dlock;
using namespace std::chrono_literals;
using namespace std::string_literals;
using namespace std::string_view_literals;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::MessageMatches;

static_assert(std::is_convertible_v<const char*, lock_key>);
static_assert(std::is_convertible_v<std::string, lock_key>);
static_assert(std::is_convertible_v<std::string_view, lock_key>);
static_assert(!std::is_constructible_v<lock_key, std::nullptr_t>);
static_assert(!std::is_default_constructible_v<lock_key>);
static_assert(std::is_nothrow_move_constructible_v<lock_key>);

TEST_CASE("lock_key: a text of at most 255 bytes is used verbatim", "[T56]") {
  const std::size_t size = GENERATE_COPY(from_range(std::vector<std::size_t>{1, 15, 16, 190, 191, 254, 255}));
  const std::string text(size, 'x');
  const lock_key key = text;
  CHECK(key.view() == text);
  CHECK_FALSE(key.folded());
  CHECK(key.original_size() == size);
}

TEST_CASE("lock_key: case, accents, trailing spaces, zero bytes and length make different keys", "[T56]") {
  const std::vector<std::string> texts{"A",
                                       "a",
                                       "a ",
                                       "a  ",
                                       " a",
                                       "\xc3\xa4",
                                       "\xe4",
                                       "a\xcc\x88",
                                       "a\0"s,
                                       "a\0\0"s,
                                       "a\0b"s,
                                       "\0"s,
                                       "\xff",
                                       "\xf0\x9f\x98\x80",
                                       "\xf0\x9f\x98\x81",
                                       std::string(255, 'a'),
                                       std::string(256, 'a'),
                                       std::string(513, 'a'),
                                       std::string(512, 'a') + "b",
                                       std::string(512, 'a') + " "};
  std::set<std::string> wires;
  std::unordered_set<lock_key> keys;
  for (const auto& text : texts) {
    const lock_key key = text;
    CHECK(key.view().size() <= lock_key::max_size);
    wires.emplace(key.view());
    keys.insert(key);
  }
  CHECK(wires.size() == texts.size());
  CHECK(keys.size() == texts.size());
}

TEST_CASE("lock_key: a longer text becomes 190 bytes of it, ':' and the SHA-256 of all of it", "[T56]") {
  const std::string text(256, 'x');
  const lock_key key = text;
  CHECK(key.view() == std::string(190, 'x') + ":85e62acd750c4eb56b7b6a1d66dca5bfaac5f062608a1a893410d0288936c09a");
  CHECK(key.view().size() == 255);
  CHECK(key.folded());
  CHECK(key.original_size() == 256);
}

TEST_CASE("lock_key: long texts that differ only at the end stay different", "[T56]") {
  const std::string start(400, 'x');
  CHECK(lock_key(start + "a") != lock_key(start + "b"));
  CHECK(lock_key(start + "a") == lock_key(start + "a"));
}

TEST_CASE("lock_key: a plain text cannot take the folded form of another", "[T56]") {
  const lock_key folded = std::string(1000, 'x');
  const lock_key forged = folded.view();
  CHECK(forged != folded);
  CHECK(forged.folded());
  CHECK(forged.view().size() == 255);

  std::string almost(folded.view());
  almost.back() = 'g';  // no hex digit, so no folded form
  CHECK(lock_key(almost).str() == almost);
}

TEST_CASE("lock_key: a key read from a store is the key that was written there") {
  for (const auto& text : {std::string("order:42"), std::string(255, 'x'), std::string(1000, 'x')}) {
    const lock_key key = text;
    const lock_key read = lock_key::from_stored(key.view());
    CHECK(read == key);
    CHECK(read.hash() == key.hash());
    CHECK(read.folded() == key.folded());
    CHECK(read.original_size() == key.view().size());
  }
}

TEST_CASE("lock_key: from_stored refuses what no store holds") {
  CHECK_THROWS_AS(lock_key::from_stored(""), std::invalid_argument);
  CHECK_THROWS_MATCHES(lock_key::from_stored(std::string(256, 'x')), std::invalid_argument,
                       MessageMatches(ContainsSubstring("256 bytes")));
}

TEST_CASE("lock_key: an empty text or a null pointer is an error that names the key", "[T83]") {
  const char* const null = nullptr;
  CHECK_THROWS_MATCHES(lock_key(""), std::invalid_argument, MessageMatches(ContainsSubstring("key '' is empty")));
  CHECK_THROWS_AS(lock_key(std::string()), std::invalid_argument);
  CHECK_THROWS_AS(lock_key(std::string_view()), std::invalid_argument);
  CHECK_THROWS_MATCHES(lock_key(null), std::invalid_argument, MessageMatches(ContainsSubstring("null pointer")));
}

TEST_CASE("lock_key: a literal with a part in braces is refused, because key<> was forgotten", "[T83]") {
  CHECK_THROWS_MATCHES(lock_key("order:{o.id}"), std::invalid_argument,
                       MessageMatches(ContainsSubstring("dlock::key<\"order:{o.id}\">(...)") &&
                                      ContainsSubstring("\"order:{o.id}\"sv")));
  CHECK_THROWS_AS(lock_key("{id}"), std::invalid_argument);
  CHECK_THROWS_AS(lock_key("a{b}{c}"), std::invalid_argument);
  CHECK_THROWS_AS(dlock::lock_keys({"a", "b:{c}"}), std::invalid_argument);
}

TEST_CASE("lock_key: text with braces that is marked as text, or is no pattern, is a key") {
  const char* const pointer = "order:{o.id}";
  char buffer[] = "order:{o.id}";
  const char field[32] = "order:{o.id}";
  CHECK(lock_key("order:{o.id}"sv).str() == "order:{o.id}");
  CHECK(lock_key(std::string("order:{o.id}")).str() == "order:{o.id}");
  CHECK(lock_key(pointer).str() == "order:{o.id}");
  CHECK(lock_key(buffer).str() == "order:{o.id}");
  CHECK(lock_key(field).str() == "order:{o.id}");
  CHECK(lock_key("{{id}}").str() == "{{id}}");
  CHECK(lock_key("a{").str() == "a{");
  CHECK(lock_key("{7}").str() == "{7}");
  CHECK(lock_key("{}").str() == "{}");
  CHECK(lock_key("{\"id\": 7}").str() == "{\"id\": 7}");
}

TEST_CASE("lock_key: an array is text up to its first zero byte, or its end") {
  const char full[3] = {'a', 'b', 'c'};
  char padded[8] = "abc";
  CHECK(lock_key(full).str() == "abc");
  CHECK(lock_key(padded).str() == "abc");
  CHECK(lock_key("abc\0def").str() == "abc");
  CHECK(lock_key(std::string_view("abc\0def", 7)).str().size() == 7);
}

TEST_CASE("lock_key: order is by unsigned bytes, as binary columns sort") {
  std::vector<lock_key> keys{"b", "\xff", "a", "a "sv, "a\0"sv, "B", "aa"};
  std::sort(keys.begin(), keys.end());
  const std::vector<lock_key> expected{"B", "a", "a\0"sv, "a "sv, "aa", "b", "\xff"};
  CHECK(keys == expected);
}

TEST_CASE("lock_key: equal keys have equal hashes however they were made") {
  const lock_key from_pointer = "order:42";
  const lock_key from_view = "order:42"sv;
  lock_key moved_from = "order:42"s;
  const lock_key moved = std::move(moved_from);
  CHECK(from_pointer.hash() == from_view.hash());
  CHECK(from_pointer.hash() == moved.hash());
  CHECK(std::hash<lock_key>()(moved) == moved.hash());
  CHECK(moved == from_view);
}

TEST_CASE("lock_key: printing escapes what would disturb a log or deceive its reader") {
  CHECK(printable(lock_key("order:42 'x'")) == "order:42 'x'");
  CHECK(printable("a\0\n\x1b[0m\x7f"sv) == "a\\x00\\x0a\\x1b[0m\\x7f");
  CHECK(printable("a\\x00") == "a\\\\x00");
  CHECK(printable("\xe8\xae\xa2\xe5\x8d\x95:\xc3\xa4:\xf0\x9f\x98\x80") ==
        "\xe8\xae\xa2\xe5\x8d\x95:\xc3\xa4:\xf0\x9f\x98\x80");
  CHECK(printable("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right-to-left override
  CHECK(printable("\xe2\x80\x8b") == "\\xe2\\x80\\x8b");  // zero-width space
  CHECK(printable("\xc2\xa0") == "\\xc2\\xa0");           // no-break space
}

TEST_CASE("lock_key: printing escapes bytes that are not well-formed UTF-8") {
  for (const std::string_view bad :
       {"\x80"sv, "\xc0\xaf"sv, "\xc3"sv, "\xc3("sv, "\xe0\x80\xaf"sv, "\xed\xa0\x80"sv, "\xe4\xb8"sv,
        "\xf0\x80\x80\x80"sv, "\xf4\x90\x80\x80"sv, "\xf5\x80\x80\x80"sv, "\xff"sv}) {
    const std::string text = printable(bad);
    CHECK(text.starts_with("\\x"));
    CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; }));
  }
}

TEST_CASE("lock_key: explain quotes a key and tells what became of a long one") {
  CHECK(lock_key("order:42").explain() == "'order:42'");
  CHECK(lock_key("a\n").explain() == "'a\\x0a'");
  const lock_key folded = std::string(1000, 'x');
  CHECK_THAT(folded.explain(), ContainsSubstring("first 190 of 1000 bytes"));
  CHECK_THAT(folded.explain(), ContainsSubstring(std::string(folded.view().substr(191))));
  CHECK_THAT(lock_key::from_stored(folded.view()).explain(), ContainsSubstring("first 190 bytes"));
}

TEST_CASE("lock_key: fmt prints it escaped") {
  CHECK(fmt::format("[{}] {}", lock_key("a\n"), lock_key("b")) == "[a\\x0a] b");
}

TEST_CASE("sha256: the digests of FIPS 180-4's examples") {
  using dlock::detail::sha256_hex;
  CHECK(sha256_hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256_hex(std::string(1'000'000, 'a')) == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("sha256: every length around the padding's borders") {
  // Each digest feeds the next, so one wrong length changes the last; the value is that of other implementations.
  std::string chain;
  for (std::size_t size = 0; size <= 130; ++size) {
    chain = dlock::detail::sha256_hex(chain + std::string(size, 'x'));
  }
  CHECK(chain == "aa78c164dabd63d46f7221d2f3cb37042d72f34c07a7b21f1df436f858ea0e6b");
}

// ---- keys of rows --------------------------------------------------------------------------------------------------

namespace {

std::shared_ptr<const dlock::row_table> table_of(const std::string& name, const std::string& label, int columns = 1) {
  dlock::row_table table{.table = name, .label = label};
  for (int i = 0; i < columns; ++i) table.id.push_back("`id" + std::to_string(i) + "`");
  return std::make_shared<const dlock::row_table>(table);
}

}  // namespace

TEST_CASE("lock_key: the key of a row reads 'table:id' and knows its row") {
  const auto orders = table_of("`orders`", "orders");
  const auto key = lock_key::of_row(orders, {std::int64_t{-42}});
  CHECK(key.view() == "orders:-42");
  REQUIRE(key.row() != nullptr);
  CHECK(key.row()->table == orders);
  CHECK(key.row()->values == std::vector<dlock::row_value>{std::int64_t{-42}});
  CHECK(lock_key::of_row(orders, {std::uint64_t{18446744073709551615U}}).str() == "orders:18446744073709551615");
  CHECK(lock_key::of_row(orders, {"a:b%"s}).str() == "orders:a%3Ab%25");
  CHECK(lock_key::of_row(table_of("`line`", "line", 3), {std::int64_t{1}, "x"s, std::uint64_t{2}}).str() ==
        "line:1:x:2");
  const lock_key text("orders:-42");
  CHECK(text.row() == nullptr);
}

TEST_CASE("lock_key: a row's key is equal only to that of the same row") {
  const auto orders = table_of("`orders`", "orders");
  const auto same = table_of("`orders`", "orders");  // another object of the same table
  const auto other = table_of("`archive`.`orders`", "orders");
  const auto key = lock_key::of_row(orders, {std::int64_t{1}});
  const lock_key text("orders:1");
  CHECK(key == lock_key::of_row(same, {std::int64_t{1}}));
  CHECK(key.hash() == lock_key::of_row(same, {std::int64_t{1}}).hash());
  CHECK(key != lock_key::of_row(orders, {std::int64_t{2}}));
  CHECK(key != text);
  CHECK(text != key);
  CHECK(key != lock_key::of_row(other, {std::int64_t{1}}));
  CHECK(key != lock_key::from_stored(key.view()));
  CHECK(lock_key::of_row(table_of("`p`", "p", 2), {"a:b"s, "c"s}) !=
        lock_key::of_row(table_of("`p`", "p", 2), {"a"s, "b:c"s}));
}

TEST_CASE("lock_key: copies and moves of a row's key are that row's") {
  const auto key = lock_key::of_row(table_of("`t`", "t"), {std::int64_t{1}});
  auto copy = key;
  const auto moved = std::move(copy);
  CHECK(moved == key);
  CHECK(moved.row() == key.row());
  lock_key assigned("t:1");
  assigned = key;
  CHECK(assigned.row() == key.row());
  assigned = lock_key("t:1");
  CHECK(assigned.row() == nullptr);
}

TEST_CASE("lock_key: rows and texts have one order, by bytes, a text before a row") {
  const auto a = lock_key::of_row(table_of("`a`", "t"), {std::int64_t{1}});
  const auto b = lock_key::of_row(table_of("`b`", "t"), {std::int64_t{1}});
  const lock_key text("t:1");
  CHECK(text < a);
  CHECK(a < b);
  CHECK(text < b);
  CHECK(lock_key("t:0") < text);
  CHECK(b < lock_key("t:2"));
  CHECK((a <=> lock_key::of_row(table_of("`a`", "t"), {std::int64_t{1}})) == 0);
  // Consistent with ==, as sets and the order of several keys need it.
  std::set<lock_key> ordered{b, text, a, text, b};
  CHECK(ordered.size() == 3);
  std::unordered_set<lock_key> hashed{b, text, a, text, b};
  CHECK(hashed.size() == 3);
  CHECK(hashed.contains(a));
}

TEST_CASE("lock_key: a row needs a value for each column of its id") {
  const auto two = table_of("`line`", "line", 2);
  CHECK_THROWS_MATCHES(lock_key::of_row(two, {std::int64_t{1}}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("'line': 1 id values for 2 columns")));
  CHECK_THROWS_AS(lock_key::of_row(two, {}), std::invalid_argument);
  CHECK_THROWS_AS(lock_key::of_row(table_of("`t`", "t", 0), {}), std::invalid_argument);
  CHECK_THROWS_MATCHES(lock_key::of_row(nullptr, {std::int64_t{1}}), std::invalid_argument,
                       MessageMatches(ContainsSubstring("table = null")));
}

TEST_CASE("lock_key: a long id is folded, and stays that row") {
  const auto table = table_of("`t`", "t");
  const auto key = lock_key::of_row(table, {std::string(300, 'x')});
  CHECK(key.view().size() == lock_key::max_size);
  CHECK(key.folded());
  CHECK(std::get<std::string>(key.row()->values.front()).size() == 300);
  CHECK(key != lock_key::of_row(table, {std::string(301, 'x')}));
  CHECK(key == lock_key::of_row(table, {std::string(300, 'x')}));
}

namespace {

std::vector<std::string> texts(const lock_keys& keys) {
  std::vector<std::string> texts;
  for (const auto& each : keys) texts.emplace_back(each.view());
  return texts;
}

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

TEST_CASE("lock_keys: one order whatever the order they are named in", "[T76]") {
  CHECK(texts({"b", "a", "c"}) == std::vector<std::string>{"a", "b", "c"});
  CHECK(lock_keys{"b", "a"} == lock_keys{"a", "b"});
  // By bytes: no locale, no case.
  CHECK(texts({"b", "B", "a\xff", "a"}) == std::vector<std::string>{"B", "a", "a\xff", "b"});
}

TEST_CASE("lock_keys: a key named twice counts once", "[T77]") {
  CHECK(texts({"a", "b", "a", "a"}) == std::vector<std::string>{"a", "b"});
  CHECK(lock_keys{row(1), row(1)}.size() == 1);
}

TEST_CASE("lock_keys: texts and rows are mixed, and never taken for each other") {
  const lock_keys keys{row(7), "orders:7", "a"};
  REQUIRE(keys.size() == 3);
  CHECK(keys[0].view() == "a");
  CHECK(keys[1].row() == nullptr);
  CHECK(keys[2].row() != nullptr);
  CHECK(keys.find(row(7)) == 2);
  CHECK(keys.find("orders:7") == 1);
  CHECK(keys.find(row(8)) == keys.size());
}

TEST_CASE("lock_keys: any range of keys or texts will do") {
  const lock_keys wanted{"a", "b"};
  CHECK(lock_keys(std::vector<std::string>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::set<std::string_view>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::list<const char*>{"b", "a"}) == wanted);
  CHECK(lock_keys(std::vector<lock_key>{"b", "a"}) == wanted);
}

TEST_CASE("lock_keys: 1 to 256, and the error names the number") {
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

TEST_CASE("lock_keys: for messages each is quoted and printable") {
  CHECK(printable(lock_keys{"b", "a\n"}) == "'a\\x0a', 'b'");
}

TEST_CASE("lock_keys: one key gives a lease, a list or range a multi_lease") {
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
  STATIC_CHECK_FALSE(std::convertible_to<const std::vector<std::string>&, lock_key>);
  STATIC_CHECK_FALSE(std::convertible_to<const lock_keys&, lock_key>);
  STATIC_CHECK_FALSE(std::convertible_to<const std::string&, lock_keys>);
  STATIC_CHECK_FALSE(std::convertible_to<const lock_key&, lock_keys>);
}
