// SPDX-License-Identifier: BSL-1.0
#include "engine/drivers/async_driver.hpp"

#include <new>
#include <string>

namespace dlock::engine {

namespace {

// Lists to which any thread adds, and from which one thread takes all, the first one first.

/// Returns whether the list was empty.
template <class Item>
bool add_to(std::atomic<Item*>& list, Item& item, Item*& next) noexcept {
  auto* head = list.load(std::memory_order_relaxed);
  do {
    next = head;
  } while (!list.compare_exchange_weak(head, &item, std::memory_order_release, std::memory_order_relaxed));
  return head == nullptr;
}

template <class Item, class Next>
Item* take_all(std::atomic<Item*>& list, Next next_of) noexcept {
  Item* first = nullptr;
  for (auto* each = list.exchange(nullptr, std::memory_order_acquire); each != nullptr;) {
    auto*& next = next_of(*each);
    auto* const before = std::exchange(next, first);
    first = std::exchange(each, before);
  }
  return first;
}

}  // namespace

// ---- one of them ----------------------------------------------------------------------------------------------------

async_run::async_run(async_driver& in, std::stop_token cancel, end_of_service closing)
    : in_(in), cancel_(std::move(cancel)), closing_(closing) {
  if (cancel_.stop_possible()) on_cancel_ = std::make_unique<std::optional<std::stop_callback<interrupts>>>();
}

void async_run::signal(sign raised) noexcept {
  if (signs_.fetch_or(raised) == 0) in_.mark(*this);
}

// ---- what comes in --------------------------------------------------------------------------------------------------

/// An event with copies of its texts.
struct async_driver::notice final : completion {
  notice(service_context& in, const event& event) : shared(in), says(event), key(event.key), text(event.text) {
    says.key = key;
    says.text = text;
  }
  void complete() noexcept override {
    const std::unique_ptr<notice> self(this);
    shared.deliver(says);
  }

