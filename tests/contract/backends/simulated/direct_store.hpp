// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "contract/store_fixture.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "simulation/database.hpp"

namespace dlock::test {

class direct_connection final : public connection {
 public:
  void interrupt() noexcept override {}
  bool usable() const noexcept override { return true; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  const connection_identity identity_{"simulated", "1", 0};
};

/// The simulated tables without a server around them: each call is done at once.
class direct_store final : public store, private store_admin, private transactional_store {
 public:
  explicit direct_store(const time_source& time) : time_(time) {}

  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override { return {.rows = true, .passes_on = true}; }
  void prepare() override {}
  std::unique_ptr<connection> connect(microseconds, fault&) noexcept override {
    return std::make_unique<direct_connection>();
  }
  void execute(connection&, std::span<const request> requests, std::span<reply> replies) noexcept override {
    const std::lock_guard lock(mutex_);
    std::vector<reply> answers(requests.size());
    // A row that a transaction has locked is not waited for.
    std::vector<request> asked;
    std::vector<std::size_t> positions;
    std::vector<std::string> names;
    for (const auto& each : requests) names.push_back(name_of(each));
    for (std::size_t i = 0; i != requests.size(); ++i) {
      answers[i].why = {.native = 1205, .transient = true, .contended = true};
      const auto at = tables_.locks().find(names[i]);
      const bool locked = at != tables_.locks().end() && at->second.locked_by != 0;
      if (locked && requests[i].action != verb::poll) continue;
      asked.push_back(requests[i]);
      asked.back().resource = names[i];
      positions.push_back(i);
    }
    std::vector<reply> executed(asked.size());
    if (!asked.empty()) tables_.run_batch(asked, {clock(), nullptr}, executed);
    for (std::size_t i = 0; i != positions.size(); ++i) answers[positions[i]] = std::move(executed[i]);
    std::move(answers.begin(), answers.end(), replies.begin());
    // Only polls are one statement for all.
    if (requests.front().action == verb::poll) return;
    for (auto& each : replies) each.statements = 1;
  }
  reply session(connection&, session_verb action, const session_record& of) noexcept override {
    const std::lock_guard lock(mutex_);
    return tables_.run(action, of, clock());
  }
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return this; }
  transactional_store* transactions() noexcept override { return this; }

  /// A key may read like a row; here both are in one table.
  static std::string name_of(const row_id& row) {
    const auto named = lock_key::of_row(row.table, row.values);
    return "\1" + std::string(named.view());
  }
  static std::string name_of(const request& q) { return q.row != nullptr ? name_of(*q.row) : std::string(q.resource); }

  /// What another user of the same tables does, in one step.
  template <class Use>
  auto with_tables(Use use) {
    const std::lock_guard lock(mutex_);
    return use(tables_);
  }
  simulation::moment clock() const { return time_.now().time_since_epoch().count(); }

 private:
  /// A statement of its own, since there is no SQL: what to do, the key, session, nonce and fence.
  static verification statement(const std::string& what, const request& grant) {
    const auto key = name_of(grant);
    verification made;
    made.sql = what + " ? ? ? ?";
    made.text = what + " '" + quoted(key) + "' '" + grant.session.hex() + "' " + std::to_string(grant.nonce) + " " +
                std::to_string(grant.fence);
    made.parameters = {key, grant.session.hex(), grant.nonce, grant.fence};
    return made;
  }
  static std::string quoted(const std::string& text) {
    std::string made;
    for (const char each : text) made += each == '\'' ? std::string("''") : std::string(1, each);
    return made;
  }
  verification verification_of(const request& grant) const override { return statement("VERIFY", grant); }
  verification release_of(const request& grant) const override { return statement("RELEASE", grant); }
  reply blocker(connection&, const request&, connection_identity&) noexcept override { return {}; }
  bool caller_may_wait(fault&) const noexcept override { return true; }

  static reply done() {
    reply made;
    made.result = outcome::yes;
    return made;
  }
  reply inspect(connection&, const request& key, std::vector<holder_info>& found) noexcept override {
    const std::lock_guard lock(mutex_);
    if (auto info = tables_.describe(name_of(key), clock())) found.push_back(std::move(*info));
    return done();
  }
  reply list(connection&, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto& rows = tables_.locks();
    for (auto at = rows.upper_bound(after); at != rows.end() && limit > 0; ++at) {
      auto info = tables_.describe(at->first, clock());
      if (!info) continue;
      found.push_back(std::move(*info));
      --limit;
    }
    return done();
  }
  reply revoke(connection&, const request& key) noexcept override {
    const std::lock_guard lock(mutex_);
    auto made = done();
    if (!tables_.revoke(name_of(key))) made.result = outcome::no;
    return made;
  }
  reply cleanup(connection&, microseconds idle, std::size_t limit) noexcept override {
    const std::lock_guard lock(mutex_);
    auto made = done();
    made.fence = tables_.cleanup(idle.count(), limit, clock());
    return made;
  }

  const time_source& time_;
  const std::string name_ = "simulated:";
  std::mutex mutex_;
  simulation::database tables_{};
};

}  // namespace dlock::test
