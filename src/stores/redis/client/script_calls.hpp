// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "stores/redis/client/client.hpp"

namespace dlock::stores::redis {

/// Calls of scripts that are sent in one go.
class script_calls {
 public:
  /// `commands`: so many will be added.
  explicit script_calls(script_connection& on, std::size_t commands = 1) : on_(on) {
    constexpr std::size_t usual = 300;
    text_.reserve(commands * usual);
    begins_.reserve(commands);
  }

  /// `which`: counts the scheme's scripts in their order. `words`: names of `keys` keys, then values.
  template <class Script>
  void add(Script which, std::size_t keys, std::initializer_list<std::string_view> words) {
    add_call(static_cast<std::size_t>(which), keys, {words.begin(), words.size()});
  }
  template <class Script>
  void add(Script which, std::size_t keys, std::span<const std::string_view> words) {
    add_call(static_cast<std::size_t>(which), keys, words);
  }
  /// A plain command.
  void add(std::initializer_list<std::string_view> words);
  /// One answer for each, as redis_connection::ask(). A script that the server does not know is sent to it, and called
  /// again. One that refuses, because another is the primary, is not asked again on this connection.
  std::vector<answer> run();

 private:
  std::vector<answer> run_scripts();
  void add_call(std::size_t script, std::size_t keys, std::span<const std::string_view> words);
  std::string_view command(std::size_t which) const noexcept;

  script_connection& on_;
  command_text text_{};
  std::vector<std::size_t> begins_{};
};

}  // namespace dlock::stores::redis
