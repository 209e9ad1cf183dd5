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

/// One of the masters, as all connections know it. Thread-safe.
class master {
 public:
  master(const redlock_settings& all, const store_url::endpoint& host);

  const std::string where;
  const redlock_settings settings;  ///< named by the master too
  const std::string& host() const noexcept { return host_.host; }

  /// Asks the name service, which answers meanwhile.
  void ask_for_name(const std::stop_token& cancel) { names_.answers(host_.host, {}, cancel); }
  /// Waits for its answer. Without one the former addresses are kept.
  void look_up(stream_socket::clock::time_point now, stream_socket::clock::time_point until,
               const std::stop_token& cancel);
  /// At none of its addresses was there a server.
  void not_found();
  /// It has not been found since its name was looked up, and that was a while ago: it may have moved. Says so to one
  /// caller, and then not before the same time has passed again; ten times that if the name service did not help. Never
  /// of a host that is named by its address.
  bool look_up_due(stream_socket::clock::time_point now);
  /// Throws std::runtime_error if there are none.
  std::vector<stream_socket::peer> addresses() const;
  /// From when on its word is one: it may have forgotten what it granted before this start of it, which another run
  /// shows, or how long it has been up, unless it keeps everything.
  stream_socket::clock::time_point votes_from(const server_facts& server, stream_socket::clock::time_point now);

 private:
  const store_url::endpoint host_;
  name_lookup names_;
  mutable base::mutex mutex_;
  std::vector<stream_socket::peer> addresses_ DLOCK_GUARDED_BY(mutex_){};
  std::string why_ DLOCK_GUARDED_BY(mutex_){};
  std::string run_ DLOCK_GUARDED_BY(mutex_){};  ///< that was seen last
  stream_socket::clock::time_point new_until_ DLOCK_GUARDED_BY(mutex_){};
  bool not_found_ DLOCK_GUARDED_BY(mutex_) = false;
  stream_socket::clock::time_point look_up_at_ DLOCK_GUARDED_BY(mutex_){};  ///< not sooner
};

/// A connection to a master, as that knows it.
struct connection_ref {
  std::size_t master = 0;
  std::string run{};  ///< of the server: this start of it
  std::uint64_t client = 0;
  bool operator==(const connection_ref&) const = default;
};

/// Where something may still be under way that one of our connections has sent: its connections to masters that are
/// open, or were closed before all was answered. The latter are forgotten after an hour, by when they are no longer
/// asked for. Thread-safe.
class unacknowledged_connections {
 public:
  using time_point = stream_socket::clock::time_point;

  void add(std::uint64_t connection, const connection_ref& end, time_point now);
  void remove(std::uint64_t connection, const connection_ref& end);
  /// It was closed, and not all was answered.
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

/// A connection to one master that never waits: its owner polls for all of them. It comes back by itself, a while
/// after it broke. Not thread-safe.
class master_link {
 public:
  using clock = stream_socket::clock;

  /// `connection`: the number of the one that it is a part of. All must outlive it.
  master_link(master& to, std::size_t number, std::uint64_t connection, unacknowledged_connections& ends) noexcept
      : to_(to), number_(number), connection_(connection), ends_(ends) {}
  ~master_link();
  master_link(const master_link&) = delete;
  master_link& operator=(const master_link&) = delete;

  /// Does what can be done now. `events`: what poll() has found.
  void step(short events, clock::time_point now);
  int descriptor() const noexcept { return link_ ? link_->descriptor() : socket_.descriptor(); }
  short wanted() const noexcept;

  bool down() const noexcept { return state_ == state::down; }
  /// It may be asked.
  bool ready() const noexcept { return state_ == state::ready; }
  /// It has begun to connect a moment ago, and may be ready in a moment.
  bool coming(clock::time_point now) const noexcept;
  /// It owes answers for longer than any caller has waited for them. It executes later what it is sent now.
  bool late() const noexcept { return late_; }
  /// Its word is one: it has not been started lately, when it may have forgotten what it had granted.
  bool votes(clock::time_point now) const noexcept { return ready() && now >= votes_from_; }
  /// Why it can't be asked, or does not count. Empty: it counts.
  std::string trouble(clock::time_point now) const;
  /// Whether it is down for a reason that lasts, such as a certificate or a password.
  bool lasts() const noexcept { return down() && lasts_; }
  /// Why the server can't be used, whatever the request is; empty: it can.
  const std::string& refusal() const noexcept { return refusal_; }
  const std::string& where() const noexcept { return to_.where; }
  /// How often it broke: what was owed before does not come any more.
  std::size_t breaks() const noexcept { return breaks_; }
  const connection_ref& end() const noexcept { return end_; }

  /// Answers are appended to `responses` as they come, until forget().
  void send(const command_text& commands, std::vector<answer>& response, clock::time_point now);
  /// Whoever waits for answers waits no longer. Those that are still owed make it late.
  void forget(clock::time_point now) noexcept;
  void close(const std::string& why, clock::time_point now, bool lasts = false);
  /// Closes it for good.
  void refuse(const std::string& why, clock::time_point now);

 private:
  enum class state { down, connecting, greeting, ready };
  struct pending_reply {
    std::vector<answer>* to = nullptr;  ///< null: they are not wanted any more
    std::size_t answers = 0;
  };

  void begin(clock::time_point now);
  /// What was sent and not answered may still be under way: then it stays known.
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
  stream_socket socket_{};                  ///< while it is being connected
  short awaited_ = 0;                       ///< by that
  std::optional<redis_connection> link_{};  ///< from then on
  std::deque<pending_reply> pending_{};
  bool late_ = false;
  clock::time_point late_since_{};
  std::optional<greeting> asked_{};  ///< of this connection
  std::vector<answer> hello_{};
  clock::time_point begun_{};     ///< to connect
  clock::time_point until_{};     ///< to have connected and greeted
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
