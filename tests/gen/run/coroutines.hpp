// SPDX-License-Identifier: BSL-1.0
// Functions that give coroutines: Asio's, and two of a library that dlock does not know.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <coroutine>
#include <dlock/annotations.hpp>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tasks {

/// A coroutine that begins when it is awaited. Waiting for a lock blocks its thread.
template <class T>
class task {
 public:
  struct promise_type {
    T value{};
    std::exception_ptr failed{};
    std::coroutine_handle<> waiting{};
    task get_return_object() { return task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct resume_waiting {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          const auto next = ended.promise().waiting;
          return next ? next : std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return resume_waiting{};
    }
    void return_value(T given) { value = std::move(given); }
    void unhandled_exception() { failed = std::current_exception(); }
  };

  explicit task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  task& operator=(task&&) = delete;
  ~task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return handle_.done(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  T await_resume() { return result(); }

  /// Runs it as far as it comes.
  void resume() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  T result() {
    if (handle_.promise().failed) std::rethrow_exception(handle_.promise().failed);
    return std::move(handle_.promise().value);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// A queue of coroutines that are to go on.
struct loop {
  std::vector<std::coroutine_handle<>> ready{};
  static loop& current();
};

/// The same, with a promise that lets dlock resume it later: it waits for a lock without a thread.
class job {
 public:
  struct promise_type {
    std::exception_ptr failed{};
    std::coroutine_handle<> waiting{};
    job get_return_object() { return job(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() noexcept { return {}; }
    auto final_suspend() noexcept {
      struct resume_waiting {
        bool await_ready() noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
          const auto next = ended.promise().waiting;
          return next ? next : std::noop_coroutine();
        }
        void await_resume() noexcept {}
      };
      return resume_waiting{};
    }
    void return_void() {}
    void unhandled_exception() { failed = std::current_exception(); }
    void resume_later(std::coroutine_handle<> handle);
  };
  explicit job(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  job(job&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  job& operator=(job&&) = delete;
  ~job() {
    if (handle_) handle_.destroy();
  }
  bool await_ready() const noexcept { return handle_.done(); }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) noexcept {
    handle_.promise().waiting = waiting;
    return handle_;
  }
  void await_resume() { result(); }
  void resume() { handle_.resume(); }
  bool done() const { return handle_.done(); }
  void result() {
    if (handle_.promise().failed) std::rethrow_exception(handle_.promise().failed);
  }

 private:
  std::coroutine_handle<promise_type> handle_;
};

/// Somewhere a coroutine waits until a test lets it go on.
struct gate {
  std::coroutine_handle<> waiting{};
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept { waiting = handle; }
  void await_resume() const noexcept {}
};

class DLOCK_DEFAULTS(.form = proxy) service {
 public:
  virtual ~service() = default;

  // ---- Asio
  DLOCK_LOCKED("a:{name}")
  virtual boost::asio::awaitable<std::string> ask(std::string name, std::unique_ptr<int> n, const std::string& suffix);
  DLOCK_LOCKED("a:{name}")
  DLOCK_ON_BUSY(skip)
  virtual boost::asio::awaitable<std::optional<int>> ask_or_skip(std::string name);
  DLOCK_LOCKED("a:{name}")
  DLOCK_ON_BUSY(skip)
  virtual boost::asio::awaitable<void> run_or_skip(std::string name);
  DLOCK_LOCKED("a:{name}")
  DLOCK_ON_BUSY(call, otherwise)
  virtual boost::asio::awaitable<std::string> ask_or_call(std::string name, std::unique_ptr<int> n);
  virtual boost::asio::awaitable<std::string> otherwise(std::string name, std::unique_ptr<int> n);
  DLOCK_LOCKED("a:{one}")
  DLOCK_LOCKED("a:{other}")
  boost::asio::awaitable<void> both(int one, int other) const;

  // ---- another library
  DLOCK_LOCKED("t:{name}", .wait = 0s)
  virtual task<int> work(std::string name, gate& until);
  DLOCK_LOCKED("t:{name}")
  DLOCK_ON_BUSY(skip)
  virtual task<std::optional<int>> work_or_skip(std::string name);
  DLOCK_LOCKED("t:{name}")
  DLOCK_ON_BUSY(call, work_otherwise)
  task<int> work_or_call(std::string name, std::unique_ptr<int> n);
  task<int> work_otherwise(std::string name, std::unique_ptr<int> n);
  DLOCK_LOCKED("j:{name}", .wait = 1h)
  virtual job later(std::string name, gate& until);
  DLOCK_LOCKED("j:{one}")
  DLOCK_LOCKED("j:{other}")
  DLOCK_ON_BUSY(skip)
  virtual job later_both(int one, int other);

  std::function<void()> act = [] {};
  int entered = 0;
};

}  // namespace tasks
