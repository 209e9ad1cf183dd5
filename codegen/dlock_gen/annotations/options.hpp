// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "annotations/annotation.hpp"
#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen {

/// One of the arguments of an annotation: `.ttl = 30s`, or a value without a name.
struct argument {
  std::string name{};    ///< "ttl"; empty if it has no name
  located_text value{};  ///< "30s", without blanks around it
  location where{};      ///< of the '.', or of the value
  bool complete = true;  ///< false if it has a name without '=' after it
};

/// Splits the text in the parentheses of an annotation. A comma ends an argument if `.name` follows it, or if it is in
/// no bracket and no named argument came before; so values may contain commas of templates.
std::vector<argument> split_arguments(const located_text& arguments);

/// An option that the author gave: `.ttl = 30s`.
struct option {
  std::string name{};
  located_text value{};
  location where{};                            ///< of the '.'
  bool of_class = false;                       ///< from DLOCK_DEFAULTS
  std::map<std::string, std::string> names{};  ///< annotation::names
};

/// The fields of dlock::lock_options, in their order.
const std::vector<std::string>& lock_option_fields();
bool is_lock_option(std::string_view name);

/// The options among the arguments of an annotation: known there, given once, with a value. Reports errors in others.
std::vector<option> read_options(const annotation& from, const std::vector<argument>& arguments, diagnostics& out);

/// The value for another scope: `names` are the meanings of its names, except `parameters`. `object` replaces `this`.
std::string in_other_scope(const std::string& value, const std::map<std::string, std::string>& names,
                           const std::vector<std::string>& parameters, const std::string& object);

const option* find_option(const std::vector<option>& options, std::string_view name);

/// `first`, and the options of `second` that it leaves open.
std::vector<option> merged(std::vector<option> first, const std::vector<option>& second);

}  // namespace dlock_gen
