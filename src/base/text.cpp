// SPDX-License-Identifier: BSL-1.0
#include "base/text.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace dlock::detail {
namespace {

struct code_point {
  char32_t value;
  std::size_t size;  // in bytes; 0 if it is not well-formed UTF-8
};

// Decodes the first code point of a text that begins with a byte above 0x7f.
code_point decode(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return {0, 0};
  char32_t value = lead & (0xffu >> (size + 1));
  for (std::size_t i = 1; i != size; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0u) != 0x80u) return {0, 0};
    value = value << 6 | (next & 0x3fu);
  }
  const bool overlong = (size == 3 && value < 0x800) || (size == 4 && value < 0x10000);
  const bool surrogate = value >= 0xd800 && value <= 0xdfff;
  return overlong || surrogate || value > 0x10ffff ? code_point{0, 0} : code_point{value, size};
}

// Characters that could make two different keys look alike on a screen, or disturb it.
bool is_deceptive(char32_t c) noexcept {
  return c < 0xa1 || c == 0xad || c == 0x61c || (c >= 0x180b && c <= 0x180f) || (c >= 0x2000 && c <= 0x200f) ||
         (c >= 0x2028 && c <= 0x202f) || (c >= 0x205f && c <= 0x206f) || c == 0x3000 || (c >= 0xfe00 && c <= 0xfe0f) ||
         c == 0xfeff || (c >= 0xfff0 && c <= 0xfffb) || c >= 0xe0000;
}

}  // namespace

std::string printable_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text.front());
    std::size_t used = 1;
    if (byte == '\\') {
      result.append("\\\\");
    } else if (byte >= 0x20 && byte < 0x7f) {
      result.push_back(text.front());
    } else if (const code_point next = byte > 0x7f ? decode(text) : code_point{0, 0};
               next.size != 0 && !is_deceptive(next.value)) {
      result.append(text.substr(0, next.size));
      used = next.size;
    } else {
      fmt::format_to(std::back_inserter(result), "\\x{:02x}", byte);
    }
    text.remove_prefix(used);
  }
  return result;
}

std::string describe_process(std::string_view host, std::int64_t pid, std::string_view label) {
  return fmt::format("{}/{}{}{}", host, pid, label.empty() ? "" : " ", label);
}

}  // namespace dlock::detail
