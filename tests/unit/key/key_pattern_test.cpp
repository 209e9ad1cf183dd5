// SPDX-License-Identifier: BSL-1.0
#include "dlock/detail/key_pattern.hpp"

#include "dlock/key.hpp"
#include "support/test.hpp"

using Catch::Matchers::Message;
using dlock::key;
using dlock::lock_key;
using dlock::detail::fixed_string;
using dlock::detail::parse_pattern;
using dlock::detail::pattern_fault;
using namespace std::string_literals;
using namespace std::string_view_literals;

namespace {

// [structs]
struct customer {
  int id;
  std::string name;
};

struct order {
  long id;
  customer buyer;
  std::optional<std::string> note;
};
// [/structs]

// Movable only, and with fields of awkward names.
struct awkward {
  int _1;
  int value;
  int grösse;
  std::unique_ptr<int> owned;
};

struct printable_id {
  int id;
};

void append_part(std::string& out, const printable_id& value) {
  out.append("no-");
  dlock::append_part(out, value.id);
}

struct order_id {
  long value;
};

// [append_part]
void append_part(std::string& out, const order_id& id) { dlock::append_part(out, id.value); }
// [/append_part]

struct two_parts {
  std::string left;
  std::string right;
};

void append_part(std::string& out, const two_parts& value) { out.append(value.left + ":" + value.right); }

struct odd_only {
  int value;
};

void append_part(std::string& out, const odd_only& id) {
  if (id.value % 2 == 0) throw std::invalid_argument("is even");
  dlock::append_part(out, id.value);
}

struct eraser {
  int unused;
};

void append_part(std::string& out, const eraser&) { out.clear(); }

class sealed {
 public:
  explicit sealed(int value) : value_(value) {}
  friend void append_part(std::string& out, const sealed& object) { dlock::append_part(out, object.value_); }

 private:
  int value_;
};

enum class state : std::uint8_t { open = 3, closed = 200 };
enum class letter : char { a = 'a' };
enum class flag : bool { off, on };
enum plain_enum { plain_value = -5 };
enum class colour { red };

void append_part(std::string& out, colour) { out.append("red"); }

order example_order() { return {42, {7, "Ann"}, "x"}; }

template <std::size_t N>
constexpr pattern_fault fault_of(const char (&text)[N]) {
  return parse_pattern(fixed_string<N>(text)).fault;
}

}  // namespace

TEST_CASE("key pattern: parts and literals are split at compile time") {
  constexpr auto parsed = parse_pattern(fixed_string("a{{{o.id}}}:{u}z"));
  STATIC_REQUIRE(parsed.fault == pattern_fault::none);
  STATIC_REQUIRE(parsed.count == 2);
  const std::string_view text(parsed.text, parsed.text_size);
  CHECK(text == "a{}:z");
  CHECK(text.substr(parsed.parts[0].literal, parsed.parts[0].literal_size) == "a{");
  CHECK(text.substr(parsed.parts[1].literal, parsed.parts[1].literal_size) == "}:");
  CHECK(text.substr(parsed.tail) == "z");
}

TEST_CASE("key pattern: a malformed text is told by its kind", "[T82]") {
  STATIC_REQUIRE(fault_of("") == pattern_fault::empty);
  STATIC_REQUIRE(fault_of("{") == pattern_fault::unclosed);
  STATIC_REQUIRE(fault_of("a{b") == pattern_fault::unclosed);
  STATIC_REQUIRE(fault_of("a{b{c}}") == pattern_fault::unclosed);
  STATIC_REQUIRE(fault_of("{{{") == pattern_fault::unclosed);
  STATIC_REQUIRE(fault_of("}") == pattern_fault::stray);
  STATIC_REQUIRE(fault_of("a}b") == pattern_fault::stray);
  STATIC_REQUIRE(fault_of("{a}}") == pattern_fault::stray);
  STATIC_REQUIRE(fault_of("{}") == pattern_fault::empty_braces);
  STATIC_REQUIRE(fault_of("{{{}}}") == pattern_fault::empty_braces);
  STATIC_REQUIRE(fault_of("{ a}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{.a}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{a.}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{a..b}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{1}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{a:x}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{a()}") == pattern_fault::bad_path);
  STATIC_REQUIRE(fault_of("{a}{b}") == pattern_fault::no_separator);
  STATIC_REQUIRE(fault_of("{a}-{b}") == pattern_fault::no_separator);
  STATIC_REQUIRE(fault_of(":{a}%{b}:") == pattern_fault::no_separator);
  STATIC_REQUIRE(fault_of("{a}:{b}/{c}") == pattern_fault::no_separator);
}

