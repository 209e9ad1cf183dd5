// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <initializer_list>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "stores/name_lookup.hpp"
#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/server.hpp"
#include "stores/redis/client/settings.hpp"

namespace dlock::stores::redis {

/// A connection that is logged in, and knows the server's hashes of a scheme's scripts.
class script_connection : public redis_connection {
 public:
  /// `refusals` counts the refusals that the client's connections have met.
  script_connection(stream_socket socket, std::chrono::milliseconds timeout,
                    std::shared_ptr<std::atomic<unsigned>> refusals)
      : redis_connection(std::move(socket), timeout), refusals_(std::move(refusals)) {}

  /// Rule 15: names the server. Data that another start of the server may have lost proves nothing, so that counts as
  /// another server, unless it keeps everything. `data` is the name of the stored data, if there is any.
  void name_server(std::string_view data);
  /// A connection that a server refused ends the others to it too; an idle one would notice only at its next statement.
  bool alive() noexcept override { return redis_connection::alive() && refusals_->load() == made_at_; }
  /// Notes that its server is no primary any more, or not yet.
  void is_refused() noexcept;

  server_facts server{};
  std::span<const std::string> scripts{};
  std::vector<std::string> hashes{};  ///< of the scripts, in their order
  std::string epoch{};                ///< if fencing tokens have one: what they must exceed on this start of the server

 private:
  const std::shared_ptr<std::atomic<unsigned>> refusals_;
  const unsigned made_at_ = refusals_->load();
};

/// Calls of scripts that are sent together.
class script_calls {
 public:
  /// `commands` is the number of commands that will be added.
  explicit script_calls(script_connection& on, std::size_t commands = 1) : on_(on) {
    constexpr std::size_t usual = 300;
    text_.reserve(commands * usual);
    begins_.reserve(commands);
  }

  /// `which` is the index of the scheme's script. `words`: names of `keys` keys, then values.
  template <class Script>
  void add(Script which, std::size_t keys, std::initializer_list<std::string_view> words) {
    add_call(static_cast<std::size_t>(which), keys, {words.begin(), words.size()});
  }
  template <class Script>
  void add(Script which, std::size_t keys, std::span<const std::string_view> words) {
    add_call(static_cast<std::size_t>(which), keys, words);
  }
  /// Adds a plain command.
  void add(std::initializer_list<std::string_view> words);
  /// Returns one reply for each, as redis_connection::ask(). Sends a script that the server does not know, and calls it
  /// again. If the server refuses a call because another one is the primary, the connection is not used again.
  std::vector<answer> run();

 private:
  void add_call(std::size_t script, std::size_t keys, std::span<const std::string_view> words);
  std::string_view command(std::size_t which) const noexcept;

  script_connection& on_;
  command_text text_{};
  std::vector<std::size_t> begins_{};
};

/// One call of a script.
template <class Script>
answer call_script(script_connection& on, Script which, std::size_t keys,
                   std::initializer_list<std::string_view> words) {
  script_calls one(on);
  one.add(which, keys, words);
  return std::move(one.run().front());
}

/// Makes connections to the first host that is a primary. Thread-safe.
class redis_client {
 public:
  using clock = stream_socket::clock;
  /// `scripts` must outlive it.
  redis_client(redis_settings settings, std::span<const std::string> scripts)
      : settings_(std::move(settings)), scripts_(scripts) {}

  const redis_settings& settings() const noexcept { return settings_; }
  /// Makes a new connection. Returns null and sets `why` if it can't.
  std::unique_ptr<script_connection> open(microseconds limit, const std::stop_token& cancel, fault& why) noexcept;

 private:
  std::unique_ptr<script_connection> open(const store_url::endpoint& host, clock::time_point until,
                                          const std::stop_token& cancel, fault& why) const;
  stream_socket connect(const store_url::endpoint& host, clock::time_point until, const std::stop_token& cancel) const;
  /// Asks that sentinel where the primary is. Throws std::runtime_error.
  store_url::endpoint ask_sentinel(const store_url::endpoint& sentinel, clock::time_point until,
                                   const std::stop_token& cancel) const;
  /// Returns false and sets `why` if the server refuses the login, or is no primary.
  bool greet(script_connection& connection, const std::string& where, fault& why) const;

  const redis_settings settings_;
  const std::span<const std::string> scripts_;
  mutable name_lookup names_;
  std::atomic<std::size_t> last_{0};  // the host that worked last
  const std::shared_ptr<std::atomic<unsigned>> refusals_ = std::make_shared<std::atomic<unsigned>>(0);
  mutable base::mutex mutex_;
  /// The scripts' hashes, from the first connection's server; they are the same on all servers.
  mutable std::vector<std::string> hashes_ DLOCK_GUARDED_BY(mutex_){};
  /// The last start of a server that was promoted. A server forgets its promotion when it has had no replica for an
  /// hour.
  mutable server_facts promoted_primary_ DLOCK_GUARDED_BY(mutex_){};
};

/// The address in a server's incarnation, which also names its start.
inline std::string_view address_in(std::string_view incarnation) {
  return incarnation.substr(0, incarnation.rfind(' '));
}
/// Whether statements of that connection can't run any more: it was ended at the server, or the server was restarted.
bool end_lost_connection(redis_connection& on, const connection_identity& lost) noexcept;

}  // namespace dlock::stores::redis
