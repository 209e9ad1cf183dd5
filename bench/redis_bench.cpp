// SPDX-License-Identifier: GPL-2.0-or-later
// Acquire and release on Redis beside the pair that most programs use: SET NX PX, and a script that deletes what is still
// theirs. On a server that writes nothing to a disk, so that the commands are what costs.
#include <hiredis/hiredis.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "dlock/dlock.hpp"
#include "harness.hpp"
#include "support/redis_server.hpp"

namespace {

class raw_pair {
 public:
  explicit raw_pair(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no connection");
    hash_ = ask({"SCRIPT", "LOAD",
                 "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"});
  }

  void operator()(const std::string& key) {
    const auto value = std::to_string(++attempt_);
    if (ask({"SET", key, value, "NX", "PX", "30000"}) != "OK") throw std::runtime_error("not granted");
    if (ask({"EVALSHA", hash_, "1", key, value}) != "1") throw std::runtime_error("not freed");
  }

 private:
  std::string ask(std::initializer_list<std::string_view> words) {
    std::array<const char*, 8> texts{};
    std::array<std::size_t, 8> sizes{};
    std::size_t count = 0;
    for (const auto each : words) {
      texts.at(count) = each.data();
      sizes.at(count++) = each.size();
    }
    const std::unique_ptr<redisReply, void (*)(void*)> told(
        static_cast<redisReply*>(redisCommandArgv(context_.get(), static_cast<int>(count), texts.data(), sizes.data())),
        freeReplyObject);
    if (told == nullptr) throw std::runtime_error("no answer");
    return told->type == REDIS_REPLY_INTEGER ? std::to_string(told->integer) : std::string(told->str, told->len);
  }

  struct deleter {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
  };
  std::unique_ptr<redisContext, deleter> context_;
  std::string hash_{};
  unsigned long attempt_ = 0;
};

}  // namespace

int main() {
  const dlock::test::redis_server server({"--appendonly", "no"});
  {
    dlock::lock_service locks{server.url("&persistence=none")};
    const dlock::lock_options options;
    const dlock::lock_key our_key("our:4711");
    raw_pair raw(server.socket());
    dlock::bench::compare(
        "Redis: acquire+release, 1 thread", 41, 2'000, [&] { raw("raw:4711"); },
        [&] { const dlock::lease held = locks.acquire(our_key, options); }, {.at_least = 0.7});
  }
  return dlock::bench::figures::exit_code();
}
