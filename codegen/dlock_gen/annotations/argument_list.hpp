// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <vector>

#include "source/source_file.hpp"

namespace dlock_gen {

/// One of the arguments of an annotation: `.ttl = 30s`, or a value without a name.
struct argument {
  std::string name{};    ///< "ttl"; empty: it has no name
  located_text value{};  ///< "30s", without blanks around it
  location where{};      ///< of the '.', or of the value
  bool complete = true;  ///< false: it has a name and no '=' behind it
};

/// Splits what stands in the parentheses of an annotation. A comma ends an argument where `.name` follows it, or where
/// it is in no bracket and no named argument came before: so values may have commas of templates in them.
std::vector<argument> split_arguments(const located_text& arguments);

}  // namespace dlock_gen
