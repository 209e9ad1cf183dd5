// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/clean_up.hpp"

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

struct cleanup_step {
  store_admin& admin;
  const microseconds retention;

  static reply execute(void* about, connection& on) {
    auto& self = *static_cast<cleanup_step*>(about);
    return self.admin.cleanup(on, self.retention, most_rows);
  }
};

}  // namespace

task<void> clean_up(flow& f, service_context& shared, statement_executor& statements, notifier& news) {
  const microseconds interval = shared.options.cleanup_interval;
  cleanup_step what{*statements.where().admin(), shared.options.key_retention};
  statement step;
  unsigned gone = 0;  // deleted rows that are not reported yet
  instant tell_at{};
  for (auto pause = interval;;) {  // a process that lives for seconds does not clean up
    const auto next = f.now() + pause;
    while (f.now() < next) {
      if (co_await f.wait(next)) co_return;
    }
    step.what = statement::kind::call;
    step.call = &cleanup_step::execute;
    step.about = &what;
    step.counts = false;
    step.queue_deadline = f.now() + step_timeout;
    step.timeout = step_timeout;
    co_await f.send(step);
    const bool yes = step.sent && step.answer.result == outcome::yes;
    const bool more = yes && step.answer.fence >= most_rows;
    if (yes) gone += static_cast<unsigned>(step.answer.fence);
    if (gone > 0 && (!more || f.now() >= tell_at)) {
      tell_at = f.now() + interval;
      news.post({.what = event::kind::cleanup, .attempts = std::exchange(gone, 0)});
    }
    pause = more ? std::max<microseconds>(between_steps, f.now() - step.sent_at) : interval;
  }
}

}  // namespace dlock::engine
