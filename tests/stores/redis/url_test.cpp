// SPDX-License-Identifier: BSL-1.0

/// What a redis:// URL may say, and how its host is connected to.

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "stores/redis/client/protocol.hpp"
#include "stores/redis/client/socket.hpp"
#include "stores/redis/redis_fixtures.hpp"

namespace dlock::test {

TEST_CASE("redis url: what is wrong is named with its value") {
  check_url_refused("redis:///0", "no host and no socket=");
  check_url_refused("redis://host/zero", "database=zero");
  check_url_refused("redis://host/-1", "database=-1");
  check_url_refused("redis://host/0?socket=/run/r", "socket= and a host exclude each other");
  check_url_refused("redis://host/0?persistence=some", "persistence=some is not always, everysec or none");
  check_url_refused("redis://host/0?fences=time", "fences=time is not clock or count");
  check_url_refused("redis://host/0?prefix=a%20b", "prefix=a b");
  check_url_refused("redis://host/0?prefix=", "prefix=");
  check_url_refused("redis://host/0?connect_timeout=0", "connect_timeout=0 is not 1 to 3600000");
  check_url_refused("redis://host/0?statement_timeout=5s", "statement_timeout=5s");
  check_url_refused("redis://host/0?tsl=verify", "unknown parameter 'tsl'");
  check_url_refused("redis://user@host/0", "a user needs a password");
}

TEST_CASE("redis url: a store's name shows no password", "[T71]") {
  const auto name = open_store("redis://me:sesame@host:7000,other/3?persistence=none")->name();
  CHECK(name.find("sesame") == std::string::npos);
  CHECK_THAT(name, ContainsSubstring("redis://me:***@host:7000,other/3"));
}

TEST_CASE("redis answers: an announced array that no server of ours sends takes no memory") {
  stores::redis::answer_reader reader;
  const std::string text = "*999999999\r\n:1\r\n";
  REQUIRE(reader.feed(text.data(), text.size()));
  CHECK_FALSE(reader.next());
  CHECK(reader.broken());
}

TEST_CASE("redis connect: an address that drops everything leaves time for the host's next one") {
  using socket = stores::redis::stream_socket;
  // Its queue is full, so the kernel drops whoever comes.
  const int deaf = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in any{.sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof any;
  REQUIRE(::bind(deaf, reinterpret_cast<sockaddr*>(&any), size) == 0);
  REQUIRE(::listen(deaf, 0) == 0);
  REQUIRE(::getsockname(deaf, reinterpret_cast<sockaddr*>(&any), &size) == 0);
  auto all = socket::look_up("127.0.0.1", ntohs(any.sin_port));
  std::vector<socket> waiting;
  for (int i = 0; i < 4; ++i) waiting.push_back(socket::begin(all.front()));

  const redis_server server;
  all.push_back(socket::look_up("127.0.0.1", server.port()).front());
  const auto until = socket::clock::now() + std::chrono::seconds{8};
  CHECK_NOTHROW(socket::connect(all, {}, {}, until, {}));
  CHECK(socket::clock::now() < until);  // the greeting needs time too
  ::close(deaf);
}

}  // namespace dlock::test