TEST_CASE("key pattern: a well-formed text has no fault") {
  STATIC_REQUIRE(fault_of("a") == pattern_fault::none);
  STATIC_REQUIRE(fault_of("{{}}") == pattern_fault::none);
  STATIC_REQUIRE(fault_of("{a}") == pattern_fault::none);
  STATIC_REQUIRE(fault_of("{_a1.b_2}") == pattern_fault::none);
  STATIC_REQUIRE(fault_of("{a}-:-{b}::{c}") == pattern_fault::none);
}

// The bytes below are a promise: processes of different versions must agree while a new one is rolled out.
TEST_CASE("key: golden encodings", "[T56][T81][T82]") {
  const order o = example_order();
  CHECK(key<"report:daily">().str() == "report:daily");
  CHECK(key<"user:{id}">(42).str() == "user:42");
  CHECK(key<"user:{id}">(-42).str() == "user:-42");
  CHECK(key<"order:{o.id}:{u.name}", "o", "u">(o, o.buyer).str() == "order:42:Ann");
  CHECK(key<"order:{id}:{buyer.name}:{note}">(o).str() == "order:42:Ann:x");
  CHECK(key<"{a}:{b}", "a", "b">("a:b", "100%").str() == "a%3Ab:100%25");
  CHECK(key<"{a}:{b}", "a", "b">("%3A", ":%:").str() == "%253A:%3A%25%3A");
  CHECK(key<"{a}:{b}", "a", "b">("", "").str() == ":");
  CHECK(key<"a:%{{x}}:{v}">("{x}").str() == "a:%{x}:{x}");
  CHECK(key<"{v}">("a\0 \xff"sv).str() == "a\0 \xff"sv);
  CHECK(key<"{a}:{b}:{c}:{d}", "a", "b", "c", "d">(state::closed, letter::a, flag::on, plain_value).str() ==
        "200:97:1:-5");
  CHECK(key<"blob:{uuid}">(std::array<std::uint8_t, 16>{0, 1, 0x7f, 0xff}).str() ==
        "blob:00017fff000000000000000000000000");
  CHECK(key<"id:{v}">(printable_id{5}).str() == "id:no-5");
  CHECK(key<"{v}">(std::string(300, ':')).str() ==
        std::string_view(
            "%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A"
            "%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%3A%"
            ":6f31108f4dfa1deb3f452a941f7d8391f199675018913f8c3397aacaae5adc86"));
}

TEST_CASE("key: the examples of the documentation give the keys it says") {
  const order o = example_order();
  const customer& u = o.buyer;
  // [patterns]
  const std::vector<lock_key> keys{
      key<"order:{o.id}:{u.name}", "o", "u">(o, u),  // order:42:Ann: the list says which argument is which
      key<"order:{id}:{buyer.id}">(o),               // order:42:7: fields of the only argument
      key<"user:{id}">(42),                          // user:42: id is a name for the argument
      key<"report:daily">(),                         // report:daily
  };
  // [/patterns]
  const std::vector<lock_key> expected{"order:42:Ann", "order:42:7", "user:42", "report:daily"};
  CHECK(keys == expected);
  CHECK(key<"order:{value}">(order_id{42}) == lock_key("order:42"));
}

