// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace dlock::test {

/// A port for a server that a test starts, none that this process has been given before. It is below those that the
/// system gives to connections, one of which a client might have taken before the server does, and those of
/// scripts/lab_server.sh. Processes begin at different ones.
inline std::uint16_t free_port() {
  static std::atomic<unsigned> given{0};
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const auto port = static_cast<std::uint16_t>(10'000 + (static_cast<unsigned>(::getpid()) * 61 + given++) % 11'000);
    const int at = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int yes = 1;  // as servers do: connections of a former one are no hindrance
    ::setsockopt(at, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const bool bound = ::bind(at, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(at);
    if (bound) return port;
  }
  throw std::runtime_error("no free port");
}

}  // namespace dlock::test
