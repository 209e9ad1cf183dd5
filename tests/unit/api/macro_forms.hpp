// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Every form in which the macros are meant to be used. Read by macros_test.cpp, which checks what they do,
/// and by macro_forms.cpp, which is compiled with all warnings as errors, with and without optimisation.

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dlock/key.hpp"
#include "dlock/macros.hpp"

namespace dlock::test {

using namespace std::chrono_literals;

struct order {
  int id;
  std::string customer;
};

// Nothing follows the statement: no compiler may say that a value is missing.
inline int returned_value(int value) {
  DISTRIBUTED_LOCKED("k") { return value; }
}

inline std::unique_ptr<int> returned_move_only(int value) {
  DISTRIBUTED_LOCKED("k", {.ttl = 5s}) {
    auto result = std::make_unique<int>(value);
    return result;
  }
}

inline int& returned_reference(int& value) {
  DISTRIBUTED_LOCKED_AS(held, "k") { return value; }
}

inline std::uint64_t returned_fence() {
  DISTRIBUTED_LOCKED_AS(held, "k") { return held.fencing_token(); }
}

// Both branches return.
inline int tried() {
  DISTRIBUTED_TRY_LOCKED_AS(held, "k") { return static_cast<int>(held.fencing_token()); }
  else {
    return held ? -2 : -1;
  }
}

inline bool tried_without_else() {
  bool ran = false;
  DISTRIBUTED_TRY_LOCKED_AS(held, "k", {.ttl = 5s, .wait = 0s}) { ran = true; }
  return ran;
}

// The lease has no name: both branches return, no branch is there for busy, and the statement is one of a loop.
inline int tried_unnamed(const order& o) {
  DISTRIBUTED_TRY_LOCKED(dlock::key<"{o.id}:{o.customer}">(o), {.ttl = 5s, .wait = 0s}) { return 1; }
  else {
    return -1;
  }
}
inline bool tried_unnamed_without_else() {
  bool ran = false;
  DISTRIBUTED_TRY_LOCKED("k") { ran = true; }
  return ran;
}
inline std::vector<int> tried_in_loop(int count) {
  std::vector<int> seen;
  for (int i = 0; i != count; ++i) {
    DISTRIBUTED_TRY_LOCKED({"k", "l"}) {
      if (i == 1) continue;
      if (i == 3) break;
      seen.push_back(i);
    }
    else {
      seen.push_back(100 + i);
    }
    seen.push_back(-i);
  }
  return seen;
}

inline std::vector<int> left_by_break_and_continue(int count) {
  std::vector<int> seen;
  for (int i = 0; i != count; ++i) {
    DISTRIBUTED_LOCKED("k") {
      if (i == 1) continue;
      if (i == 3) break;
      seen.push_back(i);
    }
    seen.push_back(-i);
  }
  return seen;
}

inline int left_by_break_of_switch(int which) {
  int result = 0;
  switch (which) {
    case 1:
      DISTRIBUTED_LOCKED("k") {
        result = 10;
        break;
      }
      result = 99;
      break;
    default: result = 20;
  }
  return result;
}

// The else is that of the outer if, braces or not.
inline int outer_else(bool choice) {
  int result = 0;
  if (choice) DISTRIBUTED_LOCKED("k") {
      result = 1;
    }
  else
    result = 2;
  if (choice) DISTRIBUTED_LOCKED_AS(held, "k") {
      result += 10;
    }
  else {
    result += 20;
  }
  return result;
}

inline bool nested(bool& inner_again) {
  DISTRIBUTED_LOCKED_AS(outer, "k") {
    DISTRIBUTED_LOCKED("l") {
      DISTRIBUTED_LOCKED_AS(inner, "k") {
        inner_again = inner.reentered();
        return outer.fencing_token() == inner.fencing_token();
      }
    }
  }
}

// Commas in the key, in the options, in both.
inline std::string commas(const order& o, const std::string& user) {
  std::string keys;
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"{o.id}:{u}", "o", "u">(o, user)) { keys += std::string(held.key()) + ' '; }
  DISTRIBUTED_LOCKED_AS(held, "k", {.ttl = 5s, .wait = 2s}) { keys += std::string(held.key()) + ' '; }
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"{u}:{o.id}", "o", "u">(o, user), {.ttl = 5s, .wait = 2s}) {
    keys += held.key();
  }
  DISTRIBUTED_TRY_LOCKED_AS(held, dlock::key<"{o.customer}:{u}", "o", "u">(o, user), {.ttl = 5s, .wait = 2s}) {
    keys += ' ' + std::string(held.key());
  }
  return keys;
}

template <class T>
T in_template(const T& value) {
  DISTRIBUTED_LOCKED_AS(held, dlock::key<"value:{v}">(value)) {
    if constexpr (sizeof(T) > 1) return value;
  }
}

inline std::string in_lambda() {
  const auto locked_call = [](auto value) {
    DISTRIBUTED_LOCKED_AS(held, "k") {
      // A lambda inside may use the lease.
      return [&held, value] { return std::string(held.key()) + std::to_string(value); }();
    }
  };
  return locked_call(7);
}

// A lock is no scope for jumps alone: declarations, loops, empty blocks.
inline int bodies() {
  int result = 0;
  DISTRIBUTED_LOCKED("k") { ++result; }
  DISTRIBUTED_LOCKED("k") {}
  DISTRIBUTED_LOCKED("k") {
    const int local = 5;
    result += local;
  }
  DISTRIBUTED_LOCKED("k") {
    for (int i = 0; i != 3; ++i) result += 10;
  }
  return result;
}

// Lists of keys: the same statement in every way.
inline int returned_from_list(int value) {
  DISTRIBUTED_LOCKED({"k", "l"}) { return value; }
}
inline std::uint64_t fence_from_list(const order& o, const lock_options& options) {
  DISTRIBUTED_LOCKED_AS(held, {dlock::key<"{o.id}:{o.customer}">(o), "l"}, options) {
    return held["l"].fencing_token();
  }
}
inline int tried_list(const std::vector<std::string>& names) {
  DISTRIBUTED_TRY_LOCKED_AS(held, {"k", "l"}, {.ttl = 5s, .wait = 0s}) {
    DISTRIBUTED_TRY_LOCKED_AS(more, names) { return static_cast<int>(held.size() + more.size()); }
    return -1;
  }
  else {
    return -2;
  }
}
inline int list_in_loop_and_if(int count, bool choice) {
  int result = 0;
  for (int i = 0; i != count; ++i) {
    if (choice) DISTRIBUTED_LOCKED({"k", "l"}) {
        if (i == 1) continue;
        if (i == 3) break;
        ++result;
      }
    else
      result += 10;
  }
  return result;
}

// An options variable, a key variable, conversions.
inline int from_variables(const std::string& name, const lock_options& options) {
  const lock_key key(name);
  DISTRIBUTED_LOCKED(key, options) { return 1; }
}

}  // namespace dlock::test

// Hides the real one.
namespace shop::dlock {

inline int in_namespace_of_that_name() {
  DISTRIBUTED_LOCKED("k") {
    DISTRIBUTED_TRY_LOCKED_AS(held, "k", {.ttl = std::chrono::seconds{5}}) { return 1; }
  }
  DISTRIBUTED_LOCKED({"k", "l"}) { return 2; }
}

}  // namespace shop::dlock
