// SPDX-License-Identifier: BSL-1.0
// The asynchronous functions of lock_service, and of leases.
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "dlock/async.hpp"
#include "engine/core/async_calls.hpp"

namespace dlock {

using detail::access;
using wait_mode = engine::lock_request::wait_mode;

namespace {

template <class Handler>
Handler&& must(Handler&& then, const char* call) {
  if (!then) throw std::invalid_argument(std::string("dlock: ") + call + ": handler = null");
  return std::forward<Handler>(then);
}

/// `Lease` is the type that holds the keys.
template <class Keys, class Lease>
void run_acquire(engine::service_core& core, const Keys& keys, const lock_options& options, const wait_mode& wait_mode,
                 bool must_have, async_handler<Lease>&& then, const char* call) {
  using acquire_call = engine::async_acquire<Keys>;
  auto give = [must_have, then = must(std::move(then), call), room = access::room_for(keys)](
                  std::exception_ptr failure, const Keys& all, engine::acquired_of<Keys>&& got) mutable {
    Lease held;
    try {
      if (failure == nullptr) held = access::result(all, std::move(got), std::move(room), must_have);
    } catch (...) {
      failure = std::current_exception();
    }
    then(std::move(failure), std::move(held));
  };
  engine::async_call::run(std::make_unique<acquire_call>(core, keys, core.shared().settled(options), wait_mode,
                                                         typename acquire_call::handler(std::move(give))));
}

const std::shared_ptr<engine::grant>& renewable(const lease& held) {
  if (!held) throw std::logic_error("dlock: async_renew() on an empty lease");
  const auto& grant = access::grant_of(held);
  if (!grant->renewable) throw std::logic_error("dlock: async_renew() needs renewal::manual");
  return grant;
}

}  // namespace

void lock_service::async_acquire(const lock_key& key, const lock_options& options, async_handler<lease> then) {
  run_acquire(*core_, key, options, {}, true, std::move(then), "async_acquire");
}

void lock_service::async_try_acquire(const lock_key& key, const lock_options& options, async_handler<lease> then) {
  run_acquire(*core_, key, options, access::of_a_try(options), false, std::move(then), "async_try_acquire");
}

void lock_service::async_acquire_all(const lock_keys& keys, const lock_options& options,
                                     async_handler<multi_lease> then) {
  run_acquire(*core_, keys, options, {}, true, std::move(then), "async_acquire_all");
}

void lock_service::async_try_acquire_all(const lock_keys& keys, const lock_options& options,
                                         async_handler<multi_lease> then) {
  run_acquire(*core_, keys, options, access::of_a_try(options), false, std::move(then), "async_try_acquire_all");
}

void async_release(lease&& held, async_handler<> then) {
  if (!held) throw std::logic_error("dlock: async_release() on an empty lease");
  auto call = std::make_unique<engine::async_release>(*access::grant_of(held)->home, 1U,
                                                      must(std::move(then), "async_release"));
  auto grant = access::take_grant(held);
  call->end_leases({&grant, 1});
  engine::async_call::run(std::move(call));
}

void async_release(multi_lease&& held, async_handler<> then) {
  if (!held) throw std::logic_error("dlock: async_release() on an empty multi_lease");
  auto& core = *access::grant_of(*held.begin())->home;
  auto call = std::make_unique<engine::async_release>(core, held.size(), must(std::move(then), "async_release"));
  std::vector<std::shared_ptr<engine::grant>> grants;
  grants.reserve(held.size());
  access::take_grants(held, grants);
  call->end_leases(grants);
  engine::async_call::run(std::move(call));
}

void async_renew(const lease& held, async_handler<> then) {
  const auto& grant = renewable(held);
  engine::async_call::run(
      std::make_unique<engine::async_extend>(grant, grant->ttl, must(std::move(then), "async_renew")));
}

void async_renew(const lease& held, std::chrono::milliseconds ttl, async_handler<> then) {
  const auto& grant = renewable(held);
  engine::check_request(*grant->home, grant->key, {.ttl = ttl, .renewal = renewal::manual});
  engine::async_call::run(std::make_unique<engine::async_extend>(grant, ttl, must(std::move(then), "async_renew")));
}

}  // namespace dlock
