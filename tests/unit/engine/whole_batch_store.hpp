// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "support/forwarding_store.hpp"
#include "support/store_faults.hpp"

namespace dlock::test {

/// Another store, of which one statement serves several requests as a server's does: it fails for all of them, or gets
/// no answer for all of them. Knows which keys were asked for together; may stop a look at an idle connection.
class whole_batch_store final : public forwarding_store {
 public:
  using forwarding_store::forwarding_store;

  /// The keys of each statement, in their order, with blanks between them.
  std::vector<std::string> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  /// Whoever looks whether a connection is alive stops there. Null: no more.
  void hold_polls(std::shared_ptr<gate> at) {
    const std::lock_guard lock(mutex_);
    polls_ = std::move(at);
  }

  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    auto connection = inner().connect(limit, why, cancel);
    if (connection == nullptr) return nullptr;
    return std::make_unique<link>(*this, std::move(connection));
  }
  void execute(connection& connection, std::span<const request> requests, std::span<reply> replies) noexcept override {
    {
      std::string keys;
      for (const auto& each : requests) keys += (keys.empty() ? "" : " ") + std::string(each.resource);
      const std::lock_guard lock(mutex_);
      batches_.push_back(std::move(keys));
    }
    inner().execute(inner_of(connection), requests, replies);
    for (const auto& each : replies) {
      const bool fails = each.result == outcome::failed && each.why.contended;
      if (each.result != outcome::unknown && !fails) continue;
      const reply for_all = each;
      for (auto& other : replies) other = for_all;
      break;
    }
    for (std::size_t i = 0; i < replies.size(); ++i) replies[i].statements = i == 0 ? 1 : 0;
  }
  reply session(connection& connection, session_verb action, const session_record& record) noexcept override {
    return inner().session(inner_of(connection), action, record);
  }
  bool terminate(connection& connection, const connection_identity& lost) noexcept override {
    return inner().terminate(inner_of(connection), lost);
  }

 private:
  class link final : public connection {
   public:
    link(whole_batch_store& in, std::unique_ptr<connection> to) : store(in), connection(std::move(to)) {}
    void interrupt() noexcept override { connection->interrupt(); }
    bool usable() const noexcept override { return connection->usable(); }
    bool alive() noexcept override {
      std::shared_ptr<gate> at;
      {
        const std::lock_guard lock(store.mutex_);
        at = store.polls_;
      }
      if (at != nullptr) at->pass();
      return connection->alive();
    }
    const connection_identity& identity() const noexcept override { return connection->identity(); }

    whole_batch_store& store;
    const std::unique_ptr<dlock::connection> connection;
  };
  static connection& inner_of(connection& connection) { return *static_cast<link&>(connection).connection; }

  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<std::string> batches_{};
  std::shared_ptr<gate> polls_{};
};

}  // namespace dlock::test
