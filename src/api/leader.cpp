// SPDX-License-Identifier: BSL-1.0
#include "dlock/leader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "base/background_thread.hpp"
#include "base/mutex.hpp"
#include "dlock/leader_watch.hpp"

namespace dlock {

using detail::access;

namespace {

using std::chrono::milliseconds;

constexpr milliseconds day = std::chrono::hours{24};

[[noreturn]] void refuse(const lock_key& key, const std::string& what) {
  throw std::invalid_argument(fmt::format("dlock: key {}: {}", key.explain(), what));
}

void check_time(const lock_key& key, const char* what, milliseconds value, milliseconds least, milliseconds most) {
  if (value >= least && value <= most) return;
  refuse(key, fmt::format("{} = {} ms: {} to {} ms", what, value.count(), least.count(), most.count()));
}

/// What the observer gets of an exception.
std::string text_of(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& why) {
    return why.what();
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

lock_options campaign_options(const lock_key& key, const leader_options& from, engine::service_core& core) {
  const auto& lock = from.lock;
  const auto endless = [&](const std::string& field) {
    refuse(key, fmt::format("leader_options::lock.{}: a candidate waits without end, so leave it unset", field));
  };
  if (lock.wait) endless(fmt::format("wait = {} ms", lock.wait->count()));
  if (lock.cancel) endless("cancel");
  if (lock.mode.value_or(exclusive) != exclusive)
    refuse(key, "leader_options::lock.mode: there is one leader, so leave it unset");
  if (lock.retry.limit) endless(fmt::format("retry.limit = {}", *lock.retry.limit));
  if (lock.renewal && *lock.renewal != renewal::automatic) {
    refuse(key, fmt::format("leader_options::lock.renewal = {}: a term lasts until its function returns, so leave it "
                            "unset",
                            *lock.renewal == renewal::manual ? "manual" : "none"));
  }
  check_time(key, "leader_options::pause", from.pause, milliseconds{1}, day);
  check_time(key, "leader_options::max_pause", from.max_pause, from.pause, day);
  auto terms = detail::settled(from.lock, core.shared().defaults);
  terms.wait = wait_forever;
  terms.renewal = renewal::automatic;
  terms.retry.limit = detail::retry_settings{}.limit;
  engine::check_acquire(core, {&key, 1}, terms);
  return as_options(terms);
}

}  // namespace

class leader::campaign {
 public:
  campaign(lock_service& service, lock_key key, std::function<void(leadership&)> lead, leader_options options)
      : service_(service),
        core_(*access::core_of(service)),
        key_(std::move(key)),
        lead_(std::move(lead)),
        options_(std::move(options)),
        lock_(campaign_options(key_, options_, core_)) {
    core_.refuse_if_forked();
    if (!lead_) refuse(key_, "a leader without a function");
    lock_.cancel = stop_.get_token();
  }

  /// Not before the leader is complete, whose functions the leader's function may call.
  void start() {
    thread_.start([this](const std::stop_token&) { run(); }, [this] { stop(); });
  }

  bool leads() const noexcept {
    if (core_.forked()) return false;
    const base::lock_guard guard(mutex_);
    return term_ != nullptr && !term_->stop_requested();
  }
  void resign() noexcept {
    if (core_.forked()) return;
    std::stop_source of_term(std::nostopstate);
    {
      const base::lock_guard guard(mutex_);
      if (term_ != nullptr) of_term = term_->stop_;
    }
    of_term.request_stop();  // unlocked, because it runs the function's callbacks
  }
  void stop() noexcept {
    if (!core_.forked()) stop_.request_stop();
  }

 private:
  void run() {
    for (int failures = 0;;) {
      granted_.reset();
      std::exception_ptr why;
      try {
        why = serve();
      } catch (const lock_refused& refused) {
        if (refused.code() == errc::cancelled || refused.code() == errc::closed) return;
        why = std::current_exception();
      } catch (...) {
        why = std::current_exception();
      }
      // A long wait for the key is no sign that the function works again.
      if (granted_ && core_.shared().time.now() - *granted_ >= options_.max_pause) failures = 0;
      failures = why == nullptr ? 0 : failures + 1;
      if (why != nullptr && options_.failed) options_.failed(why);
      const auto pause = options_.pause * (1LL << std::clamp(failures - 1, 0, 20));
      if (!engine::pause_for(core_, std::min<milliseconds>(pause, options_.max_pause), stop_.get_token())) return;
    }
  }