  service_context& shared;
  event says;
  const std::string key;
  const std::string text;
};

async_driver::async_driver(engine_services& services, std::stop_token closing, std::function<void()> on_signal,
                           std::function<void()> on_completion)
    : services_(services),
      closing_(std::move(closing)),
      on_signal_(std::move(on_signal)),
      on_completion_(std::move(on_completion)),
      on_close_(closing_, on_signal_) {}

async_driver::~async_driver() { complete(); }  // only events remain, because the owner of an operation owns the core

void async_driver::start(async_run& run, operation& op) noexcept {
  run.operation_ = &op;
  if (run.on_cancel_ != nullptr) run.on_cancel_->emplace(run.cancel_, async_run::interrupts{run});
  run.signal(async_run::begins);
}

void async_driver::mark(async_run& run) noexcept {
  if (add_to(signalled_, run, run.next_signalled_)) on_signal_();
}

void async_driver::complete_later(completion& completion) noexcept {
  if (add_to(completions_, completion, completion.next_)) on_completion_();
}

/// The thread that drives must not wait for an observer.
void async_driver::tell(const event& happened) noexcept {
  try {
    complete_later(*std::make_unique<notice>(services_.shared, happened).release());
  } catch (const std::bad_alloc&) {  // the event was counted before
  }
}

// ---- on the driver's thread -----------------------------------------------------------------------------------------

instant async_driver::drive() noexcept {
  const base::lock_guard lock(driving_);
  if (closing_.stop_requested() && !std::exchange(closing_notified_, true)) {
    for (auto all = std::exchange(waiting_, deadline_heap<async_run>(&async_run::timer_)); !all.empty();) {
      go_on(all.take_first(), async_run::woken);
    }
  }
  drive_signalled();
  for (const auto time = now(); waiting_.first() <= time;) go_on(waiting_.front(), 0);
  flush();
  return waiting_.first();
}

void async_driver::drive_signalled() noexcept {
  auto* next = take_all(signalled_, [](async_run& run) -> async_run*& { return run.next_signalled_; });
  while (next != nullptr) {
    auto& run = *std::exchange(next, next->next_signalled_);  // before go_on(), because it may be signalled again then
    go_on(run, run.signs_.exchange(0));
  }
}

std::optional<interruption> async_driver::interrupted(const async_run& run) const noexcept {
  if (run.interrupted_) return std::nullopt;  // it has been notified
  if (run.cancel_.stop_requested()) return interruption::cancelled;
  const bool heeds = run.closing_ == async_run::end_of_service::ends_waits;
  if (heeds && closing_.stop_requested()) return interruption::closed;
  return std::nullopt;
}

void async_driver::go_on(async_run& run, unsigned signs) noexcept {
  if (run.state_ == async_run::state::over) return run.ended();  // it was signalled after its end
  run.woken_ = run.woken_ || (signs & async_run::woken) != 0;
  const bool starts = run.state_ == async_run::state::starting;
  // A cancellation may come before the beginning and before an answer, and is kept.
  if (starts && (signs & async_run::begins) == 0) return;
  if (run.state_ == async_run::state::sending && (signs & async_run::is_answered) == 0) return;
  std::exception_ptr failure;
  try {
    auto next = starts ? run.operation_->start(now()) : resume(run);
    while (next.what != action::kind::finished) {
      if (next.what == action::kind::send) return send(run, next);
      run.state_ = async_run::state::waiting;
      if (!run.woken_ && !interrupted(run) && now() < next.until) {
        waiting_.set(run, next.until);
        return;
      }
      next = resume(run);
    }
  } catch (...) {
    failure = std::current_exception();
  }
  end(run, std::move(failure));
}

action async_driver::resume(async_run& run) {
  if (run.state_ == async_run::state::sending) {
    return run.operation_->resume(run.alone_ != nullptr ? run.alone_->answered_at : now());
  }
  waiting_.remove(run);
  run.woken_ = false;
  const auto why = interrupted(run);
  if (!why) return run.operation_->resume(now());
  run.interrupted_ = true;
  return run.operation_->interrupt(*why, now());
}

void async_driver::send(async_run& run, const action& next) noexcept {
  run.state_ = async_run::state::sending;
  run.alone_ = next.statements.size() == 1 ? next.statements.front() : nullptr;
  run.open_ = next.statements.size();
  for (auto* each : next.statements) each->owner = &run;  // also for a poll, whose owner was its pause
  with_polls_ = with_polls_ || next.with_polls;
  try {
    to_send_.insert(to_send_.end(), next.statements.begin(), next.statements.end());
  } catch (const std::bad_alloc&) {
    return services_.statements.submit(next.statements);
  }
  if (to_send_.size() >= batch::most) flush();
}

/// Queues together what several operations send at about the same time, so that it shares batches.
void async_driver::flush() noexcept {
  if (to_send_.empty()) return;
  poll_scheduler::polls others;
  const auto count = std::exchange(with_polls_, false) ? services_.pauses.due(now(), others) : 0;
  services_.statements.submit(to_send_, {others.data(), count});
  to_send_.clear();
}

void async_driver::end(async_run& run, std::exception_ptr failure) noexcept {
  waiting_.remove(run);
  run.on_cancel_.reset();  // waits for the callback if it runs now
  run.finished(std::move(failure));
  run.state_ = async_run::state::over;
  // After ended() it may be gone. If a signal has come meanwhile, go_on() calls ended(). None can come later, because
  // the operation has left all queues.
  if (run.signs_.fetch_or(async_run::is_over) == 0) run.ended();
}

// ---- on the thread of handlers --------------------------------------------------------------------------------------

void async_driver::complete() noexcept {
  auto* next = take_all(completions_, [](completion& done) -> completion*& { return done.next_; });
  while (next != nullptr) std::exchange(next, next->next_)->complete();
}

}  // namespace dlock::engine
