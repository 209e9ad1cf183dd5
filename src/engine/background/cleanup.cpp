// SPDX-License-Identifier: BSL-1.0
#include "engine/background/cleanup.hpp"

#include <algorithm>
#include <utility>

#include "dlock/store_interface/store_admin.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds step_timeout = 2s;
// It goes on while there is work, but takes at most half of one connection's time and deletes some 200 rows a second.
constexpr std::size_t most_rows = 20;  // of a kind, in one step
constexpr microseconds between_steps = 100ms;
}  // namespace

reply cleanup::step(void* about, connection& connection) {
  auto& self = *static_cast<cleanup*>(about);
  return self.statements_.where().admin()->cleanup(connection, self.shared_.options.key_retention, most_rows);
}

instant cleanup::tick(instant now) noexcept {
  if (shared_.options.cleanup_interval.count() == 0 || statements_.where().admin() == nullptr) return instant::max();
  {
    const base::lock_guard lock(mutex_);
    if (stop_ || under_way_) return instant::max();
    // A process that lives for seconds does not clean up.
    if (next_ == instant{}) next_ = now + shared_.options.cleanup_interval;
    if (now < next_) return next_;
    under_way_ = true;
  }
  send_.what = statement::kind::call;
  send_.call = &cleanup::step;
  send_.about = this;
  send_.queue_deadline = now + step_timeout;
  send_.timeout = step_timeout;
  send_.counts = false;
  send_.owner = this;
  statements_.submit(send_);
  return instant::max();
}

void cleanup::answered(statement& statement) noexcept {
  instant next;
  unsigned gone = 0;
  {
    const base::lock_guard lock(mutex_);
    under_way_ = false;
    const auto now = statement.answered_at;
    const bool yes = statement.sent && statement.answer.result == outcome::yes;
    if (yes) gone_ += static_cast<unsigned>(statement.answer.fence);
    const bool more = yes && statement.answer.fence >= most_rows;
    const microseconds pause = more ? std::max<microseconds>(between_steps, now - statement.sent_at)
                                    : microseconds{shared_.options.cleanup_interval};
    next = next_ = now + pause;
    if (!more || now >= tell_at_) {
      gone = std::exchange(gone_, 0);
      if (gone > 0) tell_at_ = now + shared_.options.cleanup_interval;
    }
  }
  if (gone > 0) news_.post({.what = event::kind::cleanup, .attempts = gone});
  sooner_(next);
}

void cleanup::stop() noexcept {
  const base::lock_guard lock(mutex_);
  stop_ = true;
}

}  // namespace dlock::engine
