// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <dlock/lock_service.hpp>
#include <dlock/spdlog_observer.hpp>
#include <optional>

#include "order_desk.hpp"
#include "sale.hpp"
#include "support/process.hpp"

namespace flash_sale {
namespace {

using std::chrono::milliseconds;

/// Logs what is out of the ordinary, and remembers what the coordinator wants to know.
struct lock_watch final : dlock::observer {
  void on(const dlock::event& e) override {
    if (e.what == dlock::event::kind::granted) taken_over = e.taken_over;
    if (e.what == dlock::event::kind::lost) ++leases_lost;
    log->on(e);
  }
  std::atomic<bool> taken_over{false};  ///< the latest grant was, from a holder that died
  std::atomic<std::size_t> leases_lost{0};
  const std::shared_ptr<dlock::observer> log = dlock::make_spdlog_observer(spdlog::default_logger());
};

sale_rules rules_of(const worker_settings& s) {
  // An order holds its product for two or three milliseconds: look again soon.
  const dlock::retry_policy soon{.pause = milliseconds{1}, .multiplier = 1.5, .max_pause = milliseconds{10}};
  return {.locked = s.locked,
          .lock = {.ttl = milliseconds{s.ttl_ms}, .wait = milliseconds{30'000}, .retry = soon},
          .think = std::chrono::microseconds{s.think_us}};
}

task_report try_to_serve(shop& books, const sale_rules& rules, const order& o, const task& wanted, lock_watch& watch) {
  constexpr std::size_t most_attempts = 5;
  task_report done{.index = wanted.index};
  while (!done.served && done.attempts < most_attempts) {
    ++done.attempts;
    const auto asked = clock::now();
    try {
      done.answer = serve(books, o, rules, [&] {
        done.begun = clock::now();
        done.waited = done.begun - asked;
        done.taken_over = done.taken_over || watch.taken_over;
        if (wanted.stop) support::stop_here();
      });
      done.served = true;
    } catch (const std::exception& problem) {  // dlock::error, odb::exception, stale_write
      spdlog::warn("order {}, attempt {}: {}", o.id, done.attempts, problem.what());
      if (dynamic_cast<const stale_write*>(&problem) != nullptr) ++done.stale_writes;
    }
  }
  done.leases_lost = watch.leases_lost.exchange(0);
  return done;
}

}  // namespace

void run_worker() {
  support::follow_parent();
  spdlog::set_pattern("%v");
  spdlog::set_level(spdlog::level::warn);
  worker_settings s;
  if (support::receive(STDIN_FILENO, s) != support::received::value) return;
  const auto input = read_input("..");
  shop books(std::getenv(shop_variable));
  const auto watch = std::make_shared<lock_watch>();
  std::optional<dlock::lock_service> locks;
  if (s.locked) {
    const auto label = fmt::format("flash_sale worker {}", s.number);
    // One connection: there is one thread, and one lock at a time.
    locks.emplace(std::getenv(locks_variable),
                  dlock::service_options{.label = label, .connections = 1, .observer = watch});
    dlock::set_default_service(*locks);
  }
  for (task next; support::receive(STDIN_FILENO, next) == support::received::value;) {
    support::send(STDIN_FILENO, try_to_serve(books, rules_of(s), input.orders.at(next.index), next, *watch));
  }
}

}  // namespace flash_sale
