// SPDX-License-Identifier: BSL-1.0
#include "catalogue/hand_written.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "annotations/key_template.hpp"
#include "annotations/string_literal.hpp"
#include "clang/cursor.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

constexpr std::array<std::string_view, 27> takers{"dlock::lock_service::acquire",
                                                  "dlock::lock_service::try_acquire",
                                                  "dlock::lock_service::acquire_all",
                                                  "dlock::lock_service::try_acquire_all",
                                                  "dlock::lock_service::with_lock",
                                                  "dlock::lock_service::try_with_lock",
                                                  "dlock::lock_service::with_locks",
                                                  "dlock::lock_service::try_with_locks",
                                                  "dlock::lock_service::async_acquire",
                                                  "dlock::lock_service::async_try_acquire",
                                                  "dlock::lock_service::async_acquire_all",
                                                  "dlock::lock_service::async_try_acquire_all",
                                                  "dlock::asio::service::async_acquire",
                                                  "dlock::asio::service::async_try_acquire",
                                                  "dlock::asio::service::async_acquire_all",
                                                  "dlock::asio::service::async_try_acquire_all",
                                                  "dlock::asio::service::async_with_lock",
                                                  "dlock::asio::service::async_with_locks",
                                                  "dlock::lock_service::locked",
                                                  "dlock::lock_service::locked_or_skip",
                                                  "dlock::detail::hold",
                                                  "dlock::detail::try_hold",
                                                  "dlock::detail::hold_row",
                                                  "dlock::detail::hold_row_unread",
                                                  "dlock::lock_row",
                                                  "dlock::try_lock_row",
                                                  "dlock::claim"};

/// "{o.id}" of a template becomes "{}".
std::string domain_of(std::string_view text) {
  std::string all;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto close = text[at] == '{' ? text.find('}', at) : std::string_view::npos;
    if (close == std::string_view::npos || (at + 1 < text.size() && text[at + 1] == '{')) {
      all += text[at];
    } else {
      all += "{}";
      at = close;
    }
  }
  return all;
}

/// The words of a call, from its first one to the parenthesis that ends it.
class call_words {
 public:
  call_words(const source_file& file, std::size_t offset, std::string_view name) {
    constexpr std::size_t longest = 4096;
    words_ = split(file.text(), offset, std::min(file.text().size(), offset + longest));
    std::size_t at = 0;
    while (at < words_.size() && !words_[at].is(name) && !words_[at].text.starts_with("DISTRIBUTED_")) ++at;
    name_ = at;
    while (at < words_.size() && !words_[at].is("(")) ++at;
    open_ = at;
    end_ = at < words_.size() ? std::min(words_.size(), closing(words_, at)) : at;
  }

  std::vector<listed_key> keys() const {
    std::vector<listed_key> found;
    add_template_arguments(found);
    if (found.empty()) add_first_argument(found);
    if (found.empty()) found.push_back({"?", "?"});
    return found;
  }

 private:
  bool is_row_call() const {
    return name_ < words_.size() &&
           (words_[name_].is("lock_row") || words_[name_].is("try_lock_row") || words_[name_].is("claim"));
  }
  bool is_row_macro() const {
    return name_ < words_.size() && words_[name_].text.starts_with("DISTRIBUTED_LOCKED_ROW");
  }

  /// locked<"order:{o.id}", "o">(...), lock_row<order>(...)
  void add_template_arguments(std::vector<listed_key>& into) const {
    if (name_ + 2 >= open_ || !words_[name_ + 1].is("<")) return;
    const auto& first = words_[name_ + 2];
    if (first.kind == token_kind::text) add_text(first, into);
    if (is_row_call()) add_row(name_ + 2, open_ - 1, into);
  }
  void add_text(const token& word, std::vector<listed_key>& into) const {
    const auto open = word.text.find('"');
    const auto close = word.text.rfind('"');
    const auto text = std::string(word.text.substr(open + 1, close - open - 1));
    into.push_back({text, domain_of(text)});
  }
  void add_row(std::size_t from, std::size_t to, std::vector<listed_key>& into) const {
    std::string name;
    for (auto at = from; at < to; ++at) name += words_[at].text;
    if (name.starts_with("::")) name.erase(0, 2);
    into.push_back({"row of " + name, "row of " + name});
  }

  /// The first argument that is a key; arguments before it are a lease or a service.
  void add_first_argument(std::vector<listed_key>& into) const {
    std::size_t number = 0;
    for (auto from = open_ + 1; from < end_ && into.empty(); ++number) {
      const auto to = argument_end(from);
      if (is_row_macro()) {
        const std::size_t wanted = words_[name_].text.ends_with("_AS") ? 1 : 0;
        if (number == wanted) add_row(from, to, into);
      } else if (!words_[from].is("[")) {
        add_keys(from, to, into);
      }
      from = to + 1;
    }
  }
  std::size_t argument_end(std::size_t from) const {
    auto at = from;
    int angles = 0;
    while (at < end_) {
      if (words_[at].is(",") && angles == 0) break;
      if (words_[at].is("<")) ++angles;
      if (words_[at].is(">") && angles > 0) --angles;
      const auto text = words_[at].text;
      const bool opens = text == "(" || text == "[" || text == "{";
      at = (opens ? std::min(closing(words_, at), end_ - 1) : at) + 1;
    }
    return std::min(at, end_);
  }
  void add_keys(std::size_t from, std::size_t to, std::vector<listed_key>& into) const {
    for (auto at = from; at < to; ++at) {
      if (words_[at].is("row") && at + 1 < to && words_[at + 1].is("<")) {
        auto close = at + 2;
        while (close < to && !words_[close].is(">")) ++close;
        add_row(at + 2, close, into);
      } else if (words_[at].kind == token_kind::text) {
        add_text(words_[at], into);
        // Skips the names after a pattern: key<"order:{o.id}", "o">.
        while (at + 2 < to && words_[at + 1].is(",") && words_[at + 2].kind == token_kind::text && is_pattern(from, at))
          at += 2;
        if (at + 1 < to && words_[at + 1].is(">") && at + 2 < to && words_[at + 2].is("("))
          at = std::min(to, closing(words_, at + 2));
      }
    }
  }
  bool is_pattern(std::size_t from, std::size_t at) const {
    for (auto back = at; back > from; --back) {
      if (words_[back - 1].is("<")) return back >= 2 && words_[back - 2].is("key");
      if (words_[back - 1].kind != token_kind::text && !words_[back - 1].is(",")) return false;
    }
    return false;
  }

  std::vector<token> words_{};
  std::size_t name_ = 0;
  std::size_t open_ = 0;
  std::size_t end_ = 0;
};

}  // namespace

bool runs_a_function(CXCursor callee) {
  const auto name = name_of(callee);
  return name.find("with_lock") != std::string::npos || name.starts_with("locked");
}

std::optional<listed_lock> read_hand_written(const translation_unit& unit, CXCursor call, CXCursor callee) {
  const auto name = qualified_name(callee);
  if (std::find(takers.begin(), takers.end(), name) == takers.end()) return std::nullopt;
  const auto place = unit.begin_of(call);
  if (place.file == nullptr) return std::nullopt;
  listed_lock made;
  made.annotation = false;
  made.place = listed_place::of(place);
  made.keys = call_words(*place.file, place.offset, name_of(callee)).keys();
  made.waits = name.find("try_") == std::string::npos && !name.ends_with("or_skip") && name != "dlock::claim";
  made.busy = made.waits ? "throw" : "skip";
  return made;
}

}  // namespace dlock_gen
