// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "simulation/known_waiters.hpp"
#include "simulation/notifications.hpp"
#include "simulation/process.hpp"
#include "simulation/server.hpp"
#include "stores/sql/shared_keys.hpp"

namespace dlock::simulation {

class simulated_connection;
class turns_of_others;

/// The way from all processes to the server, and what goes wrong on it.
class network {
 public:
  network(world& in, server& to, const plan& how);
  network(const network&) = delete;
  network& operator=(const network&) = delete;
  ~network();
  world& in() noexcept { return world_; }
  server& to() noexcept { return server_; }
  const plan& how() const noexcept { return plan_; }
  /// Between that process and the server.
  moment travel(const process& of) noexcept {
    return (of.clock().distance - 1) * plan_.travel + world_.random.between(1, plan_.travel);
  }
  /// The faults of the plan are over.
  void calm() noexcept { calm_ = server_.calm = true; }
  bool hits(hazard what, std::uint64_t ppm) noexcept;
  /// A connection of the application's own.
  void joined(process& of, std::uint64_t connection) { others_.emplace_back(&of, connection); }
  void left(std::uint64_t connection) {
    std::erase_if(others_, [connection](const auto& each) { return each.second == connection; });
  }
  /// The process is no more; the server learns that of each of its connections in its own time.
  void vanished(process& of);

  /// One to be sent. Given back when it was answered, its memory serves the next one.
  std::shared_ptr<job> take_job();
  void give_back(std::shared_ptr<job> one);

  // Those who are notified, by their connections and positions.
  void remember(std::uint64_t connection, subscriber& one);
  void forget(std::uint64_t connection);
  void remember_position(std::uint64_t position, subscriber& one) { positions_[position] = &one; }
  void forget_position(std::uint64_t position) { positions_.erase(position); }
  /// The connection of some process on which it is notified breaks; `silent`: and nobody sees it.
  void break_channel(bool silent);

  std::uint64_t statements = 0;
  std::uint64_t faults = 0;
  std::uint64_t notifications = 0;

 private:
  friend class simulated_connection;
  world& world_;
  server& server_;
  const plan& plan_;
  bool calm_ = false;
  std::map<std::uint64_t, simulated_connection*> open_{};
  std::map<std::uint64_t, subscriber*> subscribers_{};
  std::map<std::uint64_t, subscriber*> positions_{};
  std::vector<std::shared_ptr<job>> spare_{};
  std::vector<std::weak_ptr<job>> made_{};
  std::vector<std::pair<process*, std::uint64_t>> others_{};
};

/// The store of one process. Its calls take simulated time, in which other threads go on.
class simulated_store final : public store,
                              public store_admin,
                              public transactional_store,
                              public std::enable_shared_from_this<simulated_store> {
 public:
  simulated_store(network& by, process& of);

  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override;
  bool takes_wait() const noexcept override;
  void prepare() override {}
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override;
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override;
  reply session(connection& on, session_verb action, const session_record& of) noexcept override;
  void watch(std::string_view key, const id128& session, key_listener& listener) noexcept override;
  void unwatch(std::string_view key, const id128& session, key_listener& listener) noexcept override;
  reply waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept override;
  void waiters_changed(std::string_view key) noexcept override;
  void listen(store_listener& listener) noexcept override { listeners_.push_back(&listener); }
  void unlisten(store_listener& listener) noexcept override { std::erase(listeners_, &listener); }
  bool terminate(connection& on, const connection_identity& lost) noexcept override;
  store_admin* admin() noexcept override { return this; }
  transactional_store* transactions() noexcept override { return caps_.rows ? this : nullptr; }

  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override;
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override;
  reply revoke(connection& on, const request& key) noexcept override;
  reply cleanup(connection& on, microseconds idle, std::size_t limit) noexcept override;

  verification verification_of(const request& grant) const override;
  verification release_of(const request& grant) const override;
  reply blocker(connection& on, const request& key, connection_identity& out) noexcept override;
  bool caller_may_wait(fault&) const noexcept override { return true; }

  process& of() noexcept { return process_; }
  known_waiters& known() noexcept { return known_; }
  /// The server has ended a connection, and the client has seen it.
  void connection_ended();
  /// A lock of the process was deleted.
  void lock_deleted(const std::string& key, const id128& session, std::uint64_t fence);
  /// Of listeners that have not left.
  std::size_t watches() const noexcept { return subscriber_ != nullptr ? subscriber_->watches() : 0; }

 private:
  friend class sql_connection_of_store;
  /// The statement may run when the store and its process are no more, so `what` must not refer to them.
  reply ask(connection& on, std::function<reply(network&, moment)> what);
  /// Puts the members of a key in the place of what its row names.
  reply name_members(connection& on, std::vector<holder_info>& found, const reply& before);
  /// Sends SQL.
  reply send(connection& on, const stores::sql::sql_text& text, stores::sql::sql_values values,
             stores::sql::sql_rows* rows);
  /// Wakes those waiters, each by a statement more. How many.
  unsigned wake(connection& on, std::uint64_t wake_id);
  /// See request::wake of a poll.
  void ring(connection& on, const id128& holder);
  /// Whether another process must have the free key first. Wakes that, or passes it over.
  bool others_first(connection& on, const request& asked, std::uint64_t fence, std::optional<waiter_table::row> first);

  network& by_;
  process& process_;
  const capabilities caps_;
  const std::string name_ = "simulated:";
  const std::shared_ptr<turns_of_others> turns_;
  std::shared_ptr<subscriber> subscriber_{};
  known_waiters known_;
  std::unique_ptr<stores::sql::shared_keys> shared_{};
  std::vector<store_listener*> listeners_{};
};

}  // namespace dlock::simulation
