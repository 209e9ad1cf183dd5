// SPDX-License-Identifier: BSL-1.0
#include "dlock/once.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "api/access.hpp"
#include "base/option_fields.hpp"
#include "dlock/lock_service.hpp"
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

bool is_done(engine::service_core& core, mark_store& marks, const lock_key& key, done_mark& found) {
  const auto ask = [&](connection& on) { return marks.find_mark(on, key.view(), found); };
  return engine::ask(core, reading, ask).result == outcome::yes;
}

}  // namespace

void validate(const once_options& options, bool in_transaction) {
  check_valid(options.valid);
  if (in_transaction && detail::gives_any(options.lock)) {
    throw std::invalid_argument("dlock: once_options::lock is set: in a transaction there is no lock");
  }
}

lock_service& once_calls::service() noexcept { return static_cast<lock_service&>(*this); }

lease once_calls::begin_once(const lock_key& key, const once_options& options) {
  auto& core = *access::core_of(service());
  validate(options);
  auto& marks = marks_of(core, key);
  auto terms = detail::settled(options.lock, core.shared().defaults);
  engine::check_acquire(core, {&key, 1}, terms);
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

void once_calls::mark_done(const lease& held, optional_time valid) {
  check_valid(valid);
  const auto grant = access::grant_of(held);
  if (grant == nullptr) throw std::logic_error("dlock: mark_done() of an empty lease");
  auto& core = *access::core_of(service());
  if (grant->home.get() != &core) {
    throw std::invalid_argument("dlock: mark_done(): key '" + printable(grant->key) + "' is held by another service");
  }
  auto& marks = marks_of(core, grant->key);
  const auto asked = grant->ask(verb::poll);
  const auto who = fmt::format("{}/{} {}", core.shared().host, core.shared().pid, core.shared().options.label);
  const auto write = [&](connection& on) {
    return marks.set_mark(on, asked, valid ? std::optional<microseconds>(*valid) : std::nullopt, who);
  };
  for (;;) {
    engine::ensure_held(*grant);
    try {
      if (engine::ask(core, marking, write).result == outcome::yes) return;
      throw lock_lost(engine::grant_lifecycle::not_ours(*grant, core.shared().time.now()),
                      fmt::format("key '{}': once: not marked as done, because fence {} is not the holder's any more",
                                  printable(grant->key), grant->fence_shown()));
    } catch (const store_error& why) {
      // An attempt without an answer may still be executed, but marks nothing once the key is another's.
      const bool may_pass = why.transient() || why.code() == errc::outcome_unknown;
      if (!may_pass || !engine::pause_for(core, std::chrono::milliseconds{50}, {})) throw;
    }
  }
}

bool once_calls::forget_done(const lock_key& key) {
  auto& core = *access::core_of(service());
  auto& marks = marks_of(core, key);
  const auto forget = [&](connection& on) { return marks.delete_mark(on, key.view()); };
  return engine::ask(core, "once: deleting the mark", forget).result == outcome::yes;
}

}  // namespace dlock
