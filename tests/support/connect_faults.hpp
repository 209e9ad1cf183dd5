// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <utility>

#include "dlock/error.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "support/gate.hpp"

namespace dlock::test {

/// What can go wrong with connections apart from statements; for a store that asks it. Thread safety: all functions
/// from any thread.
class connect_faults {
 public:
  /// Attempts to connect stop there, until it opens or they are cancelled. Null: no more.
  void hold_connects(std::shared_ptr<gate> at) {
    const std::lock_guard lock(mutex_);
    held_at_ = std::move(at);
  }
  /// No more than so many connections at one time: error 1040.
  void allow_connections(std::size_t most) { allowed_ = most; }
  /// The next so many times that the store is prepared, that fails.
  void not_ready(std::size_t times, store_error error) {
    const std::lock_guard lock(mutex_);
    not_ready_ = times;
    error_.emplace(std::move(error));
  }
  /// How often it was prepared, or tried to be.
  std::size_t prepared() const { return prepared_; }
  /// No connection can be made, for that reason.
  void refuse_connections(fault why) {
    const std::lock_guard lock(mutex_);
    refusal_ = std::move(why);
  }
  /// The server closes all connections while they lie idle. `seen`: a poll at one shows it; else it shows as it is
  /// used, before anything is sent.
  void close_connections(bool seen = true) {
    closing_shows_ = seen;
    ++closings_;
  }

  std::size_t connections() const { return connections_; }
  std::size_t most_connections() const { return most_connections_; }
  /// How often a connection was asked for.
  std::size_t tried() const { return tried_; }
  /// How many attempts were under way at one time.
  std::size_t most_connecting() const { return most_connecting_; }

 protected:
  void prepares() {
    const std::lock_guard lock(mutex_);
    ++prepared_;
    if (not_ready_ == 0) return;
    --not_ready_;
    throw *error_;
  }

  /// A connection counts, and knows whether the server has closed it.
  class existence {
   public:
    explicit existence(connect_faults& faults) : faults_(faults), born_(faults.closings_) {
      raise(faults_.most_connections_, ++faults_.connections_);
    }
    ~existence() {
      --faults_.connections_;
      faults_.leave_slot();
    }
    existence(const existence&) = delete;
    existence& operator=(const existence&) = delete;
    bool closed() const noexcept { return born_ != faults_.closings_; }
    bool seen_closed() const noexcept { return closed() && faults_.closing_shows_; }

   private:
    connect_faults& faults_;
    const std::size_t born_;
  };

  /// An attempt begins. False, and the reason: it fails. True: it has a place, which is a connection's until that ends,
  /// or must be left.
  bool may_connect(const std::stop_token& cancel, fault& why) {
    ++tried_;
    raise(most_connecting_, ++connecting_);
    if (const auto at = held_at()) {
      std::atomic<bool> cancelled{false};
      const std::stop_callback on_cancel(cancel, [&] { cancelled = true; });
      at->pass(cancelled);
    }
    --connecting_;
    if (const std::lock_guard lock(mutex_); refusal_) {
      why = *refusal_;
      return false;
    }
    auto taken = taken_.load();
    while (!cancel.stop_requested() && taken < allowed_) {
      if (taken_.compare_exchange_weak(taken, taken + 1)) return true;
    }
    why = {.native = 1040, .transient = true, .connection = true, .full = true, .text = "too many connections"};
    return false;
  }
  void leave_slot() noexcept { --taken_; }

 private:
  static void raise(std::atomic<std::size_t>& most, std::size_t now) {
    for (auto before = most.load(); before < now && !most.compare_exchange_weak(before, now);) {
    }
  }
  std::shared_ptr<gate> held_at() const {
    const std::lock_guard lock(mutex_);
    return held_at_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<gate> held_at_{};  // these three guarded by mutex_
  std::optional<fault> refusal_{};   // guarded by mutex_
  std::size_t not_ready_ = 0;
  std::optional<store_error> error_{};
  std::atomic<std::size_t> prepared_{0};
  std::atomic<std::size_t> allowed_{1'000'000};
  std::atomic<std::size_t> taken_{0};
  std::atomic<std::size_t> connections_{0};
  std::atomic<std::size_t> most_connections_{0};
  std::atomic<std::size_t> tried_{0};
  std::atomic<std::size_t> connecting_{0};
  std::atomic<std::size_t> most_connecting_{0};
  std::atomic<std::size_t> closings_{0};
  std::atomic<bool> closing_shows_{true};
};

}  // namespace dlock::test
