// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "dlock/store_interface/store_admin.hpp"
#include "stores/key_listeners.hpp"
#include "stores/redis/client/client.hpp"
#include "stores/redis/client/key_channels.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis {

/// A store of any scheme.
class redis_store : public store, protected store_admin {
 public:
  using store::connect;
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept final { return connect(limit, why, {}); }
  void listen(store_listener& listener) noexcept final { listeners_->add(listener); }
  void unlisten(store_listener& listener) noexcept final { listeners_->remove(listener); }
  store_admin* admin() noexcept final { return this; }

 protected:
  const std::shared_ptr<store_listeners> listeners_ = std::make_shared<store_listeners>();
};

/// A store on one server at a time. `Base` is its redis_store.
template <class Base>
class server_store : public Base {
 public:
  const std::string& name() const noexcept final { return settings().name; }
  using Base::connect;
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept final {
    using clock = redis_client::clock;
    const auto until = clock::now() + limit;
    auto made = client_.open(limit, cancel, why);
    try {
      if (made == nullptr) return nullptr;
      // prepare() may have checked another server.
      if (auto refusal = made->server.refusal(settings()); !refusal.empty()) {
        why = {.connection = true, .text = std::move(refusal)};
        return nullptr;
      }
      made->answer_by(std::max(until, clock::now() + std::chrono::milliseconds{1}));
      const std::stop_callback ends(cancel, [&on = *made] { on.interrupt(); });
      if (!introduce(*made, why)) return nullptr;
      made->answer_by(clock::time_point::max());
      made->watch_hang_up(hangups_, [to = this->listeners_] { to->renew_now(); });
      return made;
    } catch (const std::exception&) {
      why.transient = why.connection = true;
      return nullptr;
    }
  }
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept final {
    reply_or_in_doubt(on, replies, [&] {
      auto& link = static_cast<script_connection&>(on);
      script_calls calls(link, requests.size());
      for (const auto& each : requests) add(calls, each, link.epoch);
      const auto response = calls.run();
      for (std::size_t i = 0; i < response.size(); ++i) {
        replies[i] = judge(requests[i], response[i]);
        replies[i].statements = i == 0 ? 1 : 0;
      }
    });
  }
  bool terminate(connection& on, const connection_identity& lost) noexcept final {
    return end_lost_connection(static_cast<script_connection&>(on), lost);
  }
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept final {
    channels_.watch(key, session, listener);
  }
  void unwatch(std::string_view key, const id128&, key_listener& listener) noexcept final {
    channels_.unwatch(key, listener);
  }

 protected:
  /// `channels` is the prefix of the channels' names, before the key. `base` are the arguments of Base.
  template <class... Args>
  server_store(const redis_settings& settings, std::span<const std::string> scripts, std::string channels,
               Args&&... base)
      : Base(std::forward<Args>(base)...),
        client_(settings, scripts),
        channels_(client_, std::move(channels),
                  [to = this->listeners_](const std::string& why) { to->waiters_poll(why); }) {}

  const redis_settings& settings() const noexcept { return client_.settings(); }
  /// The connection of prepare(). Throws as prepare() does.
  std::unique_ptr<script_connection> first_connection() {
    fault why;
    auto made = client_.open(settings().connect_timeout, {}, why);
    if (made == nullptr) fail(name(), why);
    if (const auto refusal = made->server.refusal(settings()); !refusal.empty()) throw std::invalid_argument(refusal);
    return made;
  }

 private:
  /// Sets the name of a new connection's server. Returns false and sets `why` if it can't.
  virtual bool introduce(script_connection& to, fault& why) const = 0;
  /// Adds the commands of a request. `epoch` is the connection's.
  virtual void add(script_calls& to, const request& asked, std::string_view epoch) const = 0;
  virtual reply judge(const request& asked, const answer& response) = 0;

  /// Shared with the connections, which may outlive the store.
  const std::shared_ptr<hangup_watch> hangups_ = std::make_shared<hangup_watch>();
  redis_client client_;
  key_channels channels_;
};

}  // namespace dlock::stores::redis
