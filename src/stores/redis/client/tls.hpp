// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>

typedef struct ssl_st SSL;

namespace dlock::stores::redis {

enum class tls_mode { off, require, verify };

/// The encryption of connections. dlock/stores/redis.hpp documents the parameters.
struct tls_settings {
  tls_mode mode = tls_mode::off;
  std::string ca{};
  std::string cert{};
  std::string key{};
};

/// A problem that lasts until an operator changes the settings, or the server.
class lasting_problem : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Why a connection broke; the text is empty if that is unknown.
struct connection_problem {
  std::string text{};
  bool lasts = false;  ///< until an operator changes the settings, or the server
};

/// TLS on a non-blocking socket that it does not own. Not thread-safe.
class tls_session {
 public:
  /// Whether dlock was built with TLS.
  static bool available() noexcept;
  /// `host` is the name in the certificate, with tls_mode::verify. Throws lasting_problem if a file can't be used.
  tls_session(const tls_settings& settings, const std::string& host, int descriptor);

  /// The result of a call. more_*: the socket must become readable or writable first.
  enum class result { done, more_to_read, more_to_write, broken };
  /// Makes the handshake. After broken, problem() has the reason.
  result shake_hands();
  result read(char* into, std::size_t room, std::size_t& got) noexcept;
  result write(const char* text, std::size_t size, std::size_t& sent) noexcept;
  /// Whether received data waits to be read.
  bool pending() const noexcept;
  /// The problem after broken. It lasts if another attempt would end in the same way (a wrong certificate, no TLS
  /// there).
  const connection_problem& problem() const noexcept { return problem_; }

 private:
  struct deleter {
    void operator()(SSL* session) const noexcept;
  };
  result judge(int returned) noexcept;
  void note_problem() noexcept;

  std::unique_ptr<SSL, deleter> session_{};
  connection_problem problem_{};
};

}  // namespace dlock::stores::redis
