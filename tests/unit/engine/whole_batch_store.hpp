// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlock/store/store.hpp"
#include "support/gate.hpp"

namespace dlock::test {

/// Another store, of which one statement serves several requests as a server's does: it fails for all of them, or gets no
/// answer for all of them. Knows which keys were asked for together; may stop a look at an idle connection.
class whole_batch_store final : public store {
 public:
  explicit whole_batch_store(std::shared_ptr<store> inner) : inner_(std::move(inner)) {}

  /// The keys of each statement, in their order, with blanks between them.
  std::vector<std::string> batches() const {
    const std::lock_guard lock(mutex_);
    return batches_;
  }
  /// Whoever looks whether a connection is alive stops there. Null: no more.
  void hold_looks(std::shared_ptr<gate> at) {
    const std::lock_guard lock(mutex_);
    looks_ = std::move(at);
  }

  const std::string& name() const noexcept override { return inner_->name(); }
  capabilities caps() const noexcept override { return inner_->caps(); }
  void prepare() override { inner_->prepare(); }
  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    auto made = inner_->connect(limit, why, cancel);
    if (made == nullptr) return nullptr;
    return std::make_unique<link>(*this, std::move(made));
  }
  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override {
    {
      std::string keys;
      for (const auto& each : requests) keys += (keys.empty() ? "" : " ") + std::string(each.resource);
      const std::lock_guard lock(mutex_);
      batches_.push_back(std::move(keys));
    }
    inner_->execute(inner(on), requests, replies);
    for (const auto& each : replies) {
      const bool fails = each.result == outcome::failed && each.why.contended;
      if (each.result != outcome::unknown && !fails) continue;
      const reply for_all = each;
      for (auto& other : replies) other = for_all;
      break;
    }
    for (std::size_t i = 0; i < replies.size(); ++i) replies[i].statements = i == 0 ? 1 : 0;
  }
  reply session(connection& on, session_verb action, const session_record& of) noexcept override {
    return inner_->session(inner(on), action, of);
  }
  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    return inner_->terminate(inner(on), lost);
  }

 private:
  class link final : public connection {
   public:
    link(whole_batch_store& in, std::unique_ptr<connection> to) : of(in), on(std::move(to)) {}
    void interrupt() noexcept override { on->interrupt(); }
    bool usable() const noexcept override { return on->usable(); }
    bool alive() noexcept override {
      std::shared_ptr<gate> at;
      {
        const std::lock_guard lock(of.mutex_);
        at = of.looks_;
      }
      const std::atomic<bool> never{false};
      if (at != nullptr) at->pass(never);
      return on->alive();
    }
    const connection_identity& identity() const noexcept override { return on->identity(); }

    whole_batch_store& of;
    const std::unique_ptr<connection> on;
  };
  static connection& inner(connection& on) { return *static_cast<link&>(on).on; }

  const std::shared_ptr<store> inner_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::vector<std::string> batches_{};
  std::shared_ptr<gate> looks_{};
};

}  // namespace dlock::test
