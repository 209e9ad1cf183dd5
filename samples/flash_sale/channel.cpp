// SPDX-License-Identifier: GPL-2.0-or-later
#include "channel.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace flash_sale {

channel::channel(channel&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)), taken_(other.taken_) {}

channel::~channel() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool channel::send(std::initializer_list<std::string_view> fields) {
  std::string line;
  for (const auto field : fields) {
    if (!line.empty()) line += '\t';
    for (const char c : field) line += c == '\t' || c == '\n' ? ' ' : c;
  }
  line += '\n';
  for (std::string_view rest = line; !rest.empty();) {
    const auto sent = ::send(descriptor_, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      rest.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EPIPE || errno == ECONNRESET) {
      return false;
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "sending to another process");
    }
  }
  return true;
}

std::optional<message> channel::next() {
  const auto end = buffer_.find('\n', taken_);
  if (end == std::string::npos) {
    buffer_.erase(0, taken_);
    taken_ = 0;
    return std::nullopt;
  }
  message fields(1);
  for (; taken_ < end; ++taken_) {
    if (buffer_[taken_] == '\t') {
      fields.emplace_back();
    } else {
      fields.back() += buffer_[taken_];
    }
  }
  taken_ = end + 1;
  return fields;
}

bool channel::read(bool wait) {
  std::array<char, 16'384> part;
  for (;;) {
    const auto got = ::recv(descriptor_, part.data(), part.size(), wait ? 0 : MSG_DONTWAIT);
    if (got > 0) {
      buffer_.append(part.data(), static_cast<std::size_t>(got));
      if (static_cast<std::size_t>(got) < part.size()) return true;
      wait = false;
    } else if (got == 0 || errno == ECONNRESET) {
      return false;
    } else if (errno == EAGAIN) {
      return true;
    } else if (errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "reading from another process");
    }
  }
}

std::optional<message> channel::receive() {
  for (;;) {
    if (auto got = next()) return got;
    if (!read(true)) return std::nullopt;
  }
}

}  // namespace flash_sale
