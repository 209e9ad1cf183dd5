// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "engine/registry/transaction_watch.hpp"

namespace dlock::test {

/// A transaction of the application's: open on the thread that made it from then until end(), which any thread may
/// call. One at a time on a thread. `store`: the store that shares its database.
class fake_transaction {
 public:
  explicit fake_transaction(const store& store) : now_(std::make_shared<state>(&store)) {
    watch();
    current() = now_;
  }
  ~fake_transaction() { end(); }
  fake_transaction(const fake_transaction&) = delete;
  fake_transaction& operator=(const fake_transaction&) = delete;

  /// Commit or rollback: the engine need not know. What waited for it is told on the calling thread.
  void end() { now_->end(); }
  /// Nobody can be told of its end.
  void tell_nobody() { now_->deaf = true; }
  /// How many wait for its end.
  std::size_t waited_for() const {
    const std::lock_guard lock(now_->mutex);
    return now_->ended.size();
  }

 private:
  struct state {
    explicit state(const store* shared) : home(shared) {}
    void end() {
      std::vector<std::function<void()>> tell;
      {
        const std::lock_guard lock(mutex);
        open = false;
        tell.swap(ended);
      }
      for (const auto& each : tell) each();
    }

    const store* const home;
    mutable std::mutex mutex{};
    std::vector<std::function<void()>> ended{};
    bool open = true;
    bool deaf = false;
  };

  class as_seen final : public engine::transaction_watch {
   public:
    bool open_here(store& store) noexcept override {
      const auto state = current().lock();
      if (state == nullptr || state->home != &store) return false;
      const std::lock_guard lock(state->mutex);
      return state->open;
    }
    bool at_end(store& store, std::function<void()> ended) noexcept override {
      const auto state = current().lock();
      if (state == nullptr || !open_here(store)) return false;
      const std::lock_guard lock(state->mutex);
      if (state->deaf) return false;
      state->ended.push_back(std::move(ended));
      return true;
    }
  };

  static void watch() {
    static as_seen all;
    engine::watch_transactions(all);
  }
  static std::weak_ptr<state>& current() {
    static thread_local std::weak_ptr<state> here;
    return here;
  }

  const std::shared_ptr<state> now_;
};

}  // namespace dlock::test
