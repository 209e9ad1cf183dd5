// SPDX-License-Identifier: BSL-1.0
#include "support/own_server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <filesystem>

#include "support/calls.hpp"
#include "support/mysql_fixture.hpp"
#include "support/stopped_process.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

/// The value in a line `export NAME='value'`.
std::string exported(const std::string& text, const std::string& name) {
  const auto mark = "export " + name + "='";
  const auto begin = text.find(mark);
  if (begin == std::string::npos) throw std::runtime_error("no " + name + " in: " + text);
  return text.substr(begin + mark.size(), text.find('\'', begin + mark.size()) - begin - mark.size());
}

}  // namespace

own_server::own_server(std::string name, std::string options) : name_(std::move(name)), options_(std::move(options)) {
  try {
    start();
  } catch (const std::runtime_error&) {
    // A server that a test killed may not recover (MariaDB 10.11: "Data structure corruption"), and must not take the
    // next tests with it.
    script("wipe");
    start();
  }
  raw_mysql owner(url());
  owner.run("DROP DATABASE locks");
  owner.run("CREATE DATABASE locks");
}

own_server::~own_server() {
  try {
    script("down");
  } catch (const std::exception& e) {
    WARN("the test's server may still run: " << e.what());
  }
}

std::string own_server::url() const { return "mysql://dlock_owner:owner-pw@/locks?socket=" + socket_; }

std::string own_server::script(const std::string& verb) const {
  // The server ends with this process, however that ends. Without a port it is the same server after a restart.
  const auto command =
      fmt::format("DLOCK_LAB_DIR='{}' DLOCK_LAB_NAME={} DLOCK_LAB_OPTIONS='{}' DLOCK_LAB_OWNER_PID={} bash '{}' {}",
                  DLOCK_TEST_SERVER_FOLDER, name_, options_, ::getpid(), DLOCK_TEST_SERVER_SCRIPT, verb);
  std::FILE* const output = ::popen(command.c_str(), "re");
  if (output == nullptr) throw std::runtime_error("cannot run " + command);
  std::string text;
  std::array<char, 1024> buffer{};
  while (const auto size = std::fread(buffer.data(), 1, buffer.size(), output)) text.append(buffer.data(), size);
  if (::pclose(output) != 0) throw std::runtime_error(command + " failed: " + text);
  return text;
}

void own_server::start() {
  const auto text = script("up");
  pid_ = std::stoi(exported(text, "DLOCK_TEST_MYSQL_PID"));
  port_ = static_cast<std::uint16_t>(std::stoi(exported(text, "DLOCK_TEST_MYSQL_PORT")));
  socket_ = exported(text, "DLOCK_TEST_MYSQL_SOCKET");
}

void own_server::stop() const { stop_process(pid_); }

void own_server::go_on() const { ::kill(pid_, SIGCONT); }

void own_server::restart(bool orderly) {
  if (orderly) {
    script("down");
  } else {
    ::kill(pid_, SIGKILL);
    const auto gone = [&] {
      std::error_code none;
      return !std::filesystem::exists(fmt::format("/proc/{}", pid_), none) || all_threads(pid_, "ZX");
    };
    if (!eventually(gone)) throw std::runtime_error("the server does not die");
  }
  start();
}

}  // namespace dlock::test
