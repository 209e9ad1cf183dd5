// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/text.hpp"

#include <algorithm>
#include <cstdlib>

namespace dlock::stores::mysql {
namespace {

/// Bytes of the code point that begins here, or 0 if none does.
std::size_t code_point_size(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
  for (std::size_t i = 1; i != size; ++i) {
    if ((byte(i) & 0xc0u) != 0x80u) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
  const bool surrogate = lead == 0xed && second > 0x9f;
  const bool too_large = lead == 0xf4 && second > 0x8f;
  return overlong || surrogate || too_large ? 0 : size;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto size = text.front() == '\0' ? 1 : code_point_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

std::string clip_utf8(std::string_view text, std::size_t characters) {
  std::string clipped;
  for (; !text.empty() && characters != 0; --characters) {
    const auto size = code_point_size(text);
    if (size == 0) {
      clipped.push_back('?');
    } else {
      clipped.append(text.substr(0, size));
    }
    text.remove_prefix(std::max<std::size_t>(1, size));
  }
  return clipped;
}

std::string lower_case(std::string_view text) {
  std::string lowered(text);
  for (char& c : lowered) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return lowered;
}

std::string_view bytes_of(const id128& id) noexcept {
  return {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()};
}

id128 id_of(std::string_view bytes) noexcept {
  id128 id;
  if (bytes.size() == id.bytes.size()) std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

std::int64_t integer_of(const std::optional<std::string>& text) noexcept {
  return text ? std::strtoll(text->c_str(), nullptr, 10) : 0;
}

std::uint64_t unsigned_of(const std::optional<std::string>& text) noexcept {
  return text ? std::strtoull(text->c_str(), nullptr, 10) : 0;
}

}  // namespace dlock::stores::mysql
