// SPDX-License-Identifier: BSL-1.0
#include "support/redis_server.hpp"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <utility>

#include "support/calls.hpp"
#include "support/server_process.hpp"

namespace dlock::test {

namespace {

struct deleter {
  void operator()(redisContext* context) const noexcept { redisFree(context); }
  void operator()(redisReply* reply) const noexcept { freeReplyObject(reply); }
};

std::string text_of(const redisReply& reply) {
  if (reply.type == REDIS_REPLY_INTEGER) return std::to_string(reply.integer);
  if (reply.type != REDIS_REPLY_ARRAY) return {reply.str == nullptr ? "" : reply.str, reply.len};
  std::string all;
  for (std::size_t i = 0; i < reply.elements; ++i) all += (i == 0 ? "" : "\n") + text_of(*reply.element[i]);
  return all;
}

/// hiredis writes without MSG_NOSIGNAL, and a server that was just killed would end the test program. The signal is
/// blocked on this thread alone, because the tests check that dlock itself raises none.
class no_sigpipe {
 public:
  no_sigpipe() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~no_sigpipe() {
    if (::sigismember(&before_, SIGPIPE) == 1) return;
    constexpr timespec now{};
    while (::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) continue;
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  no_sigpipe(const no_sigpipe&) = delete;
  no_sigpipe& operator=(const no_sigpipe&) = delete;

 private:
  sigset_t pipe_{}, before_{};
};

/// DLOCK_REDIS_SERVER names another one, for example valkey-server.
std::string program() {
  const char* const named = std::getenv("DLOCK_REDIS_SERVER");
  return named == nullptr || *named == '\0' ? "redis-server" : named;
}

}  // namespace

redis_server::redis_server(std::vector<std::string> options) : options_(std::move(options)) { start(); }

std::string redis_server::url(const std::string& parameters) const {
  return "redis:///0?socket=" + socket_ + parameters;
}

std::string redis_server::tcp_url(const std::string& parameters, const std::string& user) const {
  return fmt::format("redis://{}127.0.0.1:{}/0{}{}", user, port_, parameters.empty() ? "" : "?",
                     parameters.substr(parameters.empty() ? 0 : 1));
}

std::vector<std::string> redis_server::command() const {
  if (!options_.empty() && options_.front() == "--sentinel") {
    std::ofstream(folder_ / "sentinel.conf") << fmt::format(
        "port {0}\nbind 127.0.0.1\nunixsocket {1}\ndir {2}\nlogfile {2}log\n"
        "sentinel monitor {3} 127.0.0.1 {4} 2\nsentinel down-after-milliseconds {3} 5000\n"
        "sentinel failover-timeout {3} 3000\n",
        port_, socket_, folder_ / "", options_[1], options_[2]);
    return {program(), folder_ / "sentinel.conf", "--sentinel"};
  }
  const bool tls = std::find(options_.begin(), options_.end(), "--tls-cert-file") != options_.end();
  std::vector<std::string> words{program(),
                                 tls ? "--tls-port" : "--port",
                                 std::to_string(port_),
                                 "--unixsocket",
                                 socket_,
                                 "--dir",
                                 folder_ / "",
                                 "--save",
                                 "",
                                 "--appendonly",
                                 "yes",
                                 "--appendfsync",
                                 "always",
                                 "--logfile",
                                 folder_ / "log",
                                 "--bind",
                                 "127.0.0.1"};
  if (tls) words.insert(words.end(), {"--port", "0"});
  words.insert(words.end(), options_.begin(), options_.end());
  return words;
}

void redis_server::start() {
  const bool restarted = port_ != 0;               // others know its port
  for (int attempt = 0; attempt < 5; ++attempt) {  // somebody else may take the port
    if (!restarted) port_ = free_port();
    run(command());
    const bool answers =
        eventually([this] { return !runs() || ask({"PING"}) == "PONG" || ask({"PING"}).starts_with("NOAUTH"); },
                   std::chrono::seconds{20});
    if (answers && runs()) return;
    kill();
  }
  throw std::runtime_error("redis-server does not start; is it installed? ./dev setup does that");
}

void redis_server::forget() const { std::filesystem::remove_all(folder_ / "appendonlydir"); }

std::string redis_server::ask(const std::vector<std::string>& words) const {
  const no_sigpipe guard;
  const std::unique_ptr<redisContext, deleter> context(redisConnectUnix(socket_.c_str()));
  if (context == nullptr || context->err != 0) return {};
  std::vector<const char*> arguments;
  std::vector<std::size_t> sizes;
  for (const auto& each : words) {
    arguments.push_back(each.data());
    sizes.push_back(each.size());
  }
  const std::unique_ptr<redisReply, deleter> reply(static_cast<redisReply*>(
      redisCommandArgv(context.get(), static_cast<int>(words.size()), arguments.data(), sizes.data())));
  return reply == nullptr ? "" : text_of(*reply);
}

}  // namespace dlock::test