TEST_CASE("key: integers of every width are written in full") {
  CHECK(key<"{v}">(std::numeric_limits<std::int64_t>::min()).str() == "-9223372036854775808");
  CHECK(key<"{v}">(std::numeric_limits<std::uint64_t>::max()).str() == "18446744073709551615");
  CHECK(key<"{v}">(std::numeric_limits<std::int32_t>::min()).str() == "-2147483648");
  CHECK(key<"{v}">(std::numeric_limits<std::int16_t>::min()).str() == "-32768");
  CHECK(key<"{v}">(std::numeric_limits<std::int8_t>::min()).str() == "-128");
  CHECK(key<"{v}">(std::uint8_t{255}).str() == "255");
  CHECK(key<"{v}">(0).str() == "0");
}

TEST_CASE("key: every kind of text gives the same part") {
  const char array[] = "abc";
  const char full[3] = {'a', 'b', 'c'};
  const char* const pointer = array;
  CHECK(key<"{v}">(array).str() == "abc");
  CHECK(key<"{v}">(full).str() == "abc");
  CHECK(key<"{v}">(pointer).str() == "abc");
  CHECK(key<"{v}">("abc"s).str() == "abc");
  CHECK(key<"{v}">("abc"sv).str() == "abc");
  CHECK(key<"{v}">(std::optional("abc"s)).str() == "abc");
}

TEST_CASE("key: a single argument has the only name, which may occur again") {
  CHECK(key<"{v}:{v}">(7).str() == "7:7");
}

TEST_CASE("key: listed names say which argument is which, and _ leaves one out") {
  CHECK(key<"{b}:{a}", "a", "b">(1, 2).str() == "2:1");
  CHECK(key<"{u.id}:{o.id}:{u.id}", "o", "u">(order{1, {2, ""}, {}}, customer{3, ""}).str() == "3:1:3");
  CHECK(key<"{o.id}", "_", "o", "_">(nullptr, order{1, {2, ""}, {}}, 2.5).str() == "1");
  CHECK(key<"{id}", "id">(printable_id{4}).str() == "no-4");
  CHECK(key<"{id.id}", "id">(printable_id{4}).str() == "4");
}

TEST_CASE("key: a path begins in the only argument when it has such fields") {
  const order o = example_order();
  CHECK(key<"order:{id}">(o).str() == "order:42");
  CHECK(key<"order:{o.id}">(o).str() == "order:42");
  CHECK(key<"order:{buyer.id}">(o).str() == "order:7");
  CHECK(key<"order:{o.buyer.id}">(o).str() == "order:7");
}

TEST_CASE("key: a type that can be a part is not entered unasked") {
  CHECK(key<"{id}">(printable_id{4}).str() == "no-4");
  CHECK(key<"{v.id}">(printable_id{4}).str() == "4");
}

TEST_CASE("key: fields are found by their exact names") {
  CHECK(key<"{_1}:{value}:{grösse}">(awkward{1, 2, 3, nullptr}).str() == "1:2:3");
  struct local {
    int id;
    int id2;
    int i;
  };
  CHECK(key<"{id}:{id2}:{i}">(local{1, 2, 3}).str() == "1:2:3");
}

TEST_CASE("key: an append_part beside a type is found, and what it writes is escaped") {
  CHECK(key<"x:{v}">(sealed(9)).str() == "x:9");
  CHECK(key<"x:{v}">(two_parts{"a%", "b"}).str() == "x:a%25%3Ab");
  CHECK(key<"x:{v}">(std::optional(sealed(9))).str() == "x:9");
  CHECK(key<"x:{v}">(colour::red).str() == "x:red");  // goes before the rule for enumerations
  STATIC_REQUIRE(dlock::key_part<sealed>);
  STATIC_REQUIRE(dlock::key_part<std::optional<sealed>>);
  STATIC_REQUIRE(!dlock::key_part<customer>);
  STATIC_REQUIRE(!dlock::key_part<bool>);
  STATIC_REQUIRE(!dlock::key_part<char>);
  STATIC_REQUIRE(!dlock::key_part<double>);
  STATIC_REQUIRE(!dlock::key_part<int*>);
  STATIC_REQUIRE(!dlock::key_part<std::nullptr_t>);
  STATIC_REQUIRE(!dlock::key_part<std::optional<std::optional<int>>>);
}

