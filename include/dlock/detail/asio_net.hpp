// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The Asio that dlock/asio.hpp uses, and what it needs of it: with DLOCK_STANDALONE_ASIO the standalone one, otherwise
/// Boost's.

#include <stop_token>
#include <type_traits>
#include <utility>

#if defined(DLOCK_STANDALONE_ASIO)
#include <asio/any_io_executor.hpp>
#include <asio/associated_allocator.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/execution.hpp>
#include <asio/executor_work_guard.hpp>
#include <asio/post.hpp>
#include <asio/prefer.hpp>
#include <asio/use_awaitable.hpp>
#if __has_include(<asio/associated_cancellation_slot.hpp>)
#include <asio/associated_cancellation_slot.hpp>
#define DLOCK_ASIO_CANCELS 1
#endif
#else
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_allocator.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/use_awaitable.hpp>
#if __has_include(<boost/asio/associated_cancellation_slot.hpp>)
#include <boost/asio/associated_cancellation_slot.hpp>
#define DLOCK_ASIO_CANCELS 1
#endif
#endif

namespace dlock::asio {

/// The Asio that is used.
#if defined(DLOCK_STANDALONE_ASIO)
namespace net = ::asio;
#else
namespace net = boost::asio;
#endif

namespace detail {

/// A cancellation by Asio, or by lock_options::cancel, whichever comes first.
class linked_cancel {
 public:
  explicit linked_cancel(std::stop_token other) : stop_(other, forward{own_}) {}
  linked_cancel(const linked_cancel&) = delete;
  linked_cancel& operator=(const linked_cancel&) = delete;
  const std::stop_source& source() const noexcept { return own_; }

 private:
  struct forward {
    std::stop_source& to;
    void operator()() const noexcept { to.request_stop(); }
  };
  std::stop_source own_{};
  std::stop_callback<forward> stop_;
};

/// Keeps an executor busy. An executor of the present kind can tell by itself that it has work, and takes half the
/// room.
template <class Executor, bool = net::execution::is_executor<Executor>::value>
class busy {
 public:
  explicit busy(const Executor& executor) : guard_(executor) {}
  Executor get_executor() const { return guard_.get_executor(); }

 private:
  net::executor_work_guard<Executor> guard_;
};
template <class Executor>
class busy<Executor, true> {
 public:
  explicit busy(const Executor& executor) : tracked_(net::prefer(executor, net::execution::outstanding_work.tracked)) {}
  const auto& get_executor() const { return tracked_; }

 private:
  std::decay_t<decltype(net::prefer(std::declval<const Executor&>(), net::execution::outstanding_work.tracked))>
      tracked_;
};

}  // namespace detail

}  // namespace dlock::asio
