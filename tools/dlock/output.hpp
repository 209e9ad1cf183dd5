// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/holder_info.hpp"
#include "dlock/store_interface/store_overview.hpp"

namespace dlock::command {

using json = nlohmann::ordered_json;

/// Rows of text in columns that are as wide as they must be.
class text_table {
 public:
  explicit text_table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const noexcept { return rows_.size() == 1; }
  /// One line for each, the head among them. `width`: longer lines are cut; 0: none is.
  std::vector<std::string> lines(std::size_t width = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// Columns that a terminal needs to show a text in UTF-8, about: characters of East Asian scripts take two.
std::size_t columns_of(std::string_view text) noexcept;
/// The text without what does not fit.
std::string cut(std::string_view text, std::size_t columns);

/// "host/pid label"; of another program what its row says.
std::string who(const holder_info& holder);
/// "held", "dead" or "revoked".
std::string state_of(const holder_info& holder);
const char* kind_of(const holder_info& holder) noexcept;

/// The text itself, where it is UTF-8; else as messages show it.
std::string json_text(std::string_view text);
/// "key", where it is UTF-8; and "key_escaped", which --escaped takes, where it is not or no argument can hold it.
void add_key(json& to, std::string_view key);
/// The bytes of a text that list has printed. Throws failure.
std::string unescaped(std::string_view printed);

json to_json(const holder_info& holder);
json to_json(const session_info& session);

/// The text with each `from`, which is not empty, replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// An error's text without "dlock: " at its beginning.
std::string without_name(const std::string& text);

/// Prints a line or several, with one write, to the standard output. Throws failure if that can't be written to.
void print_line(std::string_view text);
void print_json(const json& value);
/// In one line. What a terminal could take for a command is written as \uXXXX.
std::string text_of(const json& value);

}  // namespace dlock::command