TEST_CASE("key: a missing value is an error that names the part, never a shared key", "[T83]") {
  const char* const null = nullptr;
  const order o{42, {7, "Ann"}, {}};
  CHECK_THROWS_MATCHES(key<"order:{o.id}:{o.note}">(o), std::invalid_argument,
                       Message("dlock: key 'order:{o.id}:{o.note}': part 'o.note' is an empty optional"));
  CHECK_THROWS_MATCHES(key<"user:{name}">(null), std::invalid_argument,
                       Message("dlock: key 'user:{name}': part 'name' is a null pointer"));
  CHECK_THROWS_MATCHES(key<"{v}">(std::optional<const char*>(null)), std::invalid_argument,
                       Message("dlock: key '{v}': part 'v' is a null pointer"));
  CHECK_THROWS_AS((key<"{v}">("")), std::invalid_argument);  // the whole key would be empty
}

TEST_CASE("key: an append_part may refuse a value, and must not take text away") {
  CHECK(key<"x:{id}", "id">(odd_only{3}).str() == "x:3");
  CHECK_THROWS_MATCHES((key<"x:{id}", "id">(odd_only{4})), std::invalid_argument,
                       Message("dlock: key 'x:{id}': part 'id' is even"));
  CHECK_THROWS_AS((key<"x:{v}">(eraser{})), std::invalid_argument);
}

TEST_CASE("key: the same pattern in two places is the same lock, as is the plain text", "[T85]") {
  CHECK(key<"order:{id}">(42) == key<"order:{o.id}">(order{42, {}, {}}));
  CHECK(key<"order:{id}">(42) == lock_key("order:42"));
  CHECK(key<"order:{id}">(42) != key<"Order:{id}">(42));
}

TEST_CASE("key: no two different triples of short texts share a key", "[T81][T82]") {
  std::vector<std::string> texts{"", "%3A", "%25", "%253A"};
  for (const char a : ":%3A{"s) {
    texts.push_back({a});
    for (const char b : ":%3A{"s) texts.push_back({a, b});
  }
  std::map<std::string, std::tuple<std::string, std::string, std::string>, std::less<>> seen;
  std::size_t collisions = 0;
  for (const auto& a : texts) {
    for (const auto& b : texts) {
      for (const auto& c : texts) {
        collisions +=
            seen.try_emplace(std::string(key<"k:{a}:{b}%3A:x{c}", "a", "b", "c">(a, b, c).str()), a, b, c).second ? 0
                                                                                                                  : 1;
      }
    }
  }
  CHECK(collisions == 0);
  CHECK(seen.size() == texts.size() * texts.size() * texts.size());
}

TEST_CASE("key: no two different random pairs share a key, long ones included", "[T81]") {
  constexpr std::string_view alphabet = ":%{}3A25_.- a\0\xff"sv;
  std::mt19937 random(20240607);
  const auto text = [&](std::size_t longest) {
    std::string result(random() % (longest + 1), ' ');
    for (char& c : result) c = alphabet[random() % alphabet.size()];
    return result;
  };
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> seen;
  for (int i = 0; i != 20'000; ++i) {
    const std::size_t longest = i % 10 == 0 ? 200 : 4;
    const std::pair<std::string, std::string> values(text(longest), text(longest));
    const lock_key composed = key<"k:{a}:{b}", "a", "b">(values.first, values.second);
    REQUIRE(composed.view().size() <= lock_key::max_size);
    REQUIRE(seen.try_emplace(std::string(composed.view()), values).first->second == values);
  }
}

TEST_CASE("key: the composer is a stateless function object for decorators") {
  constexpr dlock::detail::key_composer<"order:{o.id}", "_", "o"> compose;
  STATIC_REQUIRE(compose.named_arguments == 2);
  STATIC_REQUIRE(std::is_empty_v<decltype(compose)>);
  CHECK(compose(1, order{42, {}, {}}).str() == "order:42");
}
