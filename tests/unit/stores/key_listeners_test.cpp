// SPDX-License-Identifier: BSL-1.0
#include "stores/key_listeners.hpp"

#include <catch2/catch_test_macros.hpp>
#include <vector>

using namespace dlock;

namespace {

class recorder final : public key_listener {
 public:
  void may_be_free(bool works) noexcept override { calls.push_back(works); }
  std::vector<bool> calls{};
};

}  // namespace

TEST_CASE("key listeners: one that relies on notifications is to learn of their end, though another one has just come",
          "[unit]") {
  stores::key_listeners key;
  recorder first, second;
  key.add(first);
  CHECK_FALSE(key.informed);
  CHECK_FALSE(key.relied_on);
  key.notify(true);
  key.add(second);
  CHECK_FALSE(key.informed);
  CHECK(key.relied_on);
  key.notify(false);
  CHECK_FALSE(key.relied_on);
  CHECK(first.calls == std::vector{true, false});
  CHECK(second.calls == std::vector{false});
}

TEST_CASE("key listeners: the first of a new wait relies on nothing that an earlier one was notified of", "[unit]") {
  stores::key_listeners key;
  recorder first, second;
  key.add(first);
  key.notify(true);
  key.all.clear();
  key.add(second);
  CHECK_FALSE(key.relied_on);
}

TEST_CASE("key notes: only what was done with a watched key since its watch began is known", "[unit]") {
  stores::key_notes notes;
  notes.set_taken("a", true);
  CHECK(notes.empty());
  CHECK_FALSE(notes.begin("a"));
  CHECK_FALSE(notes.empty());
  CHECK_FALSE(notes.set_released("b"));
  CHECK(notes.set_released("a"));
  CHECK(notes.released("a"));
  CHECK_FALSE(notes.released("a"));
  notes.set_taken("a", true);
  CHECK(notes.begin("a"));  // another watch, and the note is gone
  CHECK_FALSE(notes.end("a"));
  CHECK(notes.empty());
  notes.begin("a");
  notes.set_taken("a", true);
  CHECK(notes.end("a"));
}
