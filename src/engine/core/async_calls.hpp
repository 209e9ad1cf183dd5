// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the asynchronous interfaces call: operations without a waiting thread. Each interface derives how it completes.

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

/// Gets what an asynchronous call threw, or null.
using end_handler = detail::once_function<void(std::exception_ptr)>;

/// One call without a waiting thread. It keeps the service, and all that its operation refers to, until its completion
/// handler has been called. The constructor reads what only the calling thread knows, and throws what is wrong with the
/// call itself; every other result goes to the handler.
class async_call : public async_run, public completion {
 public:
  virtual ~async_call() = default;
  /// Returns at once. It destroys itself.
  static void run(std::unique_ptr<async_call> call) noexcept;

 protected:
  /// Throws lock_refused in a forked child, std::system_error if there is no thread to be had.
  async_call(service_core& core, const std::stop_token& cancel);
  virtual operation& about() noexcept = 0;
  /// On the driver's thread, which must not wait: takes what came of the operation, unless that has thrown, and throws
  /// what it throws; then destroys it, so that no waiter in the queue depends on the application.
  virtual void take_result() = 0;
  virtual void drop_operation() noexcept = 0;
  /// Calls the handler with `failure` or the result. On the thread of handlers.
  virtual void tell(std::exception_ptr failure) = 0;
  /// It ends with that before it begins.
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

/// acquire() or acquire_all(), without a thread that waits. The owner is that of an owner_scope of the calling thread,
/// otherwise a new one: so two such calls exclude each other, also on one thread.
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
  std::variant<acquired_of<Keys>, acquisition_of<Keys>> op_{};  // what it gave, once it is over
  handler then_;
};
extern template class async_acquire<lock_key>;
extern template class async_acquire<lock_keys>;

/// release() of one lease, or of several, without a thread that waits. end_leases() must precede run().
class async_release final : public async_call {
 public:
  /// Room for so many leases.
  async_release(service_core& core, std::size_t leases, end_handler then);
  /// The leases end now. As many as it was made for, of one service; the first first.
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

/// extend(), without a thread that waits.
class async_extend final : public async_call {
 public:
  /// Throws as extend() where the statement would wait for this very thread.
  async_extend(const std::shared_ptr<grant>& grant, microseconds ttl, end_handler then);

 private:
  operation& about() noexcept final { return *op_; }
  void take_result() final {}  // it has thrown, or it is done
  void drop_operation() noexcept final { op_.reset(); }
  void tell(std::exception_ptr failure) final { then_(std::move(failure)); }

  std::optional<extension> op_;
  end_handler then_;
};

}  // namespace dlock::engine
