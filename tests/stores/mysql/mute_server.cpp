// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/mute_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace dlock::test {

namespace {

int checked(int result, const char* call) {
  if (result < 0) throw std::system_error(errno, std::system_category(), call);
  return result;
}

}  // namespace

mute_server::mute_server(kind which) {
  const auto make = [this](int flags) {
    return sockets_.emplace_back(checked(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0), "socket"));
  };
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  const int listener = make(0);
  checked(::bind(listener, any, size), "bind");
  // The kernel accepts for a program that does not, as many as may wait. With none left it drops what comes.
  checked(::listen(listener, which == kind::silent ? 100 : 0), "listen");
  checked(::getsockname(listener, any, &size), "getsockname");
  port_ = ntohs(address.sin_port);
  if (which == kind::silent) return;
  for (int i = 0; i != 4; ++i) static_cast<void>(::connect(make(SOCK_NONBLOCK), any, size));
}

mute_server::~mute_server() {
  for (const int each : sockets_) ::close(each);
}

}  // namespace dlock::test
