// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <charconv>
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
    text_.append(text).append("\r\n", 2);
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

  /// Room for commands of so many bytes.
  void reserve(std::size_t bytes) { text_.reserve(bytes); }

  std::string_view text() const noexcept { return text_; }
  std::size_t commands() const noexcept { return commands_; }

 private:
  void put(char kind, std::size_t count) {
    std::array<char, 24> head;
    head[0] = kind;
    char* const end = std::to_chars(head.data() + 1, head.data() + 22, count).ptr;
    end[0] = '\r';
    end[1] = '\n';
    text_.append(head.data(), static_cast<std::size_t>(end - head.data()) + 2);
  }

  std::string text_{};
  std::size_t commands_ = 0;
};

}  // namespace dlock::stores::redis
