// SPDX-License-Identifier: GPL-2.0-or-later
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <atomic>
#include <dlock/lock_service.hpp>
#include <dlock/spdlog_observer.hpp>
#include <memory>
#include <optional>
#include <stdexcept>

#include "csv_input.hpp"
#include "order_desk.hpp"
#include "sale.hpp"
#include "shop.hpp"
#include "support/process.hpp"

namespace flash_sale {
namespace {

using kind = message::kind;

void tell(const message& m) { support::send(STDIN_FILENO, m); }

/// Tells the coordinator of lost leases, logs what is out of the ordinary, knows whether a lock was taken over.
class lock_watch final : public dlock::observer {
 public:
  void on(const dlock::event& e) override {
    if (e.what == dlock::event::kind::granted) taken_over_ = e.taken_over;
    if (e.what == dlock::event::kind::lost) tell({.what = kind::lease_lost});
    log_->on(e);
  }
  /// Whether the latest grant was taken from a holder that died.
  bool taken_over() const noexcept { return taken_over_; }

 private:
  std::atomic<bool> taken_over_{false};
  const std::shared_ptr<dlock::observer> log_ = dlock::make_spdlog_observer(spdlog::default_logger());
};

desk_options make_desk_options(const settings& s) {
  using std::chrono::milliseconds;
  // An order holds its product for two or three milliseconds: look again soon.
  const dlock::retry_policy soon{.pause = milliseconds{1}, .multiplier = 1.5, .max_pause = milliseconds{10}};
  return {.locked = s.locked,
          .lock = {.ttl = milliseconds{s.ttl_ms}, .wait = milliseconds{30'000}, .retry = soon},
          .think = std::chrono::microseconds{s.think_us}};
}

class worker final : public desk_listener {
 public:
  explicit worker(const settings& s) : shop_(s.shop_url), desk_(shop_, make_desk_options(s), *this) {
    if (!s.locked) return;
    const auto label = fmt::format("flash_sale worker {}", s.worker);
    // One connection: there is one thread, and one lock at a time.
    service_.emplace(s.locks_url, dlock::service_options{.label = label, .connections = 1, .observer = watch_});
    dlock::set_default_service(*service_);
  }

  void serve(const order& o, std::size_t index) {
    constexpr int most_attempts = 5;
    index_ = index;
    for (int attempt = 1; attempt <= most_attempts; ++attempt) {
      answered_ = false;
      try {
        desk_.serve(o);
        return;
      } catch (const std::exception& problem) {  // dlock::error, odb::exception, stale_write
        spdlog::warn("order {}, attempt {}: {}", o.id, attempt, problem.what());
        if (dynamic_cast<const stale_write*>(&problem) != nullptr) tell({.what = kind::stale_write});
      }
      if (answered_) return;  // booked and told; only what came after it failed
      tell({.what = kind::left, .index = index_});
    }
    tell({.what = kind::failed, .index = index_});
  }

 private:
  void entered(const order&, std::chrono::microseconds waited) override {
    tell({.what = kind::entered, .index = index_, .waited_us = waited.count(), .taken_over = watch_->taken_over()});
  }
  void answered(const order&, outcome what) override {
    answered_ = true;
    tell({.what = kind::answered, .index = index_, .answer = what});
  }

  shop shop_;
  order_desk desk_;
  std::shared_ptr<lock_watch> watch_ = std::make_shared<lock_watch>();
  std::optional<dlock::lock_service> service_{};
  std::size_t index_ = 0;  ///< the present order's
  bool answered_ = false;  ///< the present order was
};

}  // namespace

void run_worker(const settings& s) {
  support::follow_parent();
  spdlog::set_pattern("%v");
  spdlog::set_level(spdlog::level::warn);
  const auto input = read_input(s.products, s.orders);
  worker serves(s);
  std::size_t index = 0;
  while (support::receive(STDIN_FILENO, index) == support::received::value) {
    serves.serve(input.orders.orders.at(index), index);
  }
}

}  // namespace flash_sale
