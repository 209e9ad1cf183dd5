// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <chrono>
#include <stop_token>
#include <string>
#include <string_view>

namespace dlock::stores::redis {

/// A connected stream socket. Every call ends by its time limit. Not thread-safe, shut_down() excepted.
class stream_socket {
 public:
  using clock = std::chrono::steady_clock;

  stream_socket() = default;
  stream_socket(stream_socket&& other) noexcept;
  stream_socket& operator=(stream_socket&& other) noexcept;
  ~stream_socket();

  /// Throws std::runtime_error with what is wrong. Looking up the host's name may take longer than `until`.
  static stream_socket connect(const std::string& host, unsigned port, clock::time_point until,
                               const std::stop_token& cancel);
  static stream_socket connect(const std::string& path, clock::time_point until, const std::stop_token& cancel);

  /// How long the following wait at most.
  void set_patience(std::chrono::milliseconds patience);
  /// False: it broke, or nothing went for so long; some of it may have been sent.
  bool send(std::string_view text) noexcept;
  /// Waits for something to read. How much it was; 0: the end, an error, or nothing for so long.
  std::size_t receive(char* into, std::size_t room) noexcept;
  /// Waits for something to read, there or at `other`, or for the limit.
  void wait_with(int other, std::chrono::milliseconds limit) const noexcept;
  /// Neither closed by the other side nor with something to read that nobody asked for.
  bool quiet() const noexcept;
  /// From any thread: what runs returns soon.
  void shut_down() const noexcept;

 private:
  explicit stream_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  void begin_connecting(const void* address, unsigned size);
  /// Empty: connected.
  std::string finish_connecting(clock::time_point until, const std::stop_token& cancel);

  int descriptor_ = -1;
};

}  // namespace dlock::stores::redis
