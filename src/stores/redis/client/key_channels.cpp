// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/key_channels.hpp"

#include <algorithm>
#include <iterator>

#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis {

/// How often a waiting thread checks the connection, which may break unnoticed.
constexpr std::chrono::seconds ask_every{2};

void key_channels::entered(place at) {
  auto& about = at->second;
  if (about.listeners.relied_on) {
    about.listeners.all.back()->may_be_free(true);
  } else if (about.listeners.all.size() == 1) {
    change_subscription(at->second);
  }
}

/// The thread subscribes or unsubscribes.
void key_channels::change_subscription(watched_key& about) noexcept {
  about.listeners.relied_on = false;
  about.ask = true;
  changed_.raise();
}

// ---- on its thread --------------------------------------------------------------------------------------------------

bool key_channels::serve(const std::stop_token& stop) {
  const bool is_new = link_ == nullptr;
  if (is_new) {
    fault why;
    {
      const base::unlocked others(mutex_);
      link_ = client_.open(client_.settings().connect_timeout, stop, why);
    }
    if (link_ == nullptr) {
      if (!why.transient) say_once(why.text);
      return false;
    }
    confirmed_ = false;
    heard_ = asked_ = clock::now();
  }
  command_text commands;
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& [key, about] = *at;
    const bool ends = about.listeners.all.empty();
    if (std::exchange(about.ask, false) || is_new) commands.add({ends ? "UNSUBSCRIBE" : "SUBSCRIBE", prefix_ + key});
    at = ends ? keys_.erase(at) : std::next(at);
  }
  if (const auto now = clock::now(); now - asked_ >= ask_every) {
    commands.add({"PING"});
    asked_ = now;
  }
  const base::unlocked others(mutex_);
  if (commands.commands() != 0) link_->send(commands);  // wait() notices when that fails
  return true;
}

key_channels::clock::time_point key_channels::next(clock::time_point) const { return asked_ + ask_every; }

void key_channels::wait(clock::time_point until) {
  if (link_ == nullptr) return key_waiters::wait(until);
  const bool idle = keys_.empty();
  {
    const base::unlocked others(mutex_);
    link_->wait(changed_.descriptor(), remaining(until));
    changed_.clear();
  }
  const auto now = clock::now();
  if (idle) heard_ = asked_ = now;
  for (auto response = link_->sent_meanwhile(); response; response = link_->sent_meanwhile()) {
    heard_ = now;
    confirmed_ = hear(response) || confirmed_;
  }
  if (link_->usable() && now - heard_ < client_.settings().statement_timeout + ask_every) return;
  if (!confirmed_) off_until_ = now + retry;  // a new connection would fail as well
  lost();
}

/// Returns false if the message is not about a key. An error is such a message: that channel never works.
bool key_channels::hear(const answer& response) {
  if (response.is_error()) say_once(fault_of_error(response.text(), "subscribe").text);
  const auto what = response[0].text();
  if (what != "subscribe" && what != "message") return false;
  const auto key = response[1].text().substr(std::min(prefix_.size(), response[1].text().size()));
  const auto at = keys_.find(key);
  if (at == keys_.end() || at->second.listeners.all.empty()) return true;
  at->second.listeners.relied_on = true;
  if (!frees_ || frees_(key, what == "message" ? response[2].text() : std::string_view{}))
    at->second.listeners.notify(true);
  return true;
}

}  // namespace dlock::stores::redis
