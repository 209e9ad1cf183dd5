// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The operations that wait on executors of one execution context. A lock_service may outlive the context: operations
/// that still wait when the context is destroyed end with it, without a call of their handlers.

#include <concepts>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "dlock/detail/asio_net.hpp"

#if defined(DLOCK_STANDALONE_ASIO)
#include <asio/execution_context.hpp>
#else
#include <boost/asio/execution_context.hpp>
#endif

namespace dlock::asio::detail {

class pending_operation {
 public:
  /// Destroys the handler, and *this with it.
  virtual void abandon() noexcept = 0;

 protected:
  ~pending_operation() = default;
};

class pending_operations {
 public:
  std::uint64_t add(pending_operation& op) {
    const std::lock_guard lock(mutex_);
    all_.emplace(++last_, &op);
    return last_;
  }
  /// Calls `use` with the operation while its context lives; false: the context has been destroyed.
  template <class Use>
  bool take(std::uint64_t ticket, Use&& use) {
    const std::lock_guard lock(mutex_);  // the context's end waits for it
    const auto found = all_.find(ticket);
    if (found == all_.end()) return false;
    auto* const op = found->second;
    all_.erase(found);
    use(op);
    return true;
  }
  void abandon_all() noexcept {
    std::unordered_map<std::uint64_t, pending_operation*> all;
    {
      const std::lock_guard lock(mutex_);
      all.swap(all_);
    }
    for (const auto& [ticket, op] : all) op->abandon();
  }

 private:
  std::recursive_mutex mutex_;  // an executor that runs at once what is posted may begin another operation
  std::unordered_map<std::uint64_t, pending_operation*> all_;
  std::uint64_t last_ = 0;
};

/// Has the context say when it ends.
class pending_service final : public net::execution_context::service {
 public:
  using key_type = pending_service;
  inline static net::execution_context::id id;

  explicit pending_service(net::execution_context& context) : net::execution_context::service(context) {}
  const std::shared_ptr<pending_operations>& operations() const noexcept { return operations_; }

 private:
  void shutdown() noexcept override { operations_->abandon_all(); }

  const std::shared_ptr<pending_operations> operations_ = std::make_shared<pending_operations>();
};

/// Null for an executor that doesn't tell its context.
template <class Executor>
std::shared_ptr<pending_operations> pending_of(const Executor& executor) {
  if constexpr (requires {
                  { net::query(executor, net::execution::context) } -> std::convertible_to<net::execution_context&>;
                }) {
    net::execution_context& context = net::query(executor, net::execution::context);
    return net::use_service<pending_service>(context).operations();
  } else if constexpr (requires {
                         { executor.context() } -> std::convertible_to<net::execution_context&>;
                       }) {
    return net::use_service<pending_service>(static_cast<net::execution_context&>(executor.context())).operations();
  } else {
    return nullptr;
  }
}

}  // namespace dlock::asio::detail
