// SPDX-License-Identifier: BSL-1.0
#include "annotations/argument_list.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

class argument_splitter {
 public:
  explicit argument_splitter(const located_text& from) : from_(from), tokens_(split(from.text)) {}

  std::vector<argument> run() {
    std::size_t first = 0;
    while (first < tokens_.size()) {
      const auto end = end_of(first);
      found_.push_back(made_of(first, end));
      named_ = named_ || !found_.back().name.empty();
      first = end + 1;
    }
    return std::move(found_);
  }

 private:
  bool is_option(std::size_t at) const {
    return at + 1 < tokens_.size() && tokens_[at].is(".") && tokens_[at + 1].kind == token_kind::name;
  }
  std::size_t end_of(std::size_t first) const {
    const bool named = named_ || is_option(first);
    auto at = first;
    while (at < tokens_.size()) {
      if (tokens_[at].is(",") && (!named || is_option(at + 1))) break;
      const auto text = tokens_[at].text;
      const bool opens = text == "(" || text == "[" || text == "{" || text == "[[";
      at = (opens ? std::min(closing(tokens_, at), tokens_.size() - 1) : at) + 1;
    }
    return at;
  }
  argument made_of(std::size_t first, std::size_t end) const {
    argument made;
    made.where = from_.at(first < tokens_.size() ? tokens_[first].begin : from_.text.size());
    auto value = first;
    if (is_option(first)) {
      made.name = tokens_[first + 1].text;
      made.complete = first + 2 < end && tokens_[first + 2].is("=");
      value = std::min(end, first + (made.complete ? 3 : 2));
    }
    if (value < end) {
      made.value = from_.part(tokens_[value].begin, tokens_[end - 1].end);
    } else {
      made.value = {{}, from_.at(first < end ? tokens_[end - 1].end : tokens_[first].begin), from_.exact};
    }
    return made;
  }

  const located_text& from_;
  std::vector<token> tokens_;
  std::vector<argument> found_{};
  bool named_ = false;
};

}  // namespace

std::vector<argument> split_arguments(const located_text& arguments) { return argument_splitter(arguments).run(); }

}  // namespace dlock_gen
