// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/Index.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "clang/translation_unit.hpp"

namespace dlock_gen {

/// Finds the meanings of names in an annotation. The generated code is in another scope, where the same name may mean
/// something else.
class name_lookup {
 public:
  explicit name_lookup(const translation_unit& unit) : unit_(unit) {}

  /// Sets annotation::names. `members` is the class that they are in. `seen_by` is the class that code is generated
  /// from: that one, or one that derives from it.
  void resolve(std::vector<annotation>& annotations, CXCursor members, CXCursor seen_by);

 private:
  using name_table = std::multimap<std::string, CXCursor, std::less<>>;

  /// `before_scope`: "::" follows the name, so it means only a scope.
  CXCursor find(std::string_view name, CXCursor scope, bool before_scope);
  static CXCursor find_in_class(std::string_view name, CXCursor members, bool before_scope);
  const name_table& names_in(CXCursor name_space);
  static void read_parts(CXCursor parent, bool inside, const std::string& usr, name_table& into);

  const translation_unit& unit_;
  std::map<std::string, name_table> namespaces_{};  ///< by USR
};

}  // namespace dlock_gen
