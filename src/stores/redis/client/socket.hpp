// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/client/tls.hpp"

namespace dlock::stores::redis {

/// Whether a host is named by its address.
bool is_address(const std::string& host) noexcept;

/// A connected stream socket. No call waits past its time limit. Not thread-safe, shut_down() excepted.
class stream_socket {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr clock::time_point no_wait{};

  stream_socket() = default;
  stream_socket(stream_socket&& other) noexcept;
  stream_socket& operator=(stream_socket&& other) noexcept;
  ~stream_socket();

  struct peer {
    sockaddr_storage name{};
    socklen_t size = 0;
  };
  /// All addresses of a host. Throws std::runtime_error. name_lookup bounds how long that takes.
  static std::vector<peer> look_up(const std::string& host, unsigned port);
  /// A socket in the file system. Throws std::runtime_error.
  static peer at_path(const std::string& path);
  /// To the first that answers. Each is given its part of the time: one that drops what it is sent must not use up all
  /// of it. Throws std::runtime_error with what is wrong.
  static stream_socket connect(const std::vector<peer>& all, clock::time_point until, const std::stop_token& cancel);
  /// One that is being connected: when it can be written to, connected() gives the result. Throws
  /// std::runtime_error.
  static stream_socket begin(const peer& to);
  /// Empty: it is connected. Else what is wrong.
  std::string connected() const;
  int descriptor() const noexcept { return descriptor_; }
  /// Everything that follows is encrypted, from when secured() has said done. `host`: whose certificate it must be.
  /// Throws std::runtime_error.
  void begin_tls(const tls_settings& settings, const std::string& host);
  /// Without waiting. broken: and why.
  tls_session::result secured(std::string& why);
  /// Both at once. Throws std::runtime_error.
  void secure(const tls_settings& settings, const std::string& host, clock::time_point until,
              const std::stop_token& cancel);

  /// False: it broke, or there was no room in time; some of it may have been sent.
  bool send(std::string_view text, clock::time_point until) noexcept;
  /// How much has come; 0: the end, or an error. Nothing: none has come in time.
  std::optional<std::size_t> receive(char* into, std::size_t room, clock::time_point until) noexcept;
  /// After receive() has returned 0: the other side has closed the connection.
  bool closed() const noexcept { return closed_; }
  /// Likewise, with TLS: what is wrong with it; an empty text: nothing.
  redis::tls_problem tls_problem() const;
  /// Waits for something to read, there or at `other`, or for the limit.
  void wait_with(int other, std::chrono::milliseconds limit) const noexcept;
  /// Neither closed by the other side nor with something to read that was not asked for.
  bool quiet() const noexcept;
  /// From any thread: what runs returns soon.
  void shut_down() const noexcept;

 private:
  explicit stream_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  /// False: none of `events` has come in time. Throws std::runtime_error if it is cancelled.
  bool wait(short events, clock::time_point until, const std::stop_token& cancel) const;

  int descriptor_ = -1;
  bool closed_ = false;
  std::unique_ptr<tls_session> tls_{};
};

}  // namespace dlock::stores::redis
