// SPDX-License-Identifier: BSL-1.0
#include "dlock/error.hpp"

namespace dlock {

namespace {

class category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "dlock"; }
  std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out: return "the lock stayed busy for the whole wait";
      case errc::cancelled: return "waiting for the lock was cancelled";
      case errc::already_held: return "this owner holds the lock already";
      case errc::too_many_waiters: return "too many threads wait for locks";
      case errc::closed: return "the lock service is closed";
      case errc::forked: return "the lock service belongs to the parent process";
      case errc::no_such_row: return "there is no such row to lock";
      case errc::deadlock: return "the threads would wait for each other for ever";
      case errc::lost: return "the lock was lost";
      case errc::stale_fence: return "the fencing token is stale";
      case errc::store_failed: return "the lock store failed";
      case errc::store_unreachable: return "the lock store can't be reached";
      case errc::outcome_unknown: return "the lock store did not answer";
    }
    return "unknown dlock error " + std::to_string(value);
  }
  std::error_condition default_error_condition(int value) const noexcept override {
    switch (static_cast<errc>(value)) {
      case errc::timed_out: return std::errc::timed_out;
      case errc::cancelled: return std::errc::operation_canceled;
      case errc::already_held:
      case errc::deadlock: return std::errc::resource_deadlock_would_occur;
      case errc::closed:
      case errc::forked: return std::errc::operation_not_permitted;
      default: return {value, *this};
    }
  }
};

}  // namespace

namespace detail {

std::string error_text(const std::string& text) { return text.starts_with("dlock: ") ? text : "dlock: " + text; }

}  // namespace detail

const std::error_category& error_category() noexcept {
  static const category instance;
  return instance;
}

std::string_view to_string(loss_reason reason) noexcept {
  switch (reason) {
    case loss_reason::none: return "not lost";
    case loss_reason::renewal_refused: return "renewal refused";
    case loss_reason::unreachable: return "unreachable";
    case loss_reason::expired: return "expired";
    case loss_reason::taken_over: return "taken over";
    case loss_reason::max_hold: return "max hold reached";
    case loss_reason::server_changed: return "server changed";
    case loss_reason::abandoned: return "session abandoned";
    case loss_reason::closed: return "service closed";
    case loss_reason::forked: return "held by the parent process";
  }
  return "unknown reason";
}

}  // namespace dlock
