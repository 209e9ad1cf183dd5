// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock/detail/sha256.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/observer.hpp"

namespace dlock::detail {

/// Replaces a key that must not be shown. Equal keys look equal.
inline std::string hashed_key(std::string_view key) { return "sha256:" + sha256_hex(key).substr(0, 16); }

/// The event's text without its keys. The text of a store or a handler may name other keys, usually in quotes, so
/// quoted words are hashed as well.
inline std::string text_without_keys(const event& event) {
  std::vector<std::pair<std::string, std::string>> hidden;  // as it may be written, and its hash
  const auto hide = [&](std::string_view key) {
    if (key.empty()) return;
    hidden.emplace_back(printable_text(key), hashed_key(key));
    hidden.emplace_back(key, hidden.back().second);
  };
  hide(event.key);
  for (const auto key : event.keys) hide(key);
  std::sort(hidden.begin(), hidden.end(), [](const auto& a, const auto& b) { return a.first.size() > b.first.size(); });
  std::string text;
  for (auto rest = event.text; !rest.empty();) {
    const auto found =
        std::find_if(hidden.begin(), hidden.end(), [&](const auto& each) { return rest.starts_with(each.first); });
    text += found != hidden.end() ? found->second : std::string(1, rest.front());
    rest.remove_prefix(found != hidden.end() ? found->first.size() : 1);
  }
  const auto in_word = [&](std::size_t at) {
    const auto c = at < text.size() ? static_cast<unsigned char>(text[at]) : static_cast<unsigned char>(' ');
    return c >= 0x80 || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  for (std::size_t open = 0; (open = text.find_first_of("'\"", open)) != std::string::npos; ++open) {
    if (open != 0 && in_word(open - 1)) continue;  // an apostrophe
    std::size_t close = open;
    do {
      close = text.find(text[open], close + 1);
    } while (close != std::string::npos && in_word(close + 1));
    if (close == std::string::npos) continue;
    const auto quoted = text.substr(open + 1, close - open - 1);
    const bool is_hash =
        std::any_of(hidden.begin(), hidden.end(), [&](const auto& each) { return each.second == quoted; });
    const auto shown = is_hash ? quoted : hashed_key(quoted);
    text.replace(open + 1, quoted.size(), shown);
    open += shown.size() + 1;
  }
  return text;
}

/// What an observer shows of an event's key and text.
struct shown_texts {
  std::string key{};
  std::string text{};
  shown_texts(const event& event, bool hash_keys)
      : key(event.key.empty() || !hash_keys ? std::string(event.key) : hashed_key(event.key)),
        text(hash_keys ? text_without_keys(event) : std::string(event.text)) {}
};

/// Adds the fields that an event of its kind has besides key, fence and text, as observer.hpp lists them.
template <class Line>
void add_details(Line& to, const event& event) {
  using kind = event::kind;
  switch (event.what) {
    case kind::granted:
      to.add("waited_us", event.waited);
      to.add("attempts", std::uint64_t{event.attempts});
      to.add("taken_over", event.taken_over);
      break;
    case kind::busy: to.add("waited_us", event.waited); break;
    case kind::released: to.add("held_us", event.held); break;
    case kind::lost:
      to.add("held_us", event.held);
      to.add("reason", to_string(event.reason));
      break;
    case kind::session_lost: to.add("reason", to_string(event.reason)); break;
    case kind::cleanup: to.add("rows", std::uint64_t{event.attempts}); break;
    default: break;
  }
}

}  // namespace dlock::detail
