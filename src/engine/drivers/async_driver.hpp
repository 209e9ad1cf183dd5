// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "base/mutex.hpp"
#include "engine/operations/operation.hpp"
#include "engine/registry/deadline_heap.hpp"

namespace dlock::engine {

class async_driver;

/// Work for the thread of handlers, which runs the application's code.
class completion {
 public:
  /// Called once. May destroy *this.
  virtual void complete() noexcept = 0;

 protected:
  ~completion() = default;

 private:
  friend class async_driver;
  completion* next_ = nullptr;
};

/// An operation that is run without a thread that waits for it. It must live until ended() is called: its statements,
/// and its poll, may be under way until then.
class async_run : public waker, private statement_owner {
 public:
  enum class end_of_service : bool { ignored, ends_waits };
  /// `cancel` ends waits with interruption::cancelled; `closing` says whether the end of the service ends them with
  /// interruption::closed. Allocates all that the driver needs of it.
  async_run(async_driver& in, std::stop_token cancel, end_of_service closing = end_of_service::ends_waits);
  async_run(const async_run&) = delete;
  async_run& operator=(const async_run&) = delete;
  void wake() noexcept final { signal(woken); }

 protected:
  ~async_run() = default;
  /// It is over, or has thrown that. On the driver's thread, which must not wait: takes the result and destroys the
  /// operation, so that what it stood in the queue for goes on. ended() follows.
  virtual void finished(std::exception_ptr failure) noexcept = 0;
  /// Nothing reaches it any more. On the driver's thread. May destroy *this.
  virtual void ended() noexcept = 0;
  async_driver& driver() const noexcept { return in_; }

 private:
  friend class async_driver;
  enum sign : unsigned { begins = 1, is_answered = 2, woken = 4, is_over = 8 };
  enum class state : std::uint8_t { starting, sending, waiting, over };
  struct interrupts {
    async_run& run;
    void operator()() const noexcept { run.signal(woken); }
  };
  void answered(statement&) noexcept override {
    if (open_.fetch_sub(1) == 1) signal(is_answered);
  }
  void signal(sign raised) noexcept;

  async_driver& in_;
  const std::stop_token cancel_;
  const end_of_service closing_;
  std::atomic<unsigned> signs_{0};  // seen by the driver when it comes to this one
  async_run* next_signalled_ = nullptr;
  std::atomic<std::size_t> open_{0};  // statements without an answer
  // Of the driver's thread:
  operation* operation_ = nullptr;
  statement* alone_ = nullptr;  // sending: the only one that it sends
  state state_ = state::starting;
  bool woken_ = false;  // and has not looked since
  bool interrupted_ = false;
  deadline_heap<async_run>::link timer_{};
  std::unique_ptr<std::optional<std::stop_callback<interrupts>>> on_cancel_{};  // if it can be cancelled
};

/// Runs operations whose callers do not wait, on two threads of the service, however many they are: the engine's thread
/// resumes all of them, and sends what they want sent; nothing that it does may wait. The other one calls what is the
/// application's: handlers, and the observer. Whatever wakes an operation, an answer, a turn, a cancellation, only
/// marks it, on whichever thread that happens. Thread safety: start() and complete_later() from any thread.
class async_driver final : private event_sink {
 public:
  /// `closing` ends waits with interruption::closed. `on_signal`: drive() has something to do, `on_completion`:
  /// complete() has. Both may be called under locks, and only signal.
  async_driver(engine_services& services, std::stop_token closing, std::function<void()> on_signal,
               std::function<void()> on_completion);
  async_driver(const async_driver&) = delete;
  async_driver& operator=(const async_driver&) = delete;
  ~async_driver();

  void start(async_run& run, operation& op) noexcept;
  /// On the thread of handlers.
  void complete_later(completion& completion) noexcept;

  /// The present thread will call drive().
  void serve_here() noexcept { service_context::tell_through(this); }
  /// Resumes all that can go on. Returns when to come back.
  instant drive() noexcept;
  /// Whether a task that no caller waits for has not ended.
  bool has_background() const noexcept { return background_.load() > 0; }
  /// Counts such a task.
  class background_count {
   public:
    explicit background_count(async_driver& in) noexcept : in_(in) { ++in_.background_; }
    background_count(const background_count&) = delete;
    background_count& operator=(const background_count&) = delete;
    ~background_count() { --in_.background_; }

   private:
    async_driver& in_;
  };

  /// Does what there is to be done on the thread of handlers.
  void complete() noexcept;

 private:
  friend class async_run;
  struct notice;

  instant now() const noexcept { return services_.shared.time.now(); }
  std::optional<interruption> interrupted(const async_run& run) const noexcept;
  void mark(async_run& run) noexcept;
  void tell(const event& happened) noexcept override;
  void drive_signalled() noexcept;
  void go_on(async_run& run, unsigned signs) noexcept;
  action resume(async_run& run);
  void send(async_run& run, const action& next) noexcept;
  void flush() noexcept;
  void end(async_run& run, std::exception_ptr failure) noexcept;

  engine_services& services_;
  const std::stop_token closing_;
  const std::function<void()> on_signal_;
  const std::function<void()> on_completion_;
  std::atomic<async_run*> signalled_{nullptr};  // the last first
  std::atomic<completion*> completions_{nullptr};
  std::atomic<std::size_t> background_{0};
  base::mutex driving_;  // of one thread, but for the end of a service
  // Of the thread in drive():
  deadline_heap<async_run> waiting_{&async_run::timer_};
  std::vector<statement*> to_send_{};
  bool with_polls_ = false;
  bool closing_notified_ = false;
  std::stop_callback<std::function<void()>> on_close_;
};

}  // namespace dlock::engine
