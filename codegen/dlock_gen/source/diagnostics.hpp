// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "source/source_file.hpp"

namespace dlock_gen {

enum class severity { note, warning, error };

struct diagnostic {
  severity level = severity::error;
  location where{};
  std::string text{};
  std::size_t width = 1;  ///< how many bytes from `where` on the message is about
};

/// Errors in the author's files, as a compiler prints them: file:line:column, the line, and a caret.
class diagnostics {
 public:
  void error(location where, std::string text, std::size_t width = 1);
  /// Belongs to the message before it.
  void note(location where, std::string text, std::size_t width = 1);

  std::size_t errors() const noexcept { return errors_; }
  const std::vector<diagnostic>& all() const noexcept { return all_; }
  std::string text() const;

 private:
  std::vector<diagnostic> all_{};
  std::size_t errors_ = 0;
};

/// One message with its line of source and caret, each line ended.
std::string rendered(const diagnostic& what);

/// "; did you mean 'order'?" if one of `known` is spelled nearly as `wrong`, else an empty text.
std::string suggestion(std::string_view wrong, const std::vector<std::string>& known);

}  // namespace dlock_gen
