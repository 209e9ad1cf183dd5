// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <optional>
#include <stop_token>
#include <utility>
#include <vector>

#include "engine/operations/parts.hpp"

namespace dlock::test {

/// Runs operations, one after the other, without a thread that waits for them: they go on where the last answer arrives,
/// or in pump(), since wakers are called under locks. Made and destroyed by the thread that pumps.
class toy_async_driver final : public engine::waker, private engine::statement_owner {
 public:
  using list = std::vector<toy_async_driver*>;
  using completion = std::function<void(std::exception_ptr)>;
  toy_async_driver(list& in, engine::parts& with, const std::stop_token& closing, const std::stop_token& cancel)
      : in_(in),
        with_(with),
        on_close_(closing, [this] { interrupt(engine::interruption::closed); }),
        on_cancel_(cancel, [this] { interrupt(engine::interruption::cancelled); }) {
    in_.push_back(this);
  }
  ~toy_async_driver() { std::erase(in_, this); }
  /// Returns at once. `then` is called on any thread, with what was thrown or null; it may run the next operation.
  void run(engine::operation& what, completion then) {
    what_ = &what;
    then_ = std::move(then);
    events_ = 0;
    go_on(starts);
  }
  void wake() noexcept override { woken_ = true; }
  /// Goes on with all that were woken, or whose time has come. False: there were none.
  static bool pump(list all) {
    std::erase_if(all, [](const auto* each) { return !each->due(); });
    for (auto* each : all) each->go_on(0);
    return !all.empty();
  }

 private:
  enum event : unsigned { busy = 1, starts = 2, answers = 4 };
  instant now() const noexcept { return with_.shared.time.now(); }
  void interrupt(engine::interruption why) noexcept { why_ = why, wake(); }
  bool due() const noexcept { return waits_ && (woken_ || now() >= until_.load()); }
  void answered(engine::statement&) noexcept override {
    if (--open_ == 0) go_on(answers);
  }
  void go_on(unsigned with) {
    if ((events_.fetch_or(with | busy) & busy) != 0) return;  // the thread that is busy with it sees the event
    while (follow(events_.exchange(busy))) {
      if (with = busy; events_.compare_exchange_strong(with, 0)) return;
    }
  }
  bool follow(unsigned seen) {  // false: it has finished, and *this may be gone
    while ((seen & (starts | answers)) != 0 || due()) {
      try {
        next_ = step(std::exchange(seen, 0));
      } catch (...) {
        return std::exchange(then_, {})(std::current_exception()), false;
      }
      if (next_.what == engine::action::kind::finished) return std::exchange(then_, {})(nullptr), false;
      if (next_.what == engine::action::kind::send) send();
      if (next_.what == engine::action::kind::wait) until_ = next_.until, waits_ = true;
    }
    return true;
  }
  engine::action step(unsigned seen) {
    if ((seen & starts) != 0) return what_->start(now());
    if (!waits_) return what_->resume(next_.statements.size() == 1 ? next_.statements.front()->answered_at : now());
    waits_ = woken_ = false;
    const auto why = why_.exchange({});
    return why ? what_->interrupt(*why, now()) : what_->resume(now());
  }
  void send() {
    engine::pause_watch::looks looks;
    const auto count = next_.with_looks ? with_.pauses.due(now(), looks) : 0;
    open_ = next_.statements.size();
    for (auto* each : next_.statements) each->owner = this;
    with_.statements.submit(next_.statements, {looks.data(), count});
  }

  list& in_;
  engine::parts& with_;
  engine::operation* what_ = nullptr;
  completion then_{};
  engine::action next_{};
  std::atomic<unsigned> events_{0};
  std::atomic<std::size_t> open_{0};
  std::atomic<bool> waits_{false}, woken_{false};
  std::atomic<instant> until_{};
  std::atomic<std::optional<engine::interruption>> why_{};
  std::stop_callback<std::function<void()>> on_close_, on_cancel_;
};

}  // namespace dlock::test
