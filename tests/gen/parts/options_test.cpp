// SPDX-License-Identifier: BSL-1.0
#include "annotations/options.hpp"

#include <catch2/catch_test_macros.hpp>
#include <dlock/lock_options.hpp>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "gen/parts/annotation_text.hpp"

namespace {

using dlock_gen::annotation;
using dlock_gen::annotation_kind;
using dlock_gen::find_option;
using dlock_gen::merged;
using dlock_gen::read_options;
using dlock_gen::split_arguments;
using dlock_gen::test::annotation_text;

std::string message_for(const std::string& text) {
  annotation_text from(text);
  const annotation what{annotation_kind::locked, from.inside, from.inside.where};
  read_options(what, split_arguments(from.inside), from.messages);
  return from.messages.errors() == 0 ? "" : from.messages.all().front().text;
}

}  // namespace

TEST_CASE("gen options: the names are the fields of lock_options, in their order") {
  std::ifstream in(DLOCK_TEST_LOCK_OPTIONS);
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto begin = text.find("struct lock_options {");
  REQUIRE(begin != std::string::npos);
  const auto body = text.substr(begin, text.find("\n};", begin) - begin);
  std::vector<std::string> fields;
  const std::regex field(R"(\n  [a-z_:<> ]+ ([a-z_]+)\{\};)");
  for (auto at = std::sregex_iterator(body.begin(), body.end(), field); at != std::sregex_iterator(); ++at) {
    fields.push_back((*at)[1]);
  }
  CHECK(fields.size() >= 8);
  CHECK(dlock_gen::lock_option_fields() == fields);
}

TEST_CASE("gen options: a literal time is refused at exactly the limits of lock_options") {
  CHECK(message_for(".ttl = 10ms").empty());
  CHECK(message_for(".ttl = 9ms") == ".ttl must be from 10 ms to 30 days");
  CHECK(message_for(".ttl = 720h").empty());
  CHECK_FALSE(message_for(".ttl = 721h").empty());
  CHECK(message_for(".wait = 0s").empty());
  CHECK(message_for(".wait = 8'760h").empty());
  CHECK_FALSE(message_for(".wait = 8'761h").empty());
  CHECK(message_for(".max_hold = 525'600min").empty());
  CHECK(message_for(".min_hold = 720h").empty());
  CHECK_FALSE(message_for(".min_hold = 43'201min").empty());

  // dlock says the same when the call is made.
  using namespace std::chrono_literals;
  CHECK_NOTHROW(dlock::validate({.ttl = 720h, .renewal = dlock::renewal::none}));
  CHECK_THROWS(dlock::validate({.ttl = 721h, .renewal = dlock::renewal::none}));
  CHECK_NOTHROW(dlock::validate({.ttl = 10ms, .renewal = dlock::renewal::none}));
  CHECK_THROWS(dlock::validate({.ttl = 9ms, .renewal = dlock::renewal::none}));
  CHECK_NOTHROW(dlock::validate({.wait = 8760h}));
  CHECK_THROWS(dlock::validate({.wait = 8761h}));
  CHECK_NOTHROW(dlock::validate({.min_hold = 720h}));
  CHECK_THROWS(dlock::validate({.min_hold = 721h}));
  CHECK_NOTHROW(dlock::validate({.max_hold = 8760h}));
  CHECK_THROWS(dlock::validate({.max_hold = 8761h}));
}

TEST_CASE("gen options: what is no literal is left to the compiler") {
  CHECK(message_for(".ttl = patience").empty());
  CHECK(message_for(".ttl = 2 * 5s").empty());
  CHECK(message_for(".ttl = std::chrono::seconds{5}").empty());
}

TEST_CASE("gen options: those of a function come before those of its class") {
  annotation_text own_text(".ttl = 5s");
  annotation_text class_text(".ttl = 6s, .wait = 7s");
  const annotation own{annotation_kind::locked, own_text.inside, {}};
  const annotation of_class{annotation_kind::defaults, class_text.inside, {}};
  const auto all = merged(read_options(own, split_arguments(own_text.inside), own_text.messages),
                          read_options(of_class, split_arguments(class_text.inside), class_text.messages));
  REQUIRE(all.size() == 2);
  CHECK(find_option(all, "ttl")->value.text == "5s");
  CHECK_FALSE(find_option(all, "ttl")->of_class);
  CHECK(find_option(all, "wait")->value.text == "7s");
  CHECK(find_option(all, "wait")->of_class);
}

TEST_CASE("gen options: a value is written for another scope, except parameters and what follows a name") {
  const std::map<std::string, std::string> names{
      {"patience", "::shop::patience"}, {"pause", "::shop::pause"}, {"own", ""}, {"id", "::shop::id"}};
  const auto written = [&](const std::string& value) {
    return dlock_gen::in_other_scope(value, names, {"id"}, "dlock_inner_");
  };
  CHECK(written("patience") == "::shop::patience");
  CHECK(written("2 * patience + patience") == "2 * ::shop::patience + ::shop::patience");
  CHECK(written("{.pause = pause, .limit = 3}") == "{.pause = ::shop::pause, .limit = 3}");
  CHECK(written("other::patience + id.patience + id->patience") == "other::patience + id.patience + id->patience");
  CHECK(written("own() + this->own()") == "dlock_inner_->own() + dlock_inner_->own()");
  CHECK(written("5s /* patience */") == "5s /* patience */");
}
