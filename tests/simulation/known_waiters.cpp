// SPDX-License-Identifier: BSL-1.0
#include "simulation/known_waiters.hpp"

#include <fmt/format.h>

#include "dlock/service_options.hpp"
#include "engine/registry/fair_share.hpp"

namespace dlock::simulation {

void known_waiters::fail(const request& what, const std::string& why) {
  process_.in().fail(fmt::format("waiters: key {}: {} {} it without a look for waiters, {}", what.resource,
                                 process_.name(), what.action == verb::pass_on ? "passes on" : "releases", why));
}

bool known_waiters::knows() const noexcept { return services_ == 1 && process_.undisturbed(second); }

void known_waiters::lets_go(const engine::grant& one) {
  auto& known = keys_[std::string(one.key.view())];
  known.let_go = one.nonce;
  // A try that would end later is not made.
  known.given_up = process_.now() + service_options{}.release_limit - std::chrono::milliseconds{10};
}

void known_waiters::sends(const request& what) {
  if (!server_.data.traits.caps.looks_for_waiters() || what.wake) return;
  if ((what.action != verb::release && what.action != verb::pass_on) || what.min_hold.count() > 0) return;
  const auto at = server_.data.locks().find(what.resource);
  if (at == server_.data.locks().end()) return;
  const auto& row = at->second;
  const bool ours = row.session == what.session && row.fence == what.fence;
  if (!ours || (what.action == verb::release && row.nonce != what.nonce)) return;
  if (engine::promises_to_look(row.nonce))
    return fail(what, fmt::format("though its grant of nonce {:x} has promised one", row.nonce));
  const auto known = keys_.find(what.resource);
  if (knows() && known != keys_.end() && known->second.waits && row.changed > known->second.since + millisecond)
    fail(what, "though the last look has found one");
}

void known_waiters::answered(const request& what, const reply& how) {
  const auto at = keys_.find(what.resource);
  if (what.action != verb::release || at == keys_.end()) return;
  auto& known = at->second;
  const bool looked = what.wake && what.min_hold.count() <= 0 && how.result == outcome::yes;
  if (looked && how.waiters == 0) known.waits = false;
  if (looked && how.waiters > 0) {
    known.waits = true;
    known.since = process_.in().now();
  }
  if (known.let_go == 0 || known.let_go != what.nonce) return;
  known.let_go = 0;  // a second try may be the background's
  if (how.result != outcome::yes || process_.now() >= known.given_up) return;
  known.fence = what.fence;
  known.heard = how.waiters;
  known.released = process_.now();
}

void known_waiters::handed_out(const engine::grant& one, instant begun, instant deadline) {
  constexpr auto gap = engine::tenure_gap;
  const auto at = keys_.find(one.key.view());
  if (!knows() || at == keys_.end() || at->second.heard < 3) return;
  if (one.fence != at->second.fence + 1 || begun < at->second.released) return;
  if (one.asked_at - at->second.released >= gap || deadline - one.asked_at < gap) return;
  process_.in().fail(fmt::format("waiters: key {}: {} asks for it {} us after it released it to {} waiters",
                                 one.key.view(), process_.name(), (one.asked_at - at->second.released).count(),
                                 at->second.heard));
}

}  // namespace dlock::simulation
