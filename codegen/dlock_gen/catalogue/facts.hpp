// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clang/translation_unit.hpp"
#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen {

/// A place that outlives its translation unit.
struct listed_place {
  std::string file{};
  unsigned line = 0;
  unsigned column = 0;
  std::string text{};  ///< of the line

  static listed_place of(const location& where);
  friend bool operator<(const listed_place& left, const listed_place& right) {
    return std::tie(left.file, left.line, left.column) < std::tie(right.file, right.line, right.column);
  }
};

struct listed_key {
  std::string shown{};
  std::string domain{};
};

/// A lock that a function takes: by its annotations, or by a call of dlock in it.
struct listed_lock {
  std::string function{};  ///< "shop::order_service::place(const order &, const user &)"
  listed_place place{};
  std::vector<listed_key> keys{};
  std::vector<std::pair<std::string, std::string>> options{};
  std::string busy = "throw";
  std::string verified{};
  bool waits = true;  ///< for a busy key; otherwise it can't be part of a deadlock
  bool annotation = true;
  listed_place until{};  ///< for a lock by a call: where it ends at the latest
  bool wrapper = true;   ///< for a class: calls on its own object bypass the generated class
};

struct listed_call {
  std::string callee{};  ///< USR
  std::string callee_name{};
  listed_place place{};
  bool dynamic = false;  ///< a virtual call
  bool own_object = false;
};

/// A function whose body was read.
struct listed_function {
  std::string name{};
  listed_place place{};
  bool generated = false;  ///< by dlock-gen
  std::vector<listed_call> calls{};
  std::vector<listed_lock> locks{};  ///< by calls of dlock, in their order
};

/// Facts from all sources that were read. Functions are identified by their USR.
struct code_facts {
  std::map<std::string, listed_lock> annotated{};
  std::map<std::string, listed_function> functions{};
  std::map<std::string, std::set<std::string>> overridden{};  ///< by a function: the ones of its bases
  std::map<std::string, std::set<std::string>> overriders{};
};

/// Adds the facts of a source: annotated functions, bodies, and calls. Reports errors in annotations to `out`.
void read_facts(const translation_unit& unit, code_facts& into, diagnostics& out);

}  // namespace dlock_gen
