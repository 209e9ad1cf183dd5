// SPDX-License-Identifier: BSL-1.0
#include "base/late_object.hpp"

#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <memory>
#include <new>
#include <stdexcept>

namespace {

using dlock::base::late_object;

struct counted {
  explicit counted(int& living, bool fails = false) : living_(living) {
    if (fails) throw std::runtime_error("no");
    ++living_;
  }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --living_; }
  int& living_;
};

struct large {
  std::array<unsigned char, 512> bytes;
};

}  // namespace

TEST_CASE("late_object: ends what was made, once", "[late_object]") {
  int living = 0;
  {
    late_object<counted> one;
    CHECK_FALSE(one.has_value());
    one.emplace(living);
    CHECK(one.has_value());
    CHECK(living == 1);
    CHECK(&one->living_ == &living);
    CHECK(&(*one).living_ == &living);
    one.emplace(living);
    CHECK(living == 1);
    one.reset();
    one.reset();
    CHECK(living == 0);
    one.emplace(living);
  }
  CHECK(living == 0);
}

TEST_CASE("late_object: is empty after a constructor that threw", "[late_object]") {
  int living = 0;
  late_object<counted> one;
  one.emplace(living);
  CHECK_THROWS_AS(one.emplace(living, true), std::runtime_error);
  CHECK_FALSE(one.has_value());
  CHECK(living == 0);
}

TEST_CASE("late_object: its beginning leaves the room as it was", "[late_object]") {
  using held = late_object<large>;
  alignas(held) std::array<unsigned char, sizeof(held)> memory;
  memory.fill(0xa5);
  // By a pointer that the compiler can't follow: it leaves out a write to memory in which it sees an object begin.
  held* (*volatile const make)(void*) = [](void* at) { return ::new (at) held{}; };
  auto* const made = make(memory.data());
  const auto untouched = std::count(memory.begin(), memory.end(), 0xa5);
  std::destroy_at(made);
  CHECK(untouched >= 512);
}
