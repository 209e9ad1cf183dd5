// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/Index.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "clang/translation_unit.hpp"
#include "model/model.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

/// The words of a function's declaration, to write it once more as the author did, rather than as some release of
/// libclang prints it. Names of members of classes, and with `other_namespace` all names, are fully qualified, so that
/// they mean the same in the generated code.
class declared_text {
 public:
  /// `names` are other names for the parameters; none keeps theirs.
  declared_text(const translation_unit& unit, CXCursor function, bool other_namespace,
                const std::vector<std::string>& names);

  /// The type of the result. Returns nothing if the words alone don't show it, as for a function that returns a
  /// function.
  std::optional<std::string> result() const;
  /// A parameter without its default argument, or the default argument alone. Returns nothing for the result of a
  /// macro.
  std::optional<std::string> declaration_of(CXCursor parameter) const;
  std::string default_of(CXCursor parameter) const;
  /// The text after the parameters: "noexcept(...)" as it is written, or empty.
  std::string exception() const;
  bool has_word(std::string_view specifier) const;  ///< before the name, such as "consteval"
  bool is_volatile() const;
  bool has_object_parameter() const;  ///< of C++23: "this order_service& self"
  /// Empty if it has none.
  std::string name_of_parameter(CXCursor parameter, std::size_t number) const;
  /// Whether it names something that depends on the arguments of a class template.
  bool is_dependent() const noexcept { return dependent_; }
  /// A private or protected member of a class that it names, if there is one; a private one first.
  const std::string& inaccessible() const noexcept { return inaccessible_; }
  visibility inaccessible_is() const noexcept { return inaccessible_is_; }

 private:
  struct words {
    std::size_t from = 0;
    std::size_t to = 0;
  };
  void find_parts(std::size_t name_offset);
  void rename_parameters(CXCursor function);
  void look_at(CXCursor entity);
  void collect_names(CXCursor function, bool other_namespace);
  bool is_reference_to_other_scope(CXCursor to, bool other_namespace) const;
  std::optional<words> words_of(CXCursor parameter) const;
  std::optional<std::string> trailing_result() const;
  std::string text(std::size_t from, std::size_t to) const;
  /// Past an attribute, a macro, or another word that is no part of a type; `at` if it is one.
  std::size_t past_other_words(std::size_t at) const;

  const translation_unit& unit_;
  const std::vector<std::string>& parameter_names_;
  std::map<std::size_t, std::string> renamed_{};  ///< parameters, by the offset of their names
  bool dependent_ = false;
  std::string inaccessible_{};
  visibility inaccessible_is_ = visibility::is_public;
  const source_file* file_ = nullptr;
  std::vector<token> tokens_{};
  std::map<std::size_t, std::string> names_{};  ///< by offset: the text of a name
  std::size_t name_ = 0;                        ///< tokens: the name, and the parentheses of the parameters
  std::size_t open_ = 0;
  std::size_t close_ = 0;
  bool readable_ = false;  ///< the words exist; false for the result of a macro
};

}  // namespace dlock_gen
