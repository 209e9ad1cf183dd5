// SPDX-License-Identifier: BSL-1.0
#include "engine/core/async_calls.hpp"

#include <utility>

#include "engine/operations/lock_errors.hpp"

namespace dlock::engine {

namespace {

async_driver& driver_of(service_core& core) {
  core.refuse_if_forked();
  return core.asynchronous();
}

}  // namespace

// ---- any ------------------------------------------------------------------------------------------------------------

async_call::async_call(service_core& core, const std::stop_token& cancel)
    : async_run(driver_of(core), cancel), under_way_(core), core_(core) {}

void async_call::run(std::unique_ptr<async_call> begun) noexcept {
  auto& driver = begun->core_.asynchronous();
  const auto core = begun->core_.shared_from_this();
  auto& call = *begun.release();
  if (call.failure_ != nullptr) {
    driver.complete_later(call);  // it does not begin
  } else {
    driver.start(call, call.about());
  }
  core->drive_after_end();
}

void async_call::finished(std::exception_ptr failure) noexcept {
  failure_ = std::move(failure);
  try {
    if (failure_ == nullptr) take_result();
  } catch (...) {
    failure_ = std::current_exception();
  }
  drop_operation();
}

void async_call::complete() noexcept {
  const application_code here(core_.shared());
  const std::unique_ptr<async_call> self(this);
  const auto failed = [this](const char* why) noexcept {
    core_.shared().notify({.what = event::kind::handler_failed, .text = why});
  };
  try {
    tell(std::move(failure_));
  } catch (const std::exception& thrown) {
    failed(thrown.what());
  } catch (...) {
    failed("no std::exception");
  }
}

// ---- acquiring ------------------------------------------------------------------------------------------------------

namespace {

/// Throws if the calling thread has a transaction open that locks the whole database: the thread would wait for itself
/// as soon as it waits for the handler. It may enter what its owner holds.
void check_may_wait_here(service_core& core, const lock_key& key) {
  fault why;
  if (core.all().may_wait(why)) return;
  if (in_owner_scope() && core.all().table.find(*current_owner(), key, true, false).held != nullptr) return;
  throw_waits_for_itself(key, "", why);
}

}  // namespace

template <class Keys>
async_acquire<Keys>::async_acquire(service_core& core, const Keys& keys, const detail::lock_settings& terms,
                                   const lock_request::wait_mode& wait_mode, handler then)
    : async_call(core, terms.cancel),
      keys_(keys),
      terms_(terms),
      in_transaction_(in_transaction(core)),
      then_(std::move(then)) {
  check_acquire(core, all_of(keys_), terms_);
  for (const auto& key : all_of(keys_)) check_may_wait_here(core, key);
  auto owner = in_owner_scope() ? current_owner() : std::make_shared<owner_state>();
  const lock_request request(terms_, std::move(owner), true, core.shared().time.now(), wait_mode);
  op_.template emplace<acquisition_of<Keys>>(core.all(), keys_, request, *this);
  try {
    check_cancelled(all_of(keys_), terms_);
  } catch (...) {
    fail(std::current_exception());
  }
}

template <class Keys>
void async_acquire<Keys>::take_result() {
  auto result = std::get<acquisition_of<Keys>>(op_).result(core().shared().time.now());
  op_.template emplace<acquired_of<Keys>>(std::move(result));
}

template <class Keys>
void async_acquire<Keys>::drop_operation() noexcept {
  if (std::holds_alternative<acquisition_of<Keys>>(op_)) op_.template emplace<acquired_of<Keys>>();
}

template <class Keys>
void async_acquire<Keys>::tell(std::exception_ptr failure) {
  drop_operation();  // it still exists if the call did not begin
  auto& result = *std::get_if<acquired_of<Keys>>(&op_);
  if (in_transaction_) tell_in_transaction(core(), result);
  then_(std::move(failure), keys_, std::move(result));
}

template class async_acquire<lock_key>;
template class async_acquire<lock_keys>;

// ---- releasing, renewing --------------------------------------------------------------------------------------------

async_release::async_release(service_core& core, std::size_t leases, end_handler then)
    : async_call(core, {}),
      all_(leases),
      room_(leases),
      op_(std::in_place, core.all(), all_, room_, *this),
      then_(std::move(then)) {}

void async_release::end_leases(std::span<std::shared_ptr<grant>> grants) noexcept {
  for (std::size_t i = 0; i < grants.size(); ++i) {
    all_[i].last = leave(grants[i]);
    all_[i].grant = std::move(grants[i]);
  }
}

void async_release::take_result() { check_released(all_); }

async_extend::async_extend(const std::shared_ptr<grant>& grant, microseconds ttl, end_handler then)
    : async_call(*grant->home, {}), op_(std::in_place, core().all(), grant, ttl, *this), then_(std::move(then)) {
  check_may_extend(core().all(), *grant, "renew");
}

}  // namespace dlock::engine
