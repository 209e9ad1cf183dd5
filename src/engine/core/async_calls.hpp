// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The calls behind the asynchronous interfaces: operations without a waiting thread.

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <variant>
#include <vector>

#include "dlock/detail/once_function.hpp"
#include "engine/core/call_steps.hpp"
#include "engine/drivers/async_driver.hpp"
#include "engine/operations/extension.hpp"

namespace dlock::engine {

/// Gets the exception of an asynchronous call, or null.
using end_handler = detail::once_function<void(std::exception_ptr)>;

/// One call without a waiting thread. It owns the service, and all that its operation refers to, until its handler has
/// been called. The constructor reads what only the calling thread knows, and throws if the call itself is wrong. Every
/// other result goes to the handler.
class async_call : public async_run, public completion {
 public:
  virtual ~async_call() = default;
  /// Begins the call and returns. The call destroys itself.
  static void run(std::unique_ptr<async_call> call) noexcept;

 protected:
  /// Throws lock_refused in a forked child, and std::system_error if no thread could be started.
  async_call(service_core& core, const std::stop_token& cancel);
  virtual operation& about() noexcept = 0;
  /// Takes the result of the operation, unless that has thrown. Called on the driver's thread, so it must not wait. It
  /// may throw. drop_operation() follows, so that no waiter in a queue depends on the application.
  virtual void take_result() = 0;
  virtual void drop_operation() noexcept = 0;
  /// Calls the handler with `failure` or the result, on the thread of handlers.
  virtual void tell(std::exception_ptr failure) = 0;
  /// The call will end with that exception and not begin.
  void fail(std::exception_ptr failure) noexcept { failure_ = std::move(failure); }
  service_core& core() const noexcept { return core_; }

 private:
  void finished(std::exception_ptr failure) noexcept final;
  void ended() noexcept final { driver().complete_later(*this); }
  void complete() noexcept final;

  const service_core::call under_way_;
  service_core& core_;
  std::exception_ptr failure_{};
};

/// acquire() or acquire_all() without a waiting thread. The owner is that of an owner_scope of the calling thread,
/// otherwise a new one, so that two such calls exclude each other even on one thread.
template <class Keys>
class async_acquire final : public async_call {
 public:
  using handler = detail::once_function<void(std::exception_ptr, const Keys&, acquired_of<Keys>&&)>;

  async_acquire(service_core& core, const Keys& keys, const detail::lock_settings& terms,
                const lock_request::wait_mode& wait_mode, handler then);

 private:
  operation& about() noexcept final { return *std::get_if<acquisition_of<Keys>>(&op_); }
  void take_result() final;
  void drop_operation() noexcept final;
  void tell(std::exception_ptr failure) final;

  const Keys keys_;
  const detail::lock_settings terms_;
  const bool in_transaction_;
  std::variant<acquired_of<Keys>, acquisition_of<Keys>> op_{};  // the result, once it is over
  handler then_;
};
extern template class async_acquire<lock_key>;
extern template class async_acquire<lock_keys>;

/// release() of one lease or several without a waiting thread. end_leases() must be called before run().
class async_release final : public async_call {
 public:
  /// `leases` is their number.
  async_release(service_core& core, std::size_t leases, end_handler then);
  /// Ends the leases in the given order. Precondition: there are as many as the constructor was told, of one service.
  void end_leases(std::span<std::shared_ptr<grant>> grants) noexcept;

 private:
  operation& about() noexcept final { return *op_; }
  void take_result() final;
  void drop_operation() noexcept final { op_.reset(); }
  void tell(std::exception_ptr failure) final { then_(std::move(failure)); }

  std::vector<ended_lease> all_;
  std::vector<statement*> room_;
  std::optional<release_operation> op_;
  end_handler then_;
};

/// extend() without a waiting thread.
class async_extend final : public async_call {
 public:
  /// Throws like extend() if the statement would wait for this thread.
  async_extend(const std::shared_ptr<grant>& grant, microseconds ttl, end_handler then);

 private:
  operation& about() noexcept final { return *op_; }
  void take_result() final {}  // there is none
  void drop_operation() noexcept final { op_.reset(); }
  void tell(std::exception_ptr failure) final { then_(std::move(failure)); }

  std::optional<extension> op_;
  end_handler then_;
};

}  // namespace dlock::engine
