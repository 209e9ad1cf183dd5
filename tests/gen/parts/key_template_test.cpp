// SPDX-License-Identifier: BSL-1.0
#include "annotations/key_template.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "gen/parts/annotation_text.hpp"

namespace {

using dlock_gen::read_path;
using dlock_gen::read_template;
using dlock_gen::test::annotation_text;

/// Literal and path of each piece: "order:|o.id".
std::vector<std::string> pieces_of(const std::string& text) {
  annotation_text from(text);
  std::vector<std::string> all;
  const auto read = read_template(from.inside, from.messages);
  if (!read) return {from.messages.text()};
  for (const auto& each : read->pieces) all.push_back(each.literal + "|" + (each.value ? each.value->text() : ""));
  return all;
}
using list = std::vector<std::string>;

}  // namespace

TEST_CASE("gen template: literals and paths alternate") {
  CHECK(pieces_of(R"("order:{o.id}:{buyer.name()}")") == list{"order:|o.id", ":|buyer.name()"});
  CHECK(pieces_of(R"("{a->b.c()->d}")") == list{"|a->b.c()->d"});
  CHECK(pieces_of(R"("report:daily")") == list{"report:daily|"});
  CHECK(pieces_of(R"("{a}:")") == list{"|a", ":|"});
}

TEST_CASE("gen template: doubled braces are single ones, and escapes and raw literals are read") {
  CHECK(pieces_of(R"("a{{b}}:{c}")") == list{"a{b}:|c"});
  CHECK(pieces_of(R"("a\t\"\x41\101:{c}")") == list{"a\t\"AA:|c"});
  CHECK(pieces_of("R\"x(a\\t:{c})x\"") == list{"a\\t:|c"});
  CHECK(pieces_of(R"("a:" "{c}")") == list{"a:|c"});
}

TEST_CASE("gen template: a value knows its column, also behind an escape and in a second literal") {
  annotation_text from(R"("a\":{o.id}:" "{p}")");
  const auto read = read_template(from.inside, from.messages);
  REQUIRE(read);
  CHECK(read->pieces[0].value->where.at().column == 9);
  CHECK(read->pieces[1].value->where.at().column == 19);
  CHECK(read->pieces[0].value->exact);
}

TEST_CASE("gen template: a path that an escape takes apart is not taken for one that stands there") {
  annotation_text from(R"("a:{o\x2eid}")");
  const auto read = read_template(from.inside, from.messages);
  REQUIRE(read);
  CHECK(read->pieces[0].value->text() == "o.id");
  CHECK_FALSE(read->pieces[0].value->exact);
}

TEST_CASE("gen template: the domain is the template without its values") {
  annotation_text from(R"("a{{x}}:{o.id}:b:{p}")");
  CHECK(read_template(from.inside, from.messages)->domain() == "a{{x}}:{}:b:{}");
}

TEST_CASE("gen path: a parameter, fields and getters") {
  annotation_text from("o->buyer().name");
  const auto read = read_path(from.inside, from.messages);
  REQUIRE(read);
  CHECK(read->head == "o");
  REQUIRE(read->steps.size() == 2);
  CHECK(read->steps[0].arrow);
  CHECK(read->steps[0].call);
  CHECK(read->steps[1].text() == ".name");
  annotation_text wrong("o+1");
  CHECK_FALSE(read_path(wrong.inside, wrong.messages));
  CHECK(wrong.messages.errors() == 1);
}
