// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store.hpp"
#include "simulation/process.hpp"
#include "simulation/server.hpp"

namespace dlock::simulation {

class network;

/// How the store of one process learns that a key may be free, and whom it notifies.
class subscriber : public std::enable_shared_from_this<subscriber> {
 public:
  subscriber(network& by, process& of) : by_(by), process_(of) {}
  virtual ~subscriber();
  subscriber(const subscriber&) = delete;
  subscriber& operator=(const subscriber&) = delete;

  virtual void watch(const std::string& key, const id128& session, key_listener& listener) = 0;
  virtual void unwatch(const std::string& key, key_listener& listener) = 0;
  /// A take comes first for what a position in a queue has got. None: there is no such position, so the server is
  /// asked.
  virtual std::optional<reply> take(const request& /*asked*/) { return std::nullopt; }
  /// Listeners that have not left.
  virtual std::size_t watches() const noexcept = 0;
  /// The server has done these for the process.
  virtual void done(std::span<const request> /*requests*/, std::span<const reply> /*replies*/) {}
  /// What threads hold that wait for the key has changed.
  virtual void changed(const std::string& /*key*/) {}

  // Called by the network.
  /// The server has published it: the message is on its way.
  virtual void published(const std::string& key) = 0;
  /// A position in a queue has got the key, with that fence; 0: it has ended with its session.
  virtual void reached(std::uint64_t /*position*/, std::uint64_t /*fence*/) {}
  /// The server has ended the sleep of its connection.
  virtual void woken() {}
  /// The connection broke. `seen`: the client learns of it soon, else when it asks the next time.
  void broke(bool seen);
  std::uint64_t connection() const noexcept { return connection_; }
  process& of() noexcept { return process_; }

 protected:
  /// None of what was watched on that connection is watched any more.
  virtual void broken() = 0;
  /// 0: it takes none now.
  std::uint64_t connect();
  /// Runs later, at the client, after what was sent to it before.
  void at_client(std::function<void()> what, moment delay = 0);
  /// Runs later, at the server, after what was sent to it before; also if the client is no more by then.
  void at_server(std::function<void()> what);

  network& by_;
  process& process_;
  std::uint64_t connection_ = 0;  // 0: none
  bool deaf_ = false;             // it broke, and the client does not know

 private:
  moment next_in_ = 0;
  moment next_out_ = 0;
};

/// Hears what the server publishes, on one connection for all keys of the process.
class channel final : public subscriber {
 public:
  using subscriber::subscriber;

  void watch(const std::string& key, const id128& session, key_listener& listener) override;
  void unwatch(const std::string& key, key_listener& listener) override;
  std::size_t watches() const noexcept override;
  void published(const std::string& key) override;

 private:
  struct heard_key {
    std::vector<key_listener*> listeners{};
    bool works = false;  ///< the server has confirmed it
  };
  void broken() override;
  void begin();
  void subscribe(const std::string& key);
  void hear(std::uint64_t on, const std::string& key);

  std::map<std::string, heard_key, std::less<>> keys_{};
  bool connecting_ = false;
  moment pause_ = 0;  // between two tries to connect
  moment next_try_ = 0;
};

/// Keeps positions in the queues of keys at the server, one for each watch that names a session.
class queue_positions final : public subscriber {
 public:
  using subscriber::subscriber;
  ~queue_positions() override;

  void watch(const std::string& key, const id128& session, key_listener& listener) override;
  void unwatch(const std::string& key, key_listener& listener) override;
  std::optional<reply> take(const request& asked) override;
  std::size_t watches() const noexcept override { return watches_.size(); }
  void published(const std::string& key) override;
  void reached(std::uint64_t position, std::uint64_t fence) override;

 private:
  enum class state : std::uint8_t { beginning, waiting, first, given_away, broken };
  struct one_watch {
    std::string key{};
    id128 session{};
    std::uint64_t position = 0;  ///< 0: it watches the holder, and stands in no queue
    key_listener* listener = nullptr;
    state at = state::beginning;
    std::uint64_t fence = 0;
  };
  void broken() override;
  void watch_holder(one_watch& one);
  void give_up(one_watch& one);
  void leave(const one_watch& one);
  one_watch* find(std::uint64_t position) noexcept;

  std::vector<std::unique_ptr<one_watch>> watches_{};
};

}  // namespace dlock::simulation
