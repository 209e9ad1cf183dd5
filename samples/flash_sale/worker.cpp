// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <dlock/lock_service.hpp>
#include <dlock/observer.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "channel.hpp"
#include "order_desk.hpp"
#include "shop.hpp"

namespace flash_sale {
namespace {

/// The coordinator is gone: so are we.
struct orphaned {};

/// Goes to the worker's log file.
template <class... Args>
void log(fmt::format_string<Args...> text, Args&&... args) {
  fmt::print(stderr, "{}\n", fmt::format(text, std::forward<Args>(args)...));
}

/// What dlock tells of its doings: counts take-overs and losses, logs what is out of the ordinary.
class lock_watch final : public dlock::observer {
 public:
  void on(const dlock::event& e) override {
    using kind = dlock::event::kind;
    switch (e.what) {
      case kind::granted: taken_over_ = e.taken_over; break;
      case kind::lost:
        ++losses_;
        log("lost {} (fence {}): {}", e.key, e.fence, dlock::to_string(e.reason));
        break;
      case kind::split_found:
      case kind::release_failed:
      case kind::outcome_unknown:
      case kind::acquire_failed:
      case kind::session_lost:
      case kind::renewal_late: log("{}: {} {}", dlock::to_string(e.what), e.key, e.text); break;
      default: break;
    }
  }
  /// Whether the latest grant was taken from a holder that died.
  bool taken_over() const noexcept { return taken_over_; }
  unsigned losses() const noexcept { return losses_; }

 private:
  std::atomic<bool> taken_over_{false};
  std::atomic<unsigned> losses_{0};
};

class worker final : public desk_listener {
 public:
  worker(channel& coordinator, const message& setup)
      : coordinator_(coordinator), number_(setup.at(1)), shop_(setup.at(2)), locks_url_(setup.at(3)) {
    desk_options options{.locked = !locks_url_.empty(), .think = std::chrono::microseconds{std::stoll(setup.at(4))}};
    options.lock = {
        .ttl = std::chrono::milliseconds{std::stoll(setup.at(5))},
        .wait = std::chrono::milliseconds{std::stoll(setup.at(6))},
        // An order holds its product for two or three milliseconds: look again soon.
        .retry = {
            .pause = std::chrono::milliseconds{1}, .multiplier = 1.5, .max_pause = std::chrono::milliseconds{10}}};
    if (options.locked) {
      service_.emplace(locks_url_, dlock::service_options{.label = "flash_sale worker " + number_,
                                                          .connections = 1,  // one thread, one lock at a time
                                                          .observer = watch_});
      dlock::set_default_service(*service_);
    }
    desk_.emplace(shop_, options, *this);
  }

  void run() {
    while (auto m = coordinator_.receive()) {
      if (m->at(0) == "end") {
        tell({"bye", std::to_string(watch_->losses()), std::to_string(stale_), std::to_string(tried_again_)});
        return;
      }
      index_ = m->at(1);
      serve({.line = std::stoll(m->at(2)),
             .id = m->at(3),
             .customer = m->at(4),
             .sku = m->at(5),
             .quantity = std::stoll(m->at(6))});
    }
    throw orphaned{};
  }

 private:
  void serve(const order& o) {
    constexpr int most_attempts = 5;
    std::string why;
    for (int attempt = 1; attempt <= most_attempts; ++attempt) {
      answered_ = false;
      try {
        desk_->serve(o);
        return;
      } catch (const stale_write& problem) {
        ++stale_;
        why = problem.what();
      } catch (const std::runtime_error& problem) {  // dlock::error, database_error
        why = problem.what();
      }
      log("order {}, attempt {}: {}", o.id, attempt, why);
      if (answered_) return;  // booked and told; only what came after it failed
      tell({"left", index_});
      ++tried_again_;
    }
    tell({"failed", index_, why});
  }

  void entered(const order&, std::chrono::microseconds waited) override {
    tell({"entered", index_, std::to_string(waited.count()), watch_->taken_over() ? "1" : "0"});
  }
  void answered(const order&, outcome what) override {
    answered_ = true;
    tell({"answered", index_, to_string(what)});
  }
  void tell(std::initializer_list<std::string_view> fields) {
    if (!coordinator_.send(fields)) throw orphaned{};
  }

  channel& coordinator_;
  std::string number_;
  shop shop_;
  std::string locks_url_;
  std::shared_ptr<lock_watch> watch_ = std::make_shared<lock_watch>();
  std::optional<dlock::lock_service> service_{};
  std::optional<order_desk> desk_{};
  std::string index_{};    ///< the present order's, as the coordinator counts
  bool answered_ = false;  ///< the present order was
  unsigned stale_ = 0;
  unsigned tried_again_ = 0;
};

}  // namespace

int run_worker(int socket) try {
  channel coordinator(socket);
  const auto setup = coordinator.receive();
  if (!setup) return 1;
  worker(coordinator, *setup).run();
  return 0;
} catch (const orphaned&) {
  log("the coordinator is gone");
  return 1;
} catch (const std::exception& problem) {
  log("{}", problem.what());
  return 1;
}

}  // namespace flash_sale
