// SPDX-License-Identifier: BSL-1.0
#include "support/zookeeper_server.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "support/calls.hpp"
#include "support/server_process.hpp"

namespace dlock::test {

namespace {

sockaddr_in local(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

/// Until a server answers: java alone takes half a second.
constexpr std::chrono::seconds timeout{60};

}  // namespace

zookeeper_server::zookeeper_server(std::vector<std::string> settings) : settings_(std::move(settings)) {
  for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take the port
    port_ = free_port();
    start();
    if (comes_up()) return;
    kill();
  }
  throw std::runtime_error("ZooKeeper does not start; is it installed? ./dev setup does that");
}

zookeeper_server::zookeeper_server(int number, std::vector<std::string> settings)
    : settings_(std::move(settings)), number_(number), port_(free_port()) {}

std::string zookeeper_server::address() const { return fmt::format("127.0.0.1:{}", port_); }

std::string zookeeper_server::url(const std::string& parameters) const {
  return fmt::format("zookeeper://{}/{}{}", address(), parameters.empty() ? "" : "?", parameters);
}

void zookeeper_server::configure() const {
  std::filesystem::create_directory(folder_ / "data");
  if (number_ > 0) std::ofstream(folder_ / "data/myid") << number_ << '\n';
  std::ofstream file(folder_ / "zoo.cfg");
  file << "dataDir=" << (folder_ / "data") << "\nclientPort=" << port_
       << "\nclientPortAddress=127.0.0.1\ntickTime=100\ninitLimit=300\nsyncLimit=100\nadmin.enableServer=false\n"
          "maxClientCnxns=0\nforceSync=no\n4lw.commands.whitelist=*\nmaxSessionTimeout=1000000000\n";
  for (const auto& each : settings_) file << each << '\n';
}

void zookeeper_server::start() {
  configure();
  const std::string main = number_ > 0 ? "quorum.QuorumPeerMain" : "ZooKeeperServerMain";
  run({"java", "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dzookeeper.preAllocSize=64", "-cp",
       "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-nop.jar", "org.apache.zookeeper.server." + main,
       folder_ / "zoo.cfg"},
      folder_ / "log");
}

bool zookeeper_server::comes_up() {
  bool up = false;
  static_cast<void>(eventually(
      [&] {
        // It says "imok" before it serves, and then takes no notice of a client that asks for a session.
        // And it may be another one, of a test that has got the same port.
        up = runs() && !role().empty() && try_ask("conf").find(folder_ / "data") != std::string::npos;
        return up || !runs();
      },
      timeout));
  return up;
}

void zookeeper_server::wait() {
  if (comes_up()) return;
  throw std::runtime_error("ZooKeeper does not answer");
}

std::string zookeeper_server::try_ask(const std::string& word) const {
  const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = local(port_);
  const timeval timeout{.tv_sec = 0, .tv_usec = 50'000};
  ::setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
  std::string text;
  bool whole = false;  // only its end says that it is: half a list of nodes would look like a list of fewer
  if (::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::send(to, word.data(), word.size(), MSG_NOSIGNAL) > 0) {
    char part[4096];
    auto size = ::recv(to, part, sizeof part, 0);
    for (; size > 0; size = ::recv(to, part, sizeof part, 0)) text.append(part, static_cast<std::size_t>(size));
    whole = size == 0;
  }
  ::close(to);
  return whole ? text : std::string{};
}

std::string zookeeper_server::ask(const std::string& word) const {
  std::string text;
  if (!eventually([&] { return !(text = try_ask(word)).empty(); }, std::chrono::seconds{30})) {
    throw std::runtime_error("ZooKeeper does not answer to " + word);
  }
  return text;
}

std::string zookeeper_server::role() const {
  const auto text = try_ask("srvr");
  const auto at = text.find("Mode: ");
  return at == std::string::npos ? "" : text.substr(at + 6, text.find('\n', at) - at - 6);
}

zookeeper_ensemble::zookeeper_ensemble(int size) {
  for (int attempt = 1;; ++attempt) {  // somebody else may take a port
    try {
      begin(size);
      return;
    } catch (const std::runtime_error&) {
      if (attempt == 5) throw;
    }
  }
}

void zookeeper_ensemble::begin(int size) {
  servers_.clear();
  std::vector<std::string> lines;
  for (int i = 1; i <= size; ++i) {
    lines.push_back(fmt::format("server.{}=127.0.0.1:{}:{}", i, free_port(), free_port()));
  }
  for (int i = 1; i <= size; ++i) servers_.push_back(std::make_unique<zookeeper_server>(i, lines));
  for (const auto& each : servers_) each->start();
  for (const auto& each : servers_) each->wait();
}

std::string zookeeper_ensemble::url(const std::string& parameters) const {
  std::string all;
  for (const auto& each : servers_) all += (all.empty() ? "" : ",") + each->address();
  return fmt::format("zookeeper://{}/{}{}", all, parameters.empty() ? "" : "?", parameters);
}

std::size_t zookeeper_ensemble::leader() const {
  std::size_t found = 0;
  const bool there = eventually(
      [&] {
        for (found = 0; found != servers_.size(); ++found) {
          if (servers_[found]->role() == "leader") return true;
        }
        return false;
      },
      timeout);
  if (!there) throw std::runtime_error("no leader");
  return found;
}

}  // namespace dlock::test
