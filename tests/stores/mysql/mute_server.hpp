// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <vector>

namespace dlock::test {

/// A port of 127.0.0.1 where nobody ever answers.
class mute_server {
 public:
  enum class kind {
    silent,     ///< connections are accepted, and then nothing is said
    black_hole  ///< not even that: what is sent there gets lost
  };
  /// Throws std::system_error.
  explicit mute_server(kind which);
  ~mute_server();
  mute_server(const mute_server&) = delete;
  mute_server& operator=(const mute_server&) = delete;

  std::uint16_t port() const noexcept { return port_; }

 private:
  std::vector<int> sockets_{};
  std::uint16_t port_ = 0;
};

}  // namespace dlock::test
