// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/extension.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "engine/operations/lock_errors.hpp"
#include "engine/operations/row_pause.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds timeout = 5s;
}  // namespace

void check_may_extend(const engine_services& services, grant& held, const char* doing) {
  if (services.table.verified_here(held)) {
    throw std::logic_error(fmt::format(
        "dlock: key '{}': renew() inside the transaction of this thread that verified the lease and has its "
        "row locked: renew first, or after it has ended",
        printable(held.key)));
  }
  if (fault why; !services.may_wait(why)) throw_waits_for_itself(held.key, std::string(doing) + ": ", why);
}

task<void> extend_lease(flow& f, engine_services& services, std::shared_ptr<grant> held, microseconds ttl,
                        const char* doing) {
  ensure_held(*held, f.now());
  check_may_extend(services, *held, doing);
  statement sent;
  sent.priority = priority::extends;
  sent.ask = held->ask(verb::extend);
  sent.ask.ttl = ttl;
  const auto until = f.now() + timeout;
  sent.queue_deadline = until;
  sent.timeout = timeout;
  row_pause pauses;
  for (;;) {
    co_await f.send(sent);
    const auto pause = pauses.next();
    // Another program has the row locked, and no connection was left that may wait for it.
    const bool locked = sent.sent && sent.answer.result == outcome::failed && sent.answer.why.contended;
    if (!locked || f.now() + pause >= until || held->remaining(f.now()) <= pause) break;
    co_await f.wait(f.now() + pause);
  }
  const auto result = sent.sent ? sent.answer.result : outcome::failed;
  if (result == outcome::failed || result == outcome::unknown) throw_store_error(services, doing, sent);
  if (result != outcome::yes) services.grants.lost(held, grant_lifecycle::not_ours(*held, f.now()), f.now());
  ensure_held(*held, f.now());  // rule 4: a reply that came after the deadline revives nothing
  // Rule 8: the time counts from the sending, however long the statement waited.
  held->deadline->own_end.extend(sent.sent_at + ttl - margin_for(ttl, services.shared.options.margin));
  ensure_held(*held, f.now());  // it may have ended meanwhile
  services.grants.watch(held, f.now());
}

}  // namespace dlock::engine
