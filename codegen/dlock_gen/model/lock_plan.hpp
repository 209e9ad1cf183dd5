// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "annotations/key_template.hpp"
#include "annotations/options.hpp"

namespace dlock_gen {

/// A database that a function's lock needs.
struct database_use {
  value_path path{};
  bool given = false;  ///< neither: the generated class or function gets it as a parameter

  friend bool operator==(const database_use& left, const database_use& right) {
    return left.path.text() == right.path.text();
  }
};

/// The row that a DLOCK_LOCKED_ROW locks.
struct row_plan {
  std::string entity{};  ///< the mapped class, spelled fully, or as the author wrote it
  location entity_at{};
  bool entity_exact = false;  ///< it is the author's text, at that place
  value_path id{};
  database_use database{};
};

/// One key of a function: a text, or a row.
struct key_plan {
  key_template text{};
  std::optional<row_plan> row{};
  location where{};  ///< of the macro

  std::string domain() const;
  std::string shown() const;  ///< order:{o.id}, or "row of order: id"
};

enum class busy_action { fail, skip, call };

struct busy_plan {
  busy_action action = busy_action::fail;
  std::string function{};  ///< busy_action::call: the other one's name
  location where{};
  bool of_class = false;
};

/// How one function is locked: what its annotations and those of its class say together.
struct lock_plan {
  std::vector<key_plan> keys{};
  std::vector<option> options{};  ///< fields of lock_options, in their order
  busy_plan busy{};
  std::optional<database_use> verified{};
  location where{};  ///< of the first annotation
};

}  // namespace dlock_gen
