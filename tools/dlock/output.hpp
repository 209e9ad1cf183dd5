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

/// Rows of text in columns of the necessary width.
class text_table {
 public:
  explicit text_table(std::vector<std::string> head) : rows_{std::move(head)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  bool empty() const noexcept { return rows_.size() == 1; }
  /// One line for each row, with the head. Lines longer than `width` are cut, unless it is 0.
  std::vector<std::string> lines(std::size_t width = 0) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

/// About how many columns a terminal needs for a text in UTF-8: characters of East Asian scripts take two.
std::size_t columns_of(std::string_view text) noexcept;
/// The beginning of the text that fits.
std::string cut(std::string_view text, std::size_t columns);

/// "host/pid label", or for another program the text of its row.
std::string who(const holder_info& holder);
/// "held", "lingers", "dead" or "revoked".
std::string state_of(const holder_info& holder);
const char* kind_of(const holder_info& holder) noexcept;

/// The text itself if it is UTF-8, otherwise as messages show it.
std::string json_text(std::string_view text);
/// Adds "key" if it is UTF-8, and "key_escaped" for --escaped if it is not or no argument can contain it.
void add_key(json& to, std::string_view key);
/// The bytes of a text that `list` has printed. Throws failure.
std::string unescaped(std::string_view printed);

json to_json(const holder_info& holder);
json to_json(const session_info& session);

/// The text with each `from`, which is not empty, replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to);

/// An error's text without "dlock: " at its beginning.
std::string without_name(const std::string& text);

/// Prints one or several lines by one write to the standard output. Throws failure if it can't write.
void print_line(std::string_view text);
void print_json(const json& value);
/// In one line. Characters that a terminal could take for a command are written as \uXXXX.
std::string text_of(const json& value);

}  // namespace dlock::command
