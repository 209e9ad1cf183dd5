// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen {

/// One step of a path: `.id`, `->id`, `.id()`.
struct path_step {
  bool arrow = false;
  std::string name{};
  bool call = false;
  location where{};  ///< of the '.' or '->'

  std::string text() const;
};

/// The text in braces, or the id of a row: a parameter or `this`, and the steps that follow.
struct value_path {
  std::string head{};
  std::vector<path_step> steps{};
  location where{};
  bool exact = true;  ///< it is written there unchanged, so that its columns are the compiler's

  std::string text() const;
  bool from_object() const noexcept { return head == "this"; }
};

/// A literal text and the value behind it. The last piece may have none.
struct key_piece {
  std::string literal{};
  std::optional<value_path> value{};
};

struct key_template {
  std::vector<key_piece> pieces{};
  std::string text{};  ///< as the author wrote it, for messages: order:{o.id}

  /// The template without its values, which shows what may share a key: order:{}.
  std::string domain() const;
};

/// Reads and checks a template. Returns nothing, after an error, if it is none.
std::optional<key_template> read_template(const located_text& from, diagnostics& out);
/// Reads and checks a path that stands alone.
std::optional<value_path> read_path(const located_text& from, diagnostics& out);

}  // namespace dlock_gen
