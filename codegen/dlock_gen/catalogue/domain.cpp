// SPDX-License-Identifier: BSL-1.0
#include "catalogue/domain.hpp"

namespace dlock_gen {

namespace {

std::string_view first_segment(std::string_view text) { return text.substr(0, text.find(':')); }
std::string_view behind(std::string_view text, std::string_view segment) {
  return text.size() == segment.size() ? std::string_view() : text.substr(segment.size() + 1);
}

bool has_value(std::string_view segment) { return segment.find("{}") != std::string_view::npos; }

/// "a{}b" may be any text that begins with a and ends with b.
bool may_be(std::string_view with_value, std::string_view other) {
  const auto at = with_value.find("{}");
  const auto front = with_value.substr(0, at);
  const auto back = with_value.substr(at + 2);
  if (has_value(other)) {
    const auto other_at = other.find("{}");
    const auto other_front = other.substr(0, other_at);
    const auto other_back = other.substr(other_at + 2);
    return (front.starts_with(other_front) || other_front.starts_with(front)) &&
           (back.ends_with(other_back) || other_back.ends_with(back));
  }
  return other.size() >= front.size() + back.size() && other.starts_with(front) && other.ends_with(back);
}

bool segments_overlap(std::string_view left, std::string_view right) {
  if (left == right) return true;
  if (has_value(left)) return may_be(left, right);
  return has_value(right) && may_be(right, left);
}

bool is_row(std::string_view domain) { return domain.starts_with("row of "); }

}  // namespace

bool overlap(std::string_view left, std::string_view right) {
  if (left == "?" || right == "?") return false;
  if (is_row(left) || is_row(right)) return left == right;
  for (;;) {
    const auto left_first = first_segment(left);
    const auto right_first = first_segment(right);
    if (!segments_overlap(left_first, right_first)) return false;
    const bool left_ends = left_first.size() == left.size();
    const bool right_ends = right_first.size() == right.size();
    if (left_ends || right_ends) return left_ends && right_ends;
    left = behind(left, left_first);
    right = behind(right, right_first);
  }
}

}  // namespace dlock_gen
