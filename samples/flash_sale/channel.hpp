// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flash_sale {

/// A line's fields. Tabs and newlines in them arrive as blanks.
using message = std::vector<std::string>;

/// Messages between coordinator and worker, as lines over a connected socket. Not thread-safe.
class channel {
 public:
  /// Takes the descriptor over.
  explicit channel(int descriptor) noexcept : descriptor_(descriptor) {}
  channel(channel&& other) noexcept;
  channel& operator=(channel&&) = delete;
  ~channel();

  int descriptor() const noexcept { return descriptor_; }
  /// False: nobody is at the other end any more. Throws std::system_error.
  bool send(std::initializer_list<std::string_view> fields);
  /// The next complete message among what was read.
  std::optional<message> next();
  /// Reads what has come, waiting for something if `wait`. False: the other end is closed. Throws std::system_error.
  bool read(bool wait);
  /// next(), waiting for it. None: the other end is closed.
  std::optional<message> receive();

 private:
  int descriptor_;
  std::string buffer_{};
  std::size_t taken_ = 0;  ///< of buffer_
};

}  // namespace flash_sale
