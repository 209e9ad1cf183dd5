// SPDX-License-Identifier: BSL-1.0
#include "source/lexer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

namespace {

using dlock_gen::closing;
using dlock_gen::split;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> all;
  for (const auto& each : split(text)) all.emplace_back(each.text);
  return all;
}
using list = std::vector<std::string>;

}  // namespace

TEST_CASE("gen lexer: comments and preprocessor lines are no words") {
  CHECK(words("a // b\nc /* d\ne */ f\n  # define g \\\n  h\ni") == list{"a", "c", "f", "i"});
  CHECK(words("a / b # c") == list{"a", "/", "b", "#", "c"});
  CHECK(words("a /* never closed") == list{"a"});
}

TEST_CASE("gen lexer: numbers keep their separators, units and exponents") {
  CHECK(words("1'500ms+0.5s .25 1e-3f 0x1F 3..4") == list{"1'500ms", "+", "0.5s", ".25", "1e-3f", "0x1F", "3..4"});
}

TEST_CASE("gen lexer: texts may hold quotes, brackets and line ends") {
  CHECK(words(R"-("a\"b)" 'c' x)-") == list{R"-("a\"b)")-", "'c'", "x"});
  CHECK(words("R\"x(a)\"\n)x\" b") == list{"R\"x(a)\"\n)x\"", "b"});
  CHECK(words("u8\"a\"sv L'b' name\"c\"") == list{"u8\"a\"sv", "L'b'", "name", "\"c\""});
  CHECK(words("\"never closed") == list{"\"never closed"});
  CHECK(words("R\"x(never closed") == list{"R\"x(never closed"});
}

TEST_CASE("gen lexer: operators that look like others stay whole") {
  CHECK(words("a->b::c<=d == e [[x]] ...") ==
        list{"a", "->", "b", "::", "c", "<=", "d", "==", "e", "[[", "x", "]]", "..."});
}

TEST_CASE("gen lexer: a bracket is closed by its own one") {
  const auto tokens = split("f(a[g(1)], {2, (3)}) h");
  CHECK(tokens[closing(tokens, 1)].begin == 19);
  CHECK(closing(split("(a"), 0) == 2);
  const auto attribute = split("[[nodiscard(\"why\")]] int");
  CHECK(attribute[closing(attribute, 0)].is("]]"));
}