  /// One campaign, and its term. Returns what the function threw; throws what the campaign throws.
  std::exception_ptr serve() {
    const lease held = service_.acquire(key_, lock_);
    granted_ = core_.shared().time.now();
    leadership term(held);
    const auto ends = [&term] { term.resign(); };
    const std::stop_callback lost(held.lost_token(), ends);
    const std::stop_callback stopped(stop_.get_token(), ends);
    const std::stop_callback closed(core_.closing().get_token(), ends);
    present(&term);
    const auto why = term.stop_requested() ? nullptr : lead(term);
    present(nullptr);
    return why;
  }

  std::exception_ptr lead(leadership& term) {
    try {
      lead_(term);
    } catch (const lock_lost&) {
      // It has found out by a check that it must stop, which the observer knows. Otherwise another lock was lost.
      if (term.held().loss() == loss_reason::none) return failed();
    } catch (...) {
      return failed();
    }
    return nullptr;
  }
  std::exception_ptr failed() const {
    auto why = std::current_exception();
    core_.shared().notify({.what = event::kind::handler_failed, .key = key_.view(), .text = text_of(why)});
    return why;
  }

  void present(leadership* term) noexcept {
    const base::lock_guard guard(mutex_);
    term_ = term;
  }

  lock_service& service_;
  engine::service_core& core_;
  const lock_key key_;
  const std::function<void(leadership&)> lead_;
  const leader_options options_;
  lock_options lock_;
  std::stop_source stop_{};
  std::optional<instant> granted_{};  ///< when the present term began, or the last one; the thread's
  mutable base::mutex mutex_;
  leadership* term_ DLOCK_GUARDED_BY(mutex_) = nullptr;
  base::background_thread thread_{};  // ends before the rest
};

leader::leader(lock_service& service, lock_key key, std::function<void(leadership&)> lead, leader_options options)
    : campaign_(std::make_unique<campaign>(service, std::move(key), std::move(lead), std::move(options))) {
  campaign_->start();
}

leader::~leader() = default;

bool leader::leads() const noexcept { return campaign_->leads(); }
void leader::resign() noexcept { campaign_->resign(); }
void leader::request_stop() noexcept { campaign_->stop(); }

// ---- who leads ------------------------------------------------------------------------------------------------------

std::optional<holder_info> leader_of(lock_service& service, const lock_key& key) {
  auto found = service.holder(key);
  if (found && found->dead) found.reset();
  return found;
}

class leader_watch::watcher {
 public:
  watcher(lock_service& service, lock_key key, std::function<void(const leader_view&)> changed, milliseconds interval)
      : service_(service),
        core_(*access::core_of(service)),
        key_(std::move(key)),
        changed_(std::move(changed)),
        interval_(interval) {
    core_.refuse_if_forked();
    check_time(key_, "leader_watch: interval", interval_, milliseconds{10}, day);
    if (!changed_) refuse(key_, "a leader_watch without a callback");
    thread_.start([this](const std::stop_token&) { run(); },
                  [this] {
                    if (!core_.forked()) stop_.request_stop();
                  });
  }

 private:
  void run() {
    leader_view seen;
    bool first = true;
    do {
      auto now = look(seen);
      const bool changed = first || now.known != seen.known || now.who.has_value() != seen.who.has_value() ||
                           (now.who && (now.who->session != seen.who->session || now.who->fence != seen.who->fence));
      seen = std::move(now);
      if (changed && !stop_.stop_requested()) changed_(seen);
      first = false;
    } while (engine::pause_for(core_, interval_, stop_.get_token()));
  }
  leader_view look(const leader_view& before) {
    try {
      return {.known = true, .who = leader_of(service_, key_)};
    } catch (const std::exception& why) {
      return {.who = before.who, .why = why.what()};
    }
  }

  lock_service& service_;
  engine::service_core& core_;
  const lock_key key_;
  const std::function<void(const leader_view&)> changed_;
  const milliseconds interval_;
  std::stop_source stop_{};
  base::background_thread thread_{};  // ends before the rest
};

leader_watch::leader_watch(lock_service& service, lock_key key, std::function<void(const leader_view&)> changed,
                           milliseconds interval)
    : watcher_(std::make_unique<watcher>(service, std::move(key), std::move(changed), interval)) {}

leader_watch::~leader_watch() = default;

}  // namespace dlock
