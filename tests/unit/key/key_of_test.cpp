// SPDX-License-Identifier: BSL-1.0
#include "dlock/key_of.hpp"

#include "dlock/key.hpp"
#include "support/test.hpp"

using Catch::Matchers::Message;
using dlock::arg;
using dlock::key;
using dlock::key_of;
using dlock::lock_key;

namespace {

class order {
 public:
  explicit order(long id, std::optional<std::string> note = {}) : id_(id), note_(std::move(note)) {}
  long id() const { return id_; }
  const std::optional<std::string>& note() const noexcept { return note_; }

 private:
  long id_;
  std::optional<std::string> note_;
};

struct user {
  std::string name;
};

}  // namespace

TEST_CASE("key_of: golden encodings", "[T81][T82]") {
  const order o(42, "a:b");
  const user u{"100%"};
  CHECK(key_of("report")().str() == "report");
  CHECK(key_of("order", arg<1>(&order::id))(o).str() == "order:42");
  CHECK(key_of("order", arg<1>(&order::id), arg<2>(&user::name))(o, u).str() == "order:42:100%25");
  CHECK(key_of("order", arg<2>(&user::name), arg<1>(&order::note))(o, u).str() == "order:100%25:a%3Ab");
  CHECK(key_of("a:%{x}", arg<1>())("a:b").str() == "a:%{x}:a%3Ab");
  CHECK(key_of("x", arg<1>())("").str() == "x:");
}

TEST_CASE("key_of: the example of the documentation gives the key it says") {
  const order o(42);
  const user u{"Ann"};
  // [projections]
  const auto order_key = key_of("order", arg<1>(&order::id), arg<2>(&user::name));
  const lock_key composed = order_key(o, u);  // order:42:Ann
  // [/projections]
  CHECK(composed == lock_key("order:42:Ann"));
}

TEST_CASE("key_of: gives the key of the pattern with the same text") {
  CHECK(key_of("order", arg<1>(), arg<2>())(42, "a:b") == key<"order:{o}:{n}", "o", "n">(42, "a:b"));
}

TEST_CASE("key_of: projections are members, getters or callables, and may return values or references") {
  const order o(42);
  const user u{"Ann"};
  const auto parity = [](const order& value) { return value.id() % 2; };
  CHECK(key_of("x", arg<1>(&order::id))(o).str() == "x:42");
  CHECK(key_of("x", arg<1>(&user::name))(u).str() == "x:Ann");
  CHECK(key_of("x", arg<1>(parity))(o).str() == "x:0");
  CHECK(key_of("x", arg<1>(std::function<long(const order&)>(&order::id)))(o).str() == "x:42");
  CHECK(key_of("x", arg<1>([](const user& value) { return value.name + "!"; }))(u).str() == "x:Ann!");
}

TEST_CASE("key_of: a member is reached through pointers and references") {
  const order o(42);
  const auto compose = key_of("x", arg<1>(&order::id));
  CHECK(compose(&o).str() == "x:42");
  CHECK(compose(std::make_unique<order>(42)).str() == "x:42");
  CHECK(compose(std::make_shared<const order>(42)).str() == "x:42");
  CHECK(compose(std::cref(o)).str() == "x:42");
  CHECK(compose(std::optional(o)).str() == "x:42");
}

TEST_CASE("key_of: a missing value is an error that names the argument, never a shared key", "[T83]") {
  const auto compose = key_of("order", arg<2>(&order::id));
  const order* const null = nullptr;
  const char* const no_text = nullptr;
  CHECK_THROWS_MATCHES(compose(1, null), std::invalid_argument, Message("dlock: key 'order': part 'arg<2>' is null"));
  CHECK_THROWS_AS(compose(1, std::shared_ptr<order>()), std::invalid_argument);
  CHECK_THROWS_AS(compose(1, std::optional<order>()), std::invalid_argument);
  CHECK_THROWS_MATCHES(key_of("order", arg<1>(&order::note))(order(1)), std::invalid_argument,
                       Message("dlock: key 'order': part 'arg<1>' is an empty optional"));
  CHECK_THROWS_MATCHES(key_of("order", arg<12>())(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, no_text), std::invalid_argument,
                       Message("dlock: key 'order': part 'arg<12>' is a null pointer"));
}

TEST_CASE("key_of: an empty prefix is an error") {
  CHECK_THROWS_AS(key_of(""), std::invalid_argument);
  CHECK_THROWS_AS(key_of("", arg<1>()), std::invalid_argument);
}

TEST_CASE("key_of: arguments that no part asks for are left out") {
  struct unprintable {};
  CHECK(key_of("x", arg<2>())(unprintable(), 7, 2.5).str() == "x:7");
}

TEST_CASE("key_of: a composer can be copied and outlive the prefix it was given") {
  auto compose = [] {
    const std::string prefix(50, 'p');
    return key_of(prefix, arg<1>());
  }();
  const auto copy = compose;
  CHECK(copy(1) == compose(1));
  CHECK(copy(1).str() == std::string(50, 'p') + ":1");
}

TEST_CASE("key_of: no two different pairs of short texts share a key", "[T81]") {
  std::vector<std::string> texts{"", "%3A", "%25", "%253A"};
  for (const char a : std::string(":%3A")) {
    texts.push_back({a});
    for (const char b : std::string(":%3A")) texts.push_back({a, b});
  }
  const auto compose = key_of("k", arg<1>(), arg<2>());
  std::map<std::string, std::pair<std::string, std::string>, std::less<>> seen;
  for (const auto& a : texts) {
    for (const auto& b : texts) seen.try_emplace(std::string(compose(a, b).str()), a, b);
  }
  CHECK(seen.size() == texts.size() * texts.size());
}
