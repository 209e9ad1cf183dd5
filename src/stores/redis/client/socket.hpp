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

/// A connected stream socket. No call waits past its time limit. Not thread-safe, except shut_down().
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
  /// Looks up all addresses of a host. Throws std::runtime_error. name_lookup bounds how long that takes.
  static std::vector<peer> look_up(const std::string& host, unsigned port);
  /// A socket in the file system. Throws std::runtime_error.
  static peer at_path(const std::string& path);
  /// Connects to the first address that answers, encrypted if `tls` says so; `host` is the name in the certificate.
  /// Each address gets a share of the time, so that one that drops packets does not use up all of it. Throws
  /// std::runtime_error with the reason.
  static stream_socket connect(const std::vector<peer>& all, const tls_settings& tls, const std::string& host,
                               clock::time_point until, const std::stop_token& cancel);
  /// Begins to connect without waiting. Throws std::runtime_error.
  static stream_socket begin(const peer& to);
  /// Called when the socket is writable after begin(), and then when the events that this returned have come. Returns
  /// the events that poll() must wait for now, or 0 if it is connected. Throws as connect().
  short go_on(const tls_settings& tls, const std::string& host);
  int descriptor() const noexcept { return descriptor_; }

  /// Returns false if the socket broke, or its buffer was full for too long; some of the text may have been sent.
  bool send(std::string_view text, clock::time_point until) noexcept;
  /// Returns how many bytes came, 0 at the end or after an error, or nothing if none came in time.
  std::optional<std::size_t> receive(char* into, std::size_t room, clock::time_point until) noexcept;
  /// What went wrong, after receive() has returned 0.
  connection_problem problem() const;
  /// After receive() has returned 0 without TLS: the other side has closed the connection.
  bool closed() const noexcept { return closed_; }
  /// Whether there is something to read, or the end. Waits for that, or until `other` is readable, or for the limit.
  bool readable(std::chrono::milliseconds limit, int other = -1) const noexcept;
  /// Makes running calls return soon. From any thread.
  void shut_down() const noexcept;

 private:
  explicit stream_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  /// Returns false if none of `events` came in time. Throws std::runtime_error if it is cancelled.
  bool wait(short events, clock::time_point until, const std::stop_token& cancel) const;
  void bound_receive(clock::time_point until) noexcept;

  int descriptor_ = -1;
  bool blocks_ = false;  // recv() itself waits, which is faster than poll() and recv(); not with TLS
  int receive_ms_ = 0;   // the kernel's present time limit of recv()
  bool closed_ = false;
  std::unique_ptr<tls_session> tls_{};
};

}  // namespace dlock::stores::redis
