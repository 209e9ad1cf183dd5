// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace dlock::stores::redis {

/// Commands as they are sent, one behind the other: the protocol's arrays of strings.
class command_text {
 public:
  /// The next command has so many words, which follow.
  void begin(std::size_t words) {
    put('*', words);
    ++commands_;
  }
  void word(std::string_view text) {
    put('$', text.size());
    text_.append(text);
    text_.append("\r\n");
  }
  void add(std::initializer_list<std::string_view> words) {
    begin(words.size());
    for (const auto each : words) word(each);
  }
  /// One that was made before.
  void add(std::string_view command) {
    text_.append(command);
    ++commands_;
  }

  std::string_view text() const noexcept { return text_; }
  std::size_t commands() const noexcept { return commands_; }

 private:
  void put(char kind, std::size_t count) {
    const fmt::format_int digits(count);
    text_.push_back(kind);
    text_.append(digits.data(), digits.size()).append("\r\n");
  }

  std::string text_{};
  std::size_t commands_ = 0;
};

}  // namespace dlock::stores::redis
