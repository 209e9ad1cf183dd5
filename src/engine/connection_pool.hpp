// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "dlock/clock.hpp"
#include "dlock/store.hpp"

namespace dlock::detail {

/// A handful of connections, each used for one statement at a time: nobody keeps one while waiting or holding.
class connection_pool {
 public:
  connection_pool(std::shared_ptr<store> where, time_source& time, std::size_t size);

  /// Called with each new connection, on the thread that made it. Set before use.
  void on_connect(std::function<void(const connection_identity&)> greet) { greet_ = std::move(greet); }
  /// Called with the limit of each loan: interrupt_hung() is to look then. Set before use.
  void on_watch(std::function<void(instant)> watch) { watch_ = std::move(watch); }

  /// A connection on loan. Gives it back, or drops it if it broke.
  class loan {
   public:
    loan() = default;
    loan(loan&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), slot_(std::exchange(other.slot_, nullptr)) {}
    loan& operator=(loan&&) = delete;
    ~loan();
    explicit operator bool() const noexcept { return slot_ != nullptr; }
    connection& operator*() const noexcept { return *slot_->on; }

   private:
    friend class connection_pool;
    struct slot {
      std::unique_ptr<connection> on{};
      instant limit = instant::max();  // guarded by the pool's mutex; max: not in use
    };
    loan(connection_pool* pool, slot* of) noexcept : pool_(pool), slot_(of) {}
    connection_pool* pool_ = nullptr;
    slot* slot_ = nullptr;
  };

  /// Waits for a free connection until `until`, connects if need be (also bounded by it, but at least 100
  /// ms). `patience`: after so long what runs on it counts as hung and is interrupted. Empty: `why` says the reason.
  loan get(instant until, microseconds patience, fault& why);

  /// Interrupts what is past its limit, says when to look again. Called by the alarm thread.
  instant interrupt_hung(instant now) noexcept;
  /// Connections open now.
  std::size_t open() const;

 private:
  using slot = loan::slot;
  void give_back(slot* of) noexcept;
  std::unique_ptr<connection> connect(instant until, fault& why);

  const std::shared_ptr<store> store_;
  time_source& time_;
  std::function<void(const connection_identity&)> greet_;
  std::function<void(instant)> watch_;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<slot>> slots_;  // fixed after construction
  std::vector<slot*> idle_;                   // last in, first out: the warm one first
};

}  // namespace dlock::detail
