// SPDX-License-Identifier: BSL-1.0
#include "dlock/lock_service.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <stdexcept>

#include "api/access.hpp"
#include "base/option_fields.hpp"
#include "dlock/detail/locked_function.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "engine/core/operator_calls.hpp"
#include "engine/core/thread_end.hpp"

namespace dlock {

namespace {
std::atomic<lock_service*> the_default{nullptr};
}

lock_service::lock_service(std::string_view url, service_options options)
    : lock_service(open_store(url), std::move(options)) {}

lock_service::lock_service(std::shared_ptr<store> store, service_options options)
    : core_(engine::service_core::start(std::move(store), std::move(options))) {
  engine::call_at_thread_end(engine::abandon);
}

lock_service::~lock_service() {
  auto* self = this;
  the_default.compare_exchange_strong(self, nullptr);
  if (core_->forked()) {
    // The parent's threads do not exist here and its mutexes may stay locked, so the core can't be destroyed.
    static_cast<void>(new (std::nothrow) std::shared_ptr<engine::service_core>(std::move(core_)));
    return;
  }
  core_->end(core_->shared().options.close_limit);
}

using detail::access;

namespace {

lease one_lease(engine::service_core& core, const lock_key& key, const lock_options& options,
                const engine::lock_request::wait_mode& wait_mode, bool must) {
  return access::result(key, engine::acquire(core, key, core.shared().settled(options), wait_mode), {}, must);
}

multi_lease all_leases(engine::service_core& core, const lock_keys& keys, const lock_options& options,
                       const engine::lock_request::wait_mode& wait_mode, bool must) {
  auto room = access::room_for(keys);
  return access::result(keys, engine::acquire_all(core, keys, core.shared().settled(options), wait_mode),
                        std::move(room), must);
}

}  // namespace

lease lock_service::acquire(const lock_key& key, const lock_options& options) {
  return one_lease(*core_, key, options, {}, true);
}

multi_lease lock_service::acquire_all(const lock_keys& keys, const lock_options& options) {
  return all_leases(*core_, keys, options, {}, true);
}

lease lock_service::try_acquire(const lock_key& key, const lock_options& options) {
  return one_lease(*core_, key, options, access::of_a_try(options), false);
}

multi_lease lock_service::try_acquire_all(const lock_keys& keys, const lock_options& options) {
  return all_leases(*core_, keys, options, access::of_a_try(options), false);
}

bool lock_service::holds(const lock_key& key) const { return engine::holds(*core_, key); }

const lock_options& lock_service::defaults() const& noexcept { return core_->shared().options.defaults; }

const std::string& lock_service::name() const& noexcept { return core_->where().name(); }

namespace {

/// A row's key may come from a service on another store, which knows its table. A key that is not possible on this
/// store could be taken for one that is.
void check_key(const store& store, const lock_key& key, const char* call) {
  const auto caps = store.caps();
  if (key.row() == nullptr) {
    const auto why = caps.any_key ? std::string{} : store.unfit_key(key.view());
    if (why.empty()) return;
    throw std::invalid_argument(std::string("dlock: ") + call + ": key '" + printable(key) + "': " + store.name() +
                                ": " + why);
  }
  if (caps.rows) return;
  throw std::invalid_argument(std::string("dlock: ") + call + ": key '" + printable(key) + "' is a row, and " +
                              store.name() + " has no rows");
}

store_admin& admin_of(store& store, const char* call) {
  auto* const admin = store.admin();
  if (admin == nullptr) {
    throw std::logic_error(std::string("dlock: ") + call + ": " + store.name() +
                           " does not show the holders of its locks");
  }
  return *admin;
}

request about(const lock_key& key) { return {.action = verb::poll, .resource = key.view(), .row = key.row()}; }

}  // namespace

std::vector<holder_info> lock_service::holders(const lock_key& key) {
  auto& store = core_->where();
  check_key(store, key, "holder");
  auto& admin = admin_of(store, "holder");
  std::vector<holder_info> found;
  engine::ask(*core_, "holder", [&](connection& connection) { return admin.inspect(connection, about(key), found); });
  for (auto& each : found) each.key = key.view();
  return found;
}

std::optional<holder_info> lock_service::holder(const lock_key& key) {
  auto found = holders(key);
  if (found.empty()) return std::nullopt;
  return std::move(found.front());
}

std::vector<holder_info> lock_service::held_keys(std::size_t limit, std::string_view after) {
  auto& admin = admin_of(core_->where(), "held_keys");
  std::vector<holder_info> found;
  engine::ask(*core_, "held_keys", [&](connection& connection) { return admin.list(connection, after, limit, found); });
  return found;
}

waiter_overview lock_service::waiters(const lock_key& key, std::size_t limit) {
  auto& store = core_->where();
  check_key(store, key, "waiters");
  auto& admin = admin_of(store, "waiters");
  waiter_overview found;
  engine::ask(*core_, "waiters",
              [&](connection& connection) { return admin.waiters(connection, key.view(), limit, found); });
  return found;
}

bool lock_service::force_release(const lock_key& key) {
  auto& core = *core_;
  core.refuse_if_forked();
  const engine::service_core::call here(core);  // the service may be destroyed meanwhile
  auto& store = core.where();
  check_key(store, key, "force_release");
  auto& admin = admin_of(store, "force_release");
  auto ask = about(key);
  const auto revoke = [&](connection& connection) { return admin.revoke(connection, ask); };
  if (engine::ask(core, "force_release", revoke).result == outcome::yes) return true;
  const auto found = engine::ask(core, "force_release", ask);
  const auto& holder = found.holder;
  const bool free = found.result != outcome::yes || !holder.holder || holder.expired;
  if (free || holder.kind == lease_kind::session) return false;
  // The request names the holder and its grant, so it can't release the next holder's.
  ask.action = verb::release;
  ask.session = holder.holder;
  ask.nonce = holder.nonce;
  ask.fence = holder.fence;
  ask.wake = store.caps().looks_for_waiters();
  const auto freed = engine::ask(core, "force_release", ask);
  if (ask.wake && freed.waiters > 0) {
    core.all().grants.knowledge().looked(key, ask.nonce, freed.waiters, core.shared().time.now());
  }
  return freed.result == outcome::yes;
}

namespace {

/// Caps the limit to a time that the clock can represent.
std::chrono::milliseconds close_limit(std::chrono::milliseconds limit) {
  if (limit.count() >= 0) return std::min(limit, wait_forever);
  throw std::invalid_argument("dlock: close: limit = " + std::to_string(limit.count()) + " ms: 0 or more");
}

std::chrono::microseconds since(const engine::service_context& of, instant begin) noexcept {
  return begin == instant::max() ? std::chrono::microseconds{0}
                                 : std::max(of.time.now() - begin, std::chrono::microseconds{0});
}

}  // namespace

std::vector<std::string> lock_service::close(std::chrono::milliseconds limit) {
  core_->refuse_if_forked();
  return core_->close(close_limit(limit));
}

std::vector<std::string> lock_service::close(std::chrono::milliseconds limit, release_all_t /*tag*/) {
  core_->refuse_if_forked();
  core_->must_not_wait_for_itself("close(release_all): called");
  auto remaining = core_->close(close_limit(limit));
  core_->revoke_all();
  return remaining;
}

std::uint64_t lock_service::count(event::kind kind) const noexcept { return core_->shared().count(kind); }

std::size_t lock_service::held() const noexcept { return core_->forked() ? 0 : core_->all().table.size(); }
std::size_t lock_service::lingering() const noexcept {
  return core_->forked() ? 0 : core_->all().grants.lingering().idle();
}
std::size_t lock_service::waiting() const noexcept { return core_->forked() ? 0 : core_->all().queue.waiting(); }

std::chrono::microseconds lock_service::oldest_hold() const noexcept {
  return core_->forked() ? std::chrono::microseconds{0} : since(core_->shared(), core_->all().table.oldest_grant());
}
std::chrono::microseconds lock_service::oldest_wait() const noexcept {
  return core_->forked() ? std::chrono::microseconds{0} : since(core_->shared(), core_->all().queue.oldest_wait());
}

capabilities lock_service::caps() const noexcept { return core_->where().caps(); }

std::uint64_t lock_service::statements() const noexcept { return core_->all().statements.statements(); }

namespace detail {

void check_options(const lock_service& service, const lock_options& options) {
  validate(settled(options, settled(service.defaults())));
}

}  // namespace detail

void set_default_service(lock_service& service) {
  lock_service* set = nullptr;
  while (!the_default.compare_exchange_strong(set, &service)) {
    if (set == &service) return;
    // Nothing of a service from before a fork can be used here.
    if (set != nullptr && !access::core_of(*set)->forked()) {
      throw std::logic_error("dlock: the default lock_service is set already, to " + set->name());
    }
  }
}

lock_service& default_service() {
  auto* const set = the_default.load(std::memory_order_acquire);
  if (set == nullptr) {
    throw std::logic_error(
        "dlock: there is no default lock_service; make one at start-up and pass it to dlock::set_default_service()");
  }
  return *set;
}

}  // namespace dlock
