// SPDX-License-Identifier: BSL-1.0
#include "dlock/store_interface/id128.hpp"

#include <sys/random.h>

#include <cerrno>
#include <charconv>
#include <system_error>

namespace dlock {

id128 id128::random() {
  id128 id;
  while (!id) {
    // No state is kept, because a forked child and its parent would share it. Up to 256 bytes always come whole.
    const auto got = ::getrandom(id.bytes.data(), id.bytes.size(), 0);
    if (got < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "dlock: no random bytes for a session id");
    }
    if (got != static_cast<ssize_t>(id.bytes.size())) id = id128{};
  }
  return id;
}

std::string id128::hex() const {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(2 * bytes.size(), '0');
  char* at = text.data();
  for (const unsigned char byte : bytes) {
    *at++ = digits[byte >> 4U];
    *at++ = digits[byte & 15U];
  }
  return text;
}

std::optional<id128> id128::parse(std::string_view hex) noexcept {
  id128 id;
  if (hex.size() != 2 * id.bytes.size()) return std::nullopt;
  for (auto& byte : id.bytes) {
    const auto* const end = hex.data() + 2;
    if (std::from_chars(hex.data(), end, byte, 16).ptr != end) return std::nullopt;
    hex.remove_prefix(2);
  }
  return id;
}

}  // namespace dlock
