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

/// Work for the thread of handlers, which runs code of the application.
class completion {
 public:
  /// Called once. It may destroy *this.
  virtual void complete() noexcept = 0;

 protected:
  ~completion() = default;

 private:
  friend class async_driver;
  completion* next_ = nullptr;
};

/// An operation that runs without a waiting thread. It must live until ended() is called, because its statements and
/// its poll may be under way until then.
class async_run : public waker, private statement_owner {
 public:
  enum class end_of_service : bool { ignored, ends_waits };
  /// `cancel` ends waits with interruption::cancelled; `closing` says whether the end of the service ends them with
  /// interruption::closed. Allocates all that the driver needs for it.
  async_run(async_driver& in, std::stop_token cancel, end_of_service closing = end_of_service::ends_waits);
  async_run(const async_run&) = delete;
  async_run& operator=(const async_run&) = delete;
  void wake() noexcept final { signal(woken); }

 protected:
  ~async_run() = default;
  /// The operation has finished, or thrown `failure`. Takes the result and destroys the operation, so that its place in
  /// a queue goes to the next one. Called on the driver's thread, so it must not wait. ended() follows.
  virtual void finished(std::exception_ptr failure) noexcept = 0;
  /// Nothing uses *this any more. Called on the driver's thread. It may destroy *this.
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
  std::atomic<unsigned> signs_{0};  // for the driver, when it comes to this one
  async_run* next_signalled_ = nullptr;
  std::atomic<std::size_t> open_{0};  // statements without an answer
  // Used by the driver's thread only:
  operation* operation_ = nullptr;
  statement* alone_ = nullptr;  // sending: the statement if it is one, or null
  state state_ = state::starting;
  bool woken_ = false;  // it was woken and has not been resumed since
  bool interrupted_ = false;
  deadline_heap<async_run>::link timer_{};
  std::unique_ptr<std::optional<std::stop_callback<interrupts>>> on_cancel_{};  // if it can be cancelled
};

/// Runs any number of operations whose callers do not wait, on two threads of the service. The engine's thread resumes
/// the operations and sends their statements, and must never wait. The thread of handlers calls code of the
/// application: handlers and the observer. What wakes an operation (an answer, a turn, a cancellation) only marks it,
/// on whichever thread that happens. Thread safety: any thread may call start() and complete_later().
class async_driver final : private event_sink {
 public:
  /// `closing` ends waits with interruption::closed. `on_signal` is called when drive() has something to do,
  /// `on_completion` when complete() has. Both may be called under locks, so they may only signal.
  async_driver(engine_services& services, std::stop_token closing, std::function<void()> on_signal,
               std::function<void()> on_completion);
  async_driver(const async_driver&) = delete;
  async_driver& operator=(const async_driver&) = delete;
  ~async_driver();

  void start(async_run& run, operation& op) noexcept;
  /// Has the thread of handlers call `completion.complete()`.
  void complete_later(completion& completion) noexcept;

  /// Called by the thread that will call drive().
  void serve_here() noexcept { service_context::tell_through(this); }
  /// Resumes all operations that can continue. Returns when to call it again.
  instant drive() noexcept;
  /// Whether there is a task for which no caller waits.
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

  /// Completes what waits for the thread of handlers, which calls it.
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
  std::atomic<async_run*> signalled_{nullptr};  // a list, the last one first
  std::atomic<completion*> completions_{nullptr};
  std::atomic<std::size_t> background_{0};
  base::mutex driving_;  // one thread drives, except at the end of a service
  // Used by the thread in drive() only:
  deadline_heap<async_run> waiting_{&async_run::timer_};
  std::vector<statement*> to_send_{};
  bool with_polls_ = false;
  bool closing_notified_ = false;
  std::stop_callback<std::function<void()>> on_close_;
};

}  // namespace dlock::engine
