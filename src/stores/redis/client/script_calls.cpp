// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/script_calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stores/redis/client/errors.hpp"

namespace dlock::stores::redis {

void script_calls::add_call(std::size_t script, std::size_t keys, std::span<const std::string_view> words) {
  begins_.push_back(text_.text().size());
  text_.begin(words.size() + 3);
  text_.word("EVALSHA");
  text_.word(on_.hashes[script]);
  text_.word(fmt::format_int(keys).c_str());
  for (const auto each : words) text_.word(each);
}

void script_calls::add(std::initializer_list<std::string_view> words) {
  begins_.push_back(text_.text().size());
  text_.add(words);
}

std::string_view script_calls::command(std::size_t which) const noexcept {
  const auto all = text_.text();
  const auto end = which + 1 < begins_.size() ? begins_[which + 1] : all.size();
  return all.substr(begins_[which], end - begins_[which]);
}

std::vector<answer> script_calls::run() {
  auto answers = run_scripts();
  const auto elsewhere = [](const answer& each) { return each.is_error() && is_elsewhere(each.text()); };
  if (std::any_of(answers.begin(), answers.end(), elsewhere)) on_.is_refused();
  return answers;
}

std::vector<answer> script_calls::run_scripts() {
  auto answers = on_.ask(text_);
  command_text again;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].is_error() || !is_unknown_script(answers[i].text())) continue;
    if (which.empty()) {
      for (const auto& text : on_.scripts) again.add({"SCRIPT", "LOAD", text});
    }
    again.add(command(i));
    which.push_back(i);
  }
  if (which.empty()) return answers;
  auto response = on_.ask(again);
  for (std::size_t i = 0; i < which.size(); ++i) answers[which[i]] = std::move(response[on_.scripts.size() + i]);
  return answers;
}

}  // namespace dlock::stores::redis
