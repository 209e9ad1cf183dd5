// SPDX-License-Identifier: GPL-2.0-or-later
// The tables of the simulation must do what those of real stores do. Its network, and what goes wrong on that, is left out.
#include <algorithm>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "contract/virtual_place.hpp"
#include "dlock/store/store_admin.hpp"
#include "simulation/database.hpp"

namespace dlock::test {

namespace {

class direct_connection final : public connection {
 public:
  void interrupt() noexcept override {}
  bool usable() const noexcept override { return true; }
  const connection_identity& identity() const noexcept override { return identity_; }

 private:
  const connection_identity identity_{"simulated", "1", 0};
};

/// The simulated tables without a server around them: each call is done at once.
class direct_store final : public store, private store_admin {
 public:
  explicit direct_store(const time_source& time) : time_(time) {}

  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override { return {}; }
  void prepare() override {}
  std::unique_ptr<connection> connect(microseconds, fault&) noexcept override {
    return std::make_unique<direct_connection>();
  }
  void execute(connection&, std::span<const request> requests, std::span<reply> replies) noexcept override {
    const std::lock_guard lock(mutex_);
    std::vector<reply> answers(requests.size());
    tables_.run_batch({requests.begin(), requests.end()}, {clock(), nullptr}, answers);
    std::move(answers.begin(), answers.end(), replies.begin());
    // Only looks are one statement for all.
    if (requests.front().action == verb::look) return;
    for (auto& each : replies) each.statements = 1;
  }
  reply session(connection&, session_verb action, const session_record& of) noexcept override {
    const std::lock_guard lock(mutex_);
    return tables_.run(action, of, clock());
  }
  bool terminate(connection&, const connection_identity&) noexcept override { return true; }
  store_admin* admin() noexcept override { return this; }

 private:
  simulation::moment clock() const { return time_.now().time_since_epoch().count(); }
  static reply done() {
    reply made;
    made.result = outcome::yes;
    return made;
  }
  reply inspect(connection&, const request& key, std::vector<holder_info>& found) noexcept override {
    const std::lock_guard lock(mutex_);
    if (auto info = tables_.describe(std::string(key.resource), clock())) found.push_back(std::move(*info));
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
    if (!tables_.revoke(key.resource)) made.result = outcome::no;
    return made;
  }
  reply clean_up(connection&, microseconds idle, std::size_t limit) noexcept override {
    const std::lock_guard lock(mutex_);
    auto made = done();
    made.fence = tables_.clean_up(idle.count(), limit, clock());
    return made;
  }

  const time_source& time_;
  const std::string name_ = "simulated:";
  std::mutex mutex_;
  simulation::database tables_{};
};

}  // namespace

std::unique_ptr<store_place> make_store_place() { return std::make_unique<virtual_place<direct_store>>(); }

}  // namespace dlock::test
