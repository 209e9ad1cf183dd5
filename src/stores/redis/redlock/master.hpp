// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "stores/name_lookup.hpp"
#include "stores/redis/client/server.hpp"

namespace dlock::stores::redis::redlock {

/// A master, shared by all connections. Thread-safe.
class master {
 public:
  master(const redlock_settings& all, const store_url::endpoint& host);

  const std::string where;
  const redlock_settings settings;  ///< their name includes the master's
  const std::string& host() const noexcept { return host_.host; }

  /// Asks the name service, which replies in the background.
  void ask_for_name(const std::stop_token& cancel) { names_.answers(host_.host, {}, cancel); }
  /// Waits for the reply. Without one the former addresses are kept.
  void look_up(stream_socket::clock::time_point now, stream_socket::clock::time_point until,
               const std::stop_token& cancel);
  /// Notes that there was no server at any of its addresses.
  void not_found();
  /// Whether the master was not found since its name was looked up a while ago, so that it may have moved. Returns true
  /// to one caller, and then not before the same time has passed again, or ten times that if the name service did not
  /// help. Always false for a host given by its address.
  bool look_up_due(stream_socket::clock::time_point now);
  /// Throws std::runtime_error if there are none.
  std::vector<stream_socket::peer> addresses() const;
  /// From when on the master votes. Unless it keeps everything, it may have forgotten what it granted before this
  /// start, which another run id or its uptime shows.
  stream_socket::clock::time_point votes_from(const server_facts& server, stream_socket::clock::time_point now);

 private:
  const store_url::endpoint host_;
  name_lookup names_;
  mutable base::mutex mutex_;
  std::vector<stream_socket::peer> addresses_ DLOCK_GUARDED_BY(mutex_){};
  std::string why_ DLOCK_GUARDED_BY(mutex_){};
  std::string run_ DLOCK_GUARDED_BY(mutex_){};  ///< the last one that was seen
  stream_socket::clock::time_point new_until_ DLOCK_GUARDED_BY(mutex_){};
  bool not_found_ DLOCK_GUARDED_BY(mutex_) = false;
  stream_socket::clock::time_point look_up_at_ DLOCK_GUARDED_BY(mutex_){};  ///< the earliest time
};

/// A connection to a master, by the master's numbers.
struct connection_ref {
  std::size_t master = 0;
  std::string run{};  ///< this start of the server
  std::uint64_t client = 0;
  bool operator==(const connection_ref&) const = default;
};

/// Where our connections' requests may still be executed: on connections to masters that are open, or were closed
/// before all replies came. The latter are forgotten after an hour, when nobody asks for them any more. Thread-safe.
class unacknowledged_connections {
 public:
  using time_point = stream_socket::clock::time_point;

  void add(std::uint64_t connection, const connection_ref& end, time_point now);
  void remove(std::uint64_t connection, const connection_ref& end);
  /// The connection was closed before all replies came.
  void leave(std::uint64_t connection, const connection_ref& end, time_point now);
  std::vector<connection_ref> of(std::uint64_t connection) const;

 private:
  struct entry {
    std::uint64_t connection = 0;
    connection_ref end{};
    time_point until = time_point::max();
  };

  mutable base::mutex mutex_;
  std::vector<entry> all_ DLOCK_GUARDED_BY(mutex_){};
};

/// A connection to one master that never waits: its owner polls for all of them. It reconnects by itself, a while after
/// it broke. Not thread-safe.
class master_link {
 public:
  using clock = stream_socket::clock;

  /// `connection` is the number of the connection that it is a part of. All arguments must outlive it.
  master_link(master& to, std::size_t number, std::uint64_t connection, unacknowledged_connections& ends) noexcept
      : to_(to), number_(number), connection_(connection), ends_(ends) {}
  ~master_link();
  master_link(const master_link&) = delete;
  master_link& operator=(const master_link&) = delete;

  /// Does what is possible now. `events` is what poll() has found.
  void step(short events, clock::time_point now);
  int descriptor() const noexcept { return link_ ? link_->descriptor() : socket_.descriptor(); }
  short wanted() const noexcept;

  bool down() const noexcept { return state_ == state::down; }
  /// Whether it may be asked.
  bool ready() const noexcept { return state_ == state::ready; }
  /// Whether it has just begun to connect, and may be ready in a moment.
  bool coming(clock::time_point now) const noexcept;
  /// Whether replies are overdue that no caller waits for any more. It executes new commands later.
  bool late() const noexcept { return late_; }
  /// Whether its answers count: a master that was started lately may have forgotten what it had granted.
  bool votes(clock::time_point now) const noexcept { return ready() && now >= votes_from_; }
  /// Why it can't be asked, or does not count. Empty if it counts.
  std::string trouble(clock::time_point now) const;
  /// Whether it is down for a lasting reason, such as a certificate or a password.
  bool lasts() const noexcept { return down() && lasts_; }
  /// Why the server can't be used for any request; empty if it can.
  const std::string& refusal() const noexcept { return refusal_; }
  const std::string& where() const noexcept { return to_.where; }
  /// How often it broke. Replies that were pending then do not come any more.
  std::size_t breaks() const noexcept { return breaks_; }
  const connection_ref& end() const noexcept { return end_; }

  /// Sends the commands. Replies are appended to `response` as they come, until forget().
  void send(const command_text& commands, std::vector<answer>& response, clock::time_point now);
  /// Drops the callers that wait for replies. Replies that are still pending make it late.
  void forget(clock::time_point now) noexcept;
  void close(const std::string& why, clock::time_point now, bool lasts = false);
  /// Closes it for ever.
  void refuse(const std::string& why, clock::time_point now);

 private:
  enum class state { down, connecting, greeting, ready };
  struct pending_reply {
    std::vector<answer>* to = nullptr;  ///< null if nobody wants them any more
    std::size_t answers = 0;
  };

  void begin(clock::time_point now);
  /// The connection ended. Commands without a reply may still be executed, so they stay known.
  void ended(clock::time_point now) noexcept;
  void read(clock::time_point now);
  void connect(clock::time_point now);
  void greet(clock::time_point now);
  void greeted(clock::time_point now);

  master& to_;
  const std::size_t number_;
  const std::uint64_t connection_;
  unacknowledged_connections& ends_;
  state state_ = state::down;
  stream_socket socket_{};                  ///< while it connects
  short awaited_ = 0;                       ///< the events that socket_ waits for
  std::optional<redis_connection> link_{};  ///< once it is connected
  std::deque<pending_reply> pending_{};
  bool late_ = false;
  clock::time_point late_since_{};
  std::optional<greeting> asked_{};  ///< the greeting of this connection
  std::vector<answer> hello_{};
  clock::time_point begun_{};     ///< to connect
  clock::time_point until_{};     ///< the deadline to connect and greet
  clock::time_point retry_at_{};  ///< after it broke
  std::chrono::milliseconds pause_{0};
  std::size_t address_ = 0;
  std::size_t tried_ = 0;
  clock::time_point votes_from_{};
  std::size_t breaks_ = 0;
  std::string why_{};
  bool lasts_ = false;
  std::string refusal_{};
  connection_ref end_{};
};

}  // namespace dlock::stores::redis::redlock
