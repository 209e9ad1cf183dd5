// SPDX-License-Identifier: BSL-1.0
#include "dlock/once.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "base/option_fields.hpp"
#include "dlock/lock_service.hpp"
#include "engine/core/call_steps.hpp"
#include "engine/core/operator_calls.hpp"
#include "engine/operations/lock_errors.hpp"

namespace dlock {

using detail::access;

namespace {

constexpr const char* reading = "once: reading the mark";
constexpr const char* marking = "once: writing the mark";

void check_valid(const optional_time& valid) {
  using namespace std::chrono_literals;
  if (!valid || (*valid >= 1s && *valid <= 24h * 3650)) return;
  throw std::invalid_argument(fmt::format("dlock: once_options::valid = {} ms: 1 s to 3650 days", valid->count()));
}

mark_store& marks_of(engine::service_core& core, const lock_key& key) {
  core.refuse_if_forked();
  auto& store = core.where();
  auto* const marks = store.marks();
  if (marks == nullptr) {
    throw std::logic_error("dlock: once: " + store.name() + " keeps no marks of what was done");
  }
  if (key.row() != nullptr) {
    throw std::logic_error("dlock: once: key '" + printable(key) + "' is a row: mark it in a column of its own");
  }
  return *marks;
}

/// What the transaction writes may be rolled back, and then the mark would be all that is left of the work.
void refuse_in_transaction(engine::service_core& core, const lock_key& key) {
  if (!engine::in_transaction(core)) return;
  throw std::logic_error("dlock: once: key '" + printable(key) +
                         "' would be marked as done inside an open transaction, before that is committed: pass the "
                         "transaction, once(transaction, key, f), or call it after the transaction has ended");
}

/// Whether it is marked is known, unless an attempt had no answer.
lock_lost lost_before_mark(engine::grant& grant, loss_reason reason, bool unsure) {
  return {reason, fmt::format("key '{}': once: {}: fence {} is not the holder's any more: {}", printable(grant.key),
                              unsure ? "it is not known whether it was marked as done" : "not marked as done",
                              grant.fence_shown(), engine::explain(reason))};
}

bool is_done(engine::service_core& core, mark_store& marks, const lock_key& key, done_mark& found) {
  const auto ask = [&](connection& on) { return marks.find_mark(on, key.view(), found); };
  return engine::ask(core, reading, ask).result == outcome::yes;
}

}  // namespace

void validate(const once_options& options, bool in_transaction) {
  check_valid(options.valid);
  if (in_transaction) {
    detail::for_each_field(options.lock, [](std::string_view name, const auto& field) {
      if (!detail::gives_any(field)) return;
      throw std::invalid_argument(
          fmt::format("dlock: once_options::lock.{} is set: in a transaction there is no lock", name));
    });
  }
  if (options.lock.mode.value_or(exclusive) != exclusive) {
    throw std::invalid_argument("dlock: once_options::lock.mode is not exclusive: one caller at a time does it");
  }
  if (options.lock.reentry == reentry::allow) {
    throw std::invalid_argument(
        "dlock: once_options::lock.reentry = allow: a function that asks for its own key would find it undone");
  }
}

lock_service& once_calls::service() noexcept { return static_cast<lock_service&>(*this); }

lease once_calls::begin_once(const lock_key& key, const once_options& options) {
  auto& core = *access::core_of(service());
  validate(options);
  auto& marks = marks_of(core, key);
  auto terms = detail::settled(options.lock, core.shared().defaults);
  engine::check_acquire(core, {&key, 1}, terms);
  refuse_in_transaction(core, key);
  // The service's defaults may allow it.
  if (terms.reentry == reentry::allow) terms.reentry = reentry::refuse;
  done_mark before;
  if (is_done(core, marks, key, before)) return {};
  lease held = service().acquire(key, as_options(terms));
  // Another one may have done it before this one got the key.
  if (is_done(core, marks, key, before)) return {};
  return held;
}

std::optional<done_mark> once_calls::done(const lock_key& key) {
  auto& core = *access::core_of(service());
  done_mark found;
  if (!is_done(core, marks_of(core, key), key, found)) return std::nullopt;
  return found;
}

void once_calls::mark_done(const lease& held, optional_time valid) { end_once(held, {.valid = valid}); }

void once_calls::end_once(const lease& held, const once_options& options) {
  check_valid(options.valid);
  const auto grant = access::grant_of(held);
  if (grant == nullptr) throw std::logic_error("dlock: mark_done() of an empty lease");
  auto& core = *access::core_of(service());
  if (grant->home.get() != &core) {
    throw std::invalid_argument("dlock: mark_done(): key '" + printable(grant->key) + "' is held by another service");
  }
  if (grant->mode != exclusive) {
    throw std::logic_error("dlock: mark_done(): key '" + printable(grant->key) +
                           "' is shared, or held by a permit: only an exclusive holder marks");
  }
  auto& marks = marks_of(core, grant->key);
  if (core.all().table.verified_here(*grant)) {
    throw std::logic_error("dlock: once: key '" + printable(grant->key) +
                           "' would be marked as done inside the transaction of this thread that verified the lease "
                           "and has its row locked: pass the transaction, once(transaction, key, f), or mark it after "
                           "that has ended");
  }
  refuse_in_transaction(core, grant->key);
  const auto asked = grant->ask(verb::poll);
  const auto who = core.shared().who();
  const auto valid = options.valid ? std::optional<microseconds>(*options.valid) : std::nullopt;
  const auto write = [&](connection& on) { return marks.set_mark(on, asked, valid, who); };
  const auto& clock = core.shared().time;
  // The lease may be renewed for ever, while something else keeps the mark from being written.
  const auto until = clock.now() + grant->ttl;
  bool unsure = false;
  for (;;) {
    if (const auto now = clock.now(); grant->remaining(now).count() <= 0) {
      throw lost_before_mark(*grant, grant->why(now), unsure);
    }
    try {
      if (engine::ask(core, marking, write).result == outcome::yes) return;
    } catch (const store_error& why) {
      // An attempt without an answer may still be executed, but marks nothing once the key is another's.
      unsure = unsure || why.code() == errc::outcome_unknown;
      const bool may_pass = why.transient() || why.code() == errc::outcome_unknown;
      if (!may_pass || clock.now() >= until) throw;
      if (!engine::pause_for(core, std::chrono::milliseconds{50}, options.lock.cancel.value_or(std::stop_token{})))
        throw;
      continue;
    }
    const auto now = clock.now();
    const auto reason = engine::grant_lifecycle::not_ours(*grant, now);
    {
      const engine::service_core::call here(core);
      core.all().grants.lost(grant, reason, now);
    }
    throw lost_before_mark(*grant, reason, unsure);
  }
}

bool once_calls::forget_done(const lock_key& key) {
  auto& core = *access::core_of(service());
  auto& marks = marks_of(core, key);
  const auto forget = [&](connection& on) { return marks.delete_mark(on, key.view()); };
  return engine::ask(core, "once: deleting the mark", forget).result == outcome::yes;
}

}  // namespace dlock
