// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/types.h>

#include <zookeeper/zookeeper.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <shared_mutex>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "stores/name_lookup.hpp"

namespace dlock::stores::zookeeper {

/// Which of the two wide-spread recipes takes our nodes for its own. Ours respects the nodes of both.
enum class node_names { curator, kazoo };

/// The parameters of a zookeeper:// URL, checked. dlock/stores/zookeeper.hpp documents them.
struct zookeeper_settings {
  std::string name{};                  ///< the URL without its password
  std::vector<std::string> servers{};  ///< "host:port"
  std::string digest{};                ///< "user:password"; empty: none
  std::string base{};                  ///< path of the node below which each key has one; empty: the root
  node_names names = node_names::curator;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};
  std::shared_ptr<name_lookup> names_of_hosts = std::make_shared<name_lookup>();

  /// Throws std::invalid_argument naming the parameter and its value.
  static zookeeper_settings parse(store_url url);
};

/// What came of a request. Of the parts only those that it has are filled in.
struct answer {
  int code = ZOPERATIONTIMEOUT;  ///< ZOK, or an error of the client library. Unless set: there was none in time
  std::string text{};            ///< the path of a new node, or the data of one
  std::vector<std::string> names{};
  std::uint64_t created = 0;  ///< the number of the transaction that made the node (czxid)

  /// It may have been done, or may still be.
  bool lost() const noexcept { return code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT || code == ZCLOSING; }
};
using on_answer = std::function<void(answer)>;

/// Hears from the servers that a node is not what it was.
class node_listener {
 public:
  virtual ~node_listener() = default;
  /// By a thread of the library's.
  virtual void changed() = 0;
};

/// A session at the servers, and the library's handle of it, which connects again by itself. Requests are answered by a
/// thread of the library's, or at once by the caller's if they can't be sent; what is sent on one handle is executed in
/// that order. Thread-safe.
class zookeeper_handle {
 public:
  /// Connects in the background. `on_loss` is called, by a thread of the library's, when a connection breaks or the
  /// servers have ended the session; it only signals. Throws std::runtime_error with what is wrong. Waits for the name
  /// service for half a connect_timeout at most.
  zookeeper_handle(const zookeeper_settings& settings, std::chrono::milliseconds session_timeout,
                   std::function<void()> on_loss = {});
  ~zookeeper_handle();
  zookeeper_handle(const zookeeper_handle&) = delete;
  zookeeper_handle& operator=(const zookeeper_handle&) = delete;

  bool connected() const noexcept { return state_.load() == state::connected; }
  /// False in a child of fork(), which must leave it alone.
  bool ours() const noexcept;
  /// Whether the servers have ended it, or it was closed. It never mends.
  bool over() const noexcept { return state_.load() == state::over; }
  /// ZOK as soon as it is connected; another code once it is over. Returns a number for stop_waiting().
  std::uint64_t when_connected(on_answer done);
  /// Forgets a waiter for that, whether it was notified or not. It may just be notified.
  void stop_waiting(std::uint64_t number) noexcept;
  /// How many wait for that.
  std::size_t waiting();
  /// What the servers have agreed to.
  std::chrono::milliseconds timeout();
  /// Ends the session at the servers, and with it all that it has made, if they can be reached; false: not certain.
  /// Every request that is not answered yet is answered, listeners are notified, and nothing after it. Not by a thread
  /// of the library's.
  bool close() noexcept;
  /// Leaves a server that does not answer for another one, or the same: the session goes on there. By itself the
  /// library does that when two thirds of the session's timeout have passed, which is later than a lease lasts. Waits
  /// for the name service likewise.
  void reconnect() noexcept;

  /// `mode`: ZOO_EPHEMERAL ... Answers with path and transaction.
  void create(const std::string& path, const std::string& data, int mode, on_answer done);
  void remove(const std::string& path, on_answer done);
  void list(const std::string& path, on_answer done);
  void read(const std::string& path, on_answer done);
  /// The same; if it is there, `listener` is notified once when it is not the same any more, or gone.
  void read_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener, on_answer done);
  /// Answered by the leader.
  void sync(const std::string& path, on_answer done);
  /// A list that is no older than the leader's. An answer without names is the other's.
  void sync_and_list(const std::string& path, on_answer done);

 private:
  enum class state { connecting, connected, over };
  static void on_event(zhandle_t* from, int type, int now, const char* path, void* about);
  static void on_change(zhandle_t* from, int type, int now, const char* path, void* about);
  zhandle_t* make_native(const std::vector<std::string>& servers, const clientid_t* session);
  void now_is(int native_state);
  void leave(zhandle_t* retired) noexcept;
  void end_retired() noexcept;
  void watch_again();
  void forget(const std::string& path, const std::shared_ptr<node_listener>& listener);
  template <class Call>
  void send(on_answer done, Call&& call);
  /// The state before.
  state set_state(state to, int code) noexcept;

  const pid_t process_;
  const zookeeper_settings settings_;
  const int asked_ms_;
  const ACL_vector* const rights_;
  const std::function<void()> on_loss_;
  std::shared_mutex closing_{};  // shared: the handle is in use
  zhandle_t* native_ = nullptr;
  std::atomic<state> state_{state::connecting};
  // Each ends a handle that was left, which may take a second.
  std::vector<std::future<void>> leaving_ DLOCK_GUARDED_BY(mutex_){};
  // Were left and can't be ended before the session is.
  std::vector<zhandle_t*> stuck_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<bool> moved_{false};  // by reconnect(); watches don't come along
  base::mutex mutex_{};
  std::map<std::uint64_t, on_answer> waiting_ DLOCK_GUARDED_BY(mutex_){};  // in their order
  std::uint64_t last_waiting_ DLOCK_GUARDED_BY(mutex_) = 0;
  // By path: the library says which one has changed, and keeps one watch for each.
  std::map<std::string, std::vector<std::weak_ptr<node_listener>>, std::less<>> watched_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::zookeeper
