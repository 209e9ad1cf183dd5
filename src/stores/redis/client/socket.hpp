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

/// A connected stream socket. No call waits past its time limit. Not thread-safe, shut_down() excepted.
class stream_socket {
 public:
  using clock = std::chrono::steady_clock;
  static constexpr clock::time_point no_wait{};

  stream_socket() = default;
  stream_socket(stream_socket&& other) noexcept { *this = std::move(other); }
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
  /// To the first that answers, encrypted if `tls` says so. `host`: whose certificate it must have. Each is given its
  /// part of the time: one that drops what it is sent must not use up all of it. Throws std::runtime_error with what is
  /// wrong.
  static stream_socket connect(const std::vector<peer>& all, const tls_settings& tls, const std::string& host,
                               clock::time_point until, const std::stop_token& cancel);
  /// The same in steps that don't wait. Throws std::runtime_error.
  static stream_socket begin(const peer& to);
  /// When begin() has made it writable, and after that when what this has returned has come: what poll() must wait for
  /// now. 0: it is connected. Throws as connect().
  short go_on(const tls_settings& tls, const std::string& host);
  int descriptor() const noexcept { return descriptor_; }

  /// False: it broke, or there was no room in time; some of it may have been sent.
  bool send(std::string_view text, clock::time_point until) noexcept;
  /// How much has come; 0: the end, or an error. Nothing: none has come in time.
  std::optional<std::size_t> receive(char* into, std::size_t room, clock::time_point until) noexcept;
  /// After receive() has returned 0.
  connection_problem problem() const;
  /// Likewise, without TLS: the other side has closed the connection.
  bool closed() const noexcept { return closed_; }
  /// Whether there is something to read, or the end. Waits for that, or for something at `other`, or for the limit.
  bool readable(std::chrono::milliseconds limit, int other = -1) const noexcept;
  /// From any thread: what runs returns soon.
  void shut_down() const noexcept;

 private:
  explicit stream_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  /// False: none of `events` has come in time. Throws std::runtime_error if it is cancelled.
  bool wait(short events, clock::time_point until, const std::stop_token& cancel) const;
  void bound_receive(clock::time_point until) noexcept;

  int descriptor_ = -1;
  bool blocks_ = false;  // recv() waits by itself, which is quicker than poll() and recv(): without TLS
  int receive_ms_ = 0;   // for so long, as the kernel has it
  bool closed_ = false;
  std::unique_ptr<tls_session> tls_{};
};

}  // namespace dlock::stores::redis
