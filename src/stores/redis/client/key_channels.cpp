// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/key_channels.hpp"

#include <poll.h>

#include <algorithm>
#include <iterator>

#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis {

using namespace std::chrono_literals;
using clock = stream_socket::clock;

namespace {
/// How often a waiting thread checks the connection, which may break unnoticed.
constexpr auto ask_every = 2s;
constexpr std::chrono::milliseconds first_pause = 100ms;
constexpr std::chrono::milliseconds longest_pause = 5s;
constexpr std::chrono::milliseconds for_ever = 1h;

void wait(const base::wake_event& event, std::chrono::milliseconds limit) noexcept {
  pollfd at{event.descriptor(), POLLIN, 0};
  ::poll(&at, 1, static_cast<int>(limit.count()));
}
}  // namespace

// ---- for any thread -------------------------------------------------------------------------------------------------

void key_channels::watch(std::string_view key, key_listener& listener) noexcept {
  try {
    const base::lock_guard lock(mutex_);
    if (!thread_.started())
      thread_.start([this](const std::stop_token& stop) { run(stop); }, [this] { changed_.raise(); });
    auto& channel = channels_[std::string(key)];
    channel.listeners.push_back(&listener);
    if (channel.works) {
      listener.may_be_free(true);
    } else if (channel.listeners.size() == 1) {
      channel.ask = true;
      changed_.raise();
    }
  } catch (const std::exception&) {
    // Memory or threads ran out: no waiter is notified, so waiters poll.
  }
}

void key_channels::unwatch(std::string_view key, key_listener& listener) noexcept {
  const base::lock_guard lock(mutex_);
  const auto at = channels_.find(key);
  if (at == channels_.end()) return;
  auto& channel = at->second;
  std::erase(channel.listeners, &listener);
  if (!channel.listeners.empty()) return;
  channel.works = false;
  channel.ask = true;
  changed_.raise();
}

// ---- on its thread --------------------------------------------------------------------------------------------------

bool key_channels::nobody_waits() const noexcept {
  const base::lock_guard lock(mutex_);
  return std::all_of(channels_.begin(), channels_.end(),
                     [](const auto& each) { return each.second.listeners.empty(); });
}

void key_channels::none_works() noexcept {
  const base::lock_guard lock(mutex_);
  for (auto& [name, channel] : channels_) {
    if (!std::exchange(channel.works, false)) continue;
    for (auto* const each : channel.listeners) each->may_be_free(false);
  }
}

void key_channels::run(const std::stop_token& stop) noexcept {
  for (auto pause = first_pause; !stop.stop_requested();) {
    changed_.clear();
    if (nobody_waits()) {
      wait(changed_, for_ever);
      continue;
    }
    if (serve(stop)) {
      pause = first_pause;
    } else {
      for (const auto until = clock::now() + pause; clock::now() < until && !stop.stop_requested(); changed_.clear()) {
        wait(changed_, std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()));
      }
      pause = std::min(pause * 2, longest_pause);
    }
    none_works();
  }
}

/// Returns false if there was no connection for messages.
bool key_channels::serve(const std::stop_token& stop) noexcept {
  try {
    fault why;
    const auto on = client_.open(client_.settings().connect_timeout, stop, why);
    if (on == nullptr && !why.transient) say(why.text);
    return on != nullptr && serve(*on, stop);
  } catch (const std::exception&) {
    return false;
  }
}

bool key_channels::serve(redis_connection& on, const std::stop_token& stop) {
  bool usable = subscribe(on, true);
  bool confirmed = false;
  auto heard = clock::now(), asked = heard;
  while (usable && !stop.stop_requested()) {
    const bool idle = nobody_waits();
    on.wait(changed_.descriptor(), idle ? for_ever : ask_every);
    changed_.clear();
    for (auto response = on.sent_meanwhile(); response; response = on.sent_meanwhile()) {
      heard = clock::now();
      confirmed = hear(response) || confirmed;
    }
    usable = on.usable() && subscribe(on, false);
    const auto now = clock::now();
    if (idle) {
      heard = asked = now;
    } else if (now - asked >= ask_every) {
      command_text ping;
      ping.add({"PING"});
      usable = usable && on.send(ping) && now - heard < client_.settings().statement_timeout + ask_every;
      asked = now;
    }
  }
  return confirmed;
}

/// Subscribes new keys and unsubscribes others; `anew`: on a new connection, all keys.
bool key_channels::subscribe(redis_connection& on, bool anew) {
  command_text commands;
  {
    const base::lock_guard lock(mutex_);
    for (auto at = channels_.begin(); at != channels_.end();) {
      auto& [key, channel] = *at;
      const bool ends = channel.listeners.empty();
      if (channel.ask || anew) commands.add({ends ? "UNSUBSCRIBE" : "SUBSCRIBE", prefix_ + key});
      channel.ask = false;
      at = ends ? channels_.erase(at) : std::next(at);
    }
  }
  return commands.commands() == 0 || on.send(commands);
}

void key_channels::say(const std::string& why) {
  if (std::exchange(said_, why) != why) says_(why);
}

/// Returns false if the message is not about a key. An error is such a message: that channel never works.
bool key_channels::hear(const answer& response) {
  if (response.is_error()) say(fault_of_error(response.text(), "subscribe").text);
  const auto what = response[0].text();
  if (what != "subscribe" && what != "message") return false;
  const auto key = response[1].text().substr(std::min(prefix_.size(), response[1].text().size()));
  const base::lock_guard lock(mutex_);
  const auto at = channels_.find(key);
  if (at == channels_.end() || at->second.listeners.empty()) return true;
  at->second.works = true;
  if (frees_ && !frees_(key, what == "message" ? response[2].text() : std::string_view{})) return true;
  for (auto* const each : at->second.listeners) each->may_be_free(true);
  return true;
}

}  // namespace dlock::stores::redis
