// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <hiredis/hiredis.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace dlock::bench {

/// A connection to a Redis server, without the library.
class raw_connection {
 public:
  explicit raw_connection(const std::string& socket) : context_(redisConnectUnix(socket.c_str())) {
    if (context_ == nullptr || context_->err != 0) throw std::runtime_error("no connection");
  }

 protected:
  /// Waits for what the server sends of its own accord.
  void hear() {
    void* message = nullptr;
    if (redisGetReply(context_.get(), &message) != REDIS_OK) throw std::runtime_error("no message");
    freeReplyObject(message);
  }
  std::string load(std::string_view script) { return ask({"SCRIPT", "LOAD", script}); }
  std::string next() { return std::to_string(++attempt_); }
  std::string ask(std::initializer_list<std::string_view> words) {
    std::array<const char*, 16> texts{};
    std::array<std::size_t, 16> sizes{};
    std::size_t count = 0;
    for (const auto each : words) {
      texts.at(count) = each.data();
      sizes.at(count++) = each.size();
    }
    const std::unique_ptr<redisReply, void (*)(void*)> response(
        static_cast<redisReply*>(redisCommandArgv(context_.get(), static_cast<int>(count), texts.data(), sizes.data())),
        freeReplyObject);
    if (response == nullptr) throw std::runtime_error("no answer");
    return response->type == REDIS_REPLY_INTEGER ? std::to_string(response->integer)
           : response->str == nullptr            ? std::string()
                                                 : std::string(response->str, response->len);
  }

 private:
  struct deleter {
    void operator()(redisContext* context) const noexcept { redisFree(context); }
  };
  std::unique_ptr<redisContext, deleter> context_;
  unsigned long attempt_ = 0;
};

/// The pair that most programs use: SET NX PX, and a script that deletes what is still theirs.
class set_nx : protected raw_connection {
 public:
  /// `owner` distinguishes the values from those of other connections.
  explicit set_nx(const std::string& socket, std::string owner = {})
      : raw_connection(socket), owner_(std::move(owner)) {}

  /// False: another one has it.
  bool take(const std::string& key) {
    value_ = owner_ + next();
    return ask({"SET", key, value_, "NX", "PX", "30000"}) == "OK";
  }
  void release(const std::string& key) {
    if (ask({"EVALSHA", hash_, "1", key, value_}) != "1") throw std::runtime_error("not freed");
  }
  void pair(const std::string& key) {
    if (!take(key)) throw std::runtime_error("not granted");
    release(key);
  }

 protected:
  const std::string& value() const { return value_; }

 private:
  const std::string owner_;
  std::string value_{};
  const std::string hash_ =
      load("if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end");
};

/// A channel to which it has subscribed.
class heard_channel : raw_connection {
 public:
  heard_channel(const std::string& socket, std::string_view name) : raw_connection(socket) { ask({"SUBSCRIBE", name}); }
  using raw_connection::hear;
};

/// The same pair, whose release publishes that the key is free; a waiter tries again when it hears that.
class published_set_nx : set_nx {
 public:
  published_set_nx(const std::string& socket, std::string owner)
      : set_nx(socket, std::move(owner)), frees_(socket, channel) {}

  void take() {
    while (!set_nx::take(key)) frees_.hear();
  }
  void release() {
    if (ask({"EVALSHA", publishes_, "1", key, value(), channel}) != "1") throw std::runtime_error("not freed");
  }

 private:
  static constexpr const char *key = "raw:hand-over", *channel = "raw:free";
  heard_channel frees_;
  const std::string publishes_ = load(
      "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
      "redis.call('publish', ARGV[2], KEYS[1]) return redis.call('del', KEYS[1])");
};

}  // namespace dlock::bench
