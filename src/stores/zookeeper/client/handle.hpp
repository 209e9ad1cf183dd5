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

/// Which recipe of other programs recognises our nodes.
enum class node_names { curator, curator_readwrite, curator_semaphore, kazoo };

/// The parameters of a zookeeper:// URL, checked. dlock/stores/zookeeper.hpp documents them.
struct zookeeper_settings {
  std::string name{};                  ///< the URL without its password
  std::vector<std::string> servers{};  ///< "host:port"
  std::string digest{};                ///< "user:password", or empty
  std::string base{};                  ///< path of the node that has a child for each key; empty for the root
  node_names names = node_names::curator;
  std::chrono::milliseconds connect_timeout{5'000};
  std::chrono::milliseconds statement_timeout{5'000};
  std::shared_ptr<name_lookup> names_of_hosts = std::make_shared<name_lookup>();

  /// Throws std::invalid_argument naming the parameter and its value.
  static zookeeper_settings parse(store_url url);
};

/// The result of a request. Parts that it does not have are empty.
struct answer {
  int code = ZOPERATIONTIMEOUT;  ///< ZOK, or an error of the client library; initially that there was no answer in time
  std::string text{};            ///< the path of a new node, or the data of one
  std::vector<std::string> names{};
  std::uint64_t created = 0;  ///< the number of the transaction that made the node (czxid)

  /// Whether the request may have been executed, or still be.
  bool lost() const noexcept { return code == ZCONNECTIONLOSS || code == ZOPERATIONTIMEOUT || code == ZCLOSING; }
};
using on_answer = std::function<void(answer)>;

/// Is notified when a node has changed.
class node_listener {
 public:
  virtual ~node_listener() = default;
  /// Called by a thread of the library.
  virtual void changed() = 0;
};

/// A session at the servers, and the library's handle of it, which reconnects by itself. A thread of the library
/// delivers answers, or the caller's at once if a request can't be sent. Requests on one handle are executed in their
/// order. Thread-safe.
class zookeeper_handle {
 public:
  /// Connects in the background. A thread of the library calls `on_loss` when a connection breaks or the servers have
  /// ended the session; it may only signal. Throws std::runtime_error with the reason. Waits for the name service for
  /// at most half a connect_timeout.
  zookeeper_handle(const zookeeper_settings& settings, std::chrono::milliseconds session_timeout,
                   std::function<void()> on_loss = {});
  ~zookeeper_handle();
  zookeeper_handle(const zookeeper_handle&) = delete;
  zookeeper_handle& operator=(const zookeeper_handle&) = delete;

  bool connected() const noexcept { return state_.load() == state::connected; }
  /// Returns false in a child of fork(), which must not use it.
  bool ours() const noexcept;
  /// Whether the servers have ended it, or it was closed. It never recovers.
  bool over() const noexcept { return state_.load() == state::over; }
  /// Answers ZOK as soon as it is connected, or another code once it is over. Returns a number for stop_waiting().
  std::uint64_t when_connected(on_answer done);
  /// Drops that waiter, which may have been notified, or is being notified now.
  void stop_waiting(std::uint64_t number) noexcept;
  /// The number of waiters of when_connected().
  std::size_t waiting();
  /// The timeout that the servers have agreed to.
  std::chrono::milliseconds timeout();
  /// Ends the session at the servers, with all that it has made. Returns false if that is not certain, because they
  /// can't be reached. Every pending request is answered, listeners are notified, and nothing follows. Must not be
  /// called by a thread of the library.
  bool close() noexcept;
  /// Leaves a server that does not answer for another one, or the same, where the session continues. The library itself
  /// does that only after two thirds of the session's timeout, when a lease would have ended. Waits for the name
  /// service for at most half a connect_timeout.
  void reconnect() noexcept;

  /// `mode` is ZOO_EPHEMERAL and so on. Answers with path and transaction.
  void create(const std::string& path, const std::string& data, int mode, on_answer done);
  void remove(const std::string& path, on_answer done);
  void list(const std::string& path, on_answer done);
  void read(const std::string& path, on_answer done);
  /// Reads a node. If it exists, `listener` is notified once when it has changed or is deleted.
  void read_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener, on_answer done);
  /// Lists a node. If it exists, `listener` is notified once when its children have changed.
  void list_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener, on_answer done);
  /// The leader answers.
  void sync(const std::string& path, on_answer done);
  /// Reads a list that is no older than the leader's. An answer without names is that of sync().
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
  /// Notes a watch before it is set. Returns the function that takes the answer.
  on_answer watched(const std::string& path, const std::shared_ptr<node_listener>& listener, on_answer done);
  void forget(const std::string& path, const std::shared_ptr<node_listener>& listener);
  template <class Call>
  void send(on_answer done, Call&& call);
  /// Returns the state before.
  state set_state(state to, int code) noexcept;

  const pid_t process_;
  const zookeeper_settings settings_;
  const int asked_ms_;
  const ACL_vector* const rights_;
  const std::function<void()> on_loss_;
  std::shared_mutex closing_{};  // locked shared while the handle is in use
  zhandle_t* native_ = nullptr;
  std::atomic<state> state_{state::connecting};
  // Each destroys a handle that was left, which may take a second.
  std::vector<std::future<void>> leaving_ DLOCK_GUARDED_BY(mutex_){};
  // Handles that were left and can't be destroyed before the session ends.
  std::vector<zhandle_t*> stuck_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<bool> moved_{false};  // reconnect() was called, which loses watches
  base::mutex mutex_{};
  std::map<std::uint64_t, on_answer> waiting_ DLOCK_GUARDED_BY(mutex_){};  // in their order
  std::uint64_t last_waiting_ DLOCK_GUARDED_BY(mutex_) = 0;
  // By path: the library reports which one has changed, and keeps one watch for each.
  std::map<std::string, std::vector<std::weak_ptr<node_listener>>, std::less<>> watched_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::zookeeper
