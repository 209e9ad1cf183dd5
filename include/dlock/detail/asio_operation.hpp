// SPDX-License-Identifier: BSL-1.0
#pragma once

/// How dlock/asio.hpp turns calls with a handler into asynchronous operations of Asio.

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>

#include "dlock/async.hpp"
#include "dlock/detail/asio_net.hpp"
#include "dlock/detail/asio_pending.hpp"
#include "dlock/owner.hpp"

namespace dlock::asio::detail {

/// A handler that waits for the end of a call. It keeps its executor busy until then, and is called there. Allocated by
/// the handler's allocator, and freed on its executor before the handler is called.
template <class Handler, class... Results>
class operation final : public pending_operation {
 public:
  static operation* make(Handler handler, const net::any_io_executor& otherwise) {
    auto room = allocator_of(handler);
    auto* const at = traits::allocate(room, 1);
    try {
      return ::new (static_cast<void*>(at)) operation(std::move(handler), otherwise);
    } catch (...) {
      traits::deallocate(room, at, 1);
      throw;
    }
  }

  /// What ends the wait: that, and the handler's cancellation slot.
  void listen(std::optional<std::stop_token>& cancel) {
#if defined(DLOCK_ASIO_CANCELS)
    auto slot = net::get_associated_cancellation_slot(handler_);
    if (!slot.is_connected()) return;
    cancel_ = std::make_unique<linked_cancel>(cancel.value_or(std::stop_token()));
    slot.assign([source = cancel_->source()](net::cancellation_type type) mutable {
      if (type != net::cancellation_type::none) source.request_stop();
    });
    cancel = cancel_->source().get_token();
#else
    static_cast<void>(cancel);
#endif
  }

  /// What the end of a call is given to: the operation, unless its execution context has been destroyed meanwhile. As
  /// large as three pointers, so that an async_handler needs no memory for it.
  class ticket {
   public:
    void operator()(std::exception_ptr failed, Results... results) const {
      const auto complete = [&](pending_operation* op) {
        static_cast<operation*>(op)->complete(std::move(failed), std::move(results)...);
      };
      if (pending_ != nullptr) {
        pending_->take(number_, complete);
      } else {
        complete(alone_);
      }
    }

   private:
    friend class operation;
    std::shared_ptr<pending_operations> pending_{};
    union {
      std::uint64_t number_ = 0;
      operation* alone_;
    };
  };
  ticket make_ticket() {
    ticket made;
    made.pending_ = pending_of(work_.get_executor());
    if (made.pending_ != nullptr) {
      made.number_ = made.pending_->add(*this);
    } else {
      made.alone_ = this;
    }
    return made;
  }
  void abandon() noexcept override { destroy()(this); }

  /// Any thread; *this is gone afterwards. The handler is called later, on its executor.
  void complete(std::exception_ptr failed, Results... results) {
    const auto executor = work_.get_executor();  // *this goes with what is posted
    net::post(executor, end{owned(this), std::move(failed), std::tuple<Results...>(std::move(results)...)});
  }

 private:
  using executor_type = net::associated_executor_t<Handler, net::any_io_executor>;
  using allocator_type =
      typename std::allocator_traits<net::associated_allocator_t<Handler>>::template rebind_alloc<operation>;
  using traits = std::allocator_traits<allocator_type>;
  static allocator_type allocator_of(const Handler& handler) {
    return allocator_type(net::get_associated_allocator(handler));
  }

  struct destroy {
    void operator()(operation* ended) const {
      auto room = allocator_of(ended->handler_);
      ended->~operation();
      traits::deallocate(room, ended, 1);
    }
  };
  using owned = std::unique_ptr<operation, destroy>;

  struct end {
    owned ended;
    std::exception_ptr failed;
    std::tuple<Results...> results;

    void operator()() {
#if defined(DLOCK_ASIO_CANCELS)
      if (ended->cancel_ != nullptr) net::get_associated_cancellation_slot(ended->handler_).clear();
#endif
      auto handler = std::move(ended->handler_);
      const auto work = std::move(ended->work_);
      ended.reset();
      std::apply([&](Results&... each) { std::move(handler)(std::move(failed), std::move(each)...); }, results);
    }
  };

  operation(Handler&& handler, const net::any_io_executor& otherwise)
      : handler_(std::move(handler)), work_(net::get_associated_executor(handler_, otherwise)) {}

  Handler handler_;
  busy<executor_type> work_;
  std::unique_ptr<linked_cancel> cancel_{};
};

/// Begins a call: `call(handler, operation)`. The handler gets what it throws, like every other result: a coroutine
/// could not bear an exception from here. What the call is about is on the heap until then, and no longer: a coroutine
/// that waits has no room for it.
template <class Call, class... Results>
class initiation {
 public:
  initiation(const net::any_io_executor& executor, Call call)
      : request_(std::make_unique<request>(request{executor, std::move(call)})) {}

  template <class Handler>
  void operator()(Handler&& handler) {
    const auto begun = std::move(request_);
    auto* const op =
        operation<std::decay_t<Handler>, Results...>::make(std::forward<Handler>(handler), begun->executor);
    typename operation<std::decay_t<Handler>, Results...>::ticket ticket;
    try {
      ticket = op->make_ticket();
    } catch (...) {
      return op->complete(std::current_exception(), Results()...);
    }
    try {
      begun->call(ticket, *op);
    } catch (...) {
      ticket(std::current_exception(), Results()...);
    }
  }

 private:
  struct request {
    net::any_io_executor executor;
    Call call;
  };
  std::unique_ptr<request> request_;
};

template <class... Results, class Token, class Call>
auto begin(const net::any_io_executor& executor, Token&& token, Call call) {
  return net::async_initiate<Token, void(std::exception_ptr, Results...)>(
      initiation<Call, Results...>(executor, std::move(call)), token);
}

/// A scope of the owner, if there is one.
class maybe_owner {
 public:
  explicit maybe_owner(const std::optional<owner>& me) {
    if (me) scope_.emplace(*me);
  }

 private:
  std::optional<owner_scope> scope_{};
};

template <class T>
concept token = !std::same_as<std::remove_cvref_t<T>, lock_options>;

}  // namespace dlock::asio::detail
