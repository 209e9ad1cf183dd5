// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/lingering.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <new>
#include <span>
#include <utility>
#include <vector>

#include "dlock/store_interface/linger_bell.hpp"
#include "engine/operations/key_attempt.hpp"
#include "engine/operations/release_operation.hpp"

namespace dlock::engine {

namespace {

/// Whether the request could be granted as the key is kept.
bool serves(const engine_services& services, const grant& kept, const keeping& wanted, const lock_request& request,
            instant now) noexcept {
  return !request.shares() && wanted.kind == lease_kind::session && wanted.ttl == kept.ttl &&
         request.terms.min_hold.count() == 0 && !request.in_order() && !services.closed.load() &&
         kept.pin->deadline.remaining(now) > microseconds{0};
}

/// The grant after that one. Null if its session is over.
std::shared_ptr<grant> successor(engine_services& services, const grant& kept, const keeping& how,
                                 const lock_request& request) {
  auto next = how.make_grant(services, kept.key, request.owner, request.terms);
  services.grants.make_room(*next, request.terms.max_hold.count() > 0);
  next->pin = kept.pin.again();
  if (!next->pin) return nullptr;
  next->nonce = kept.nonce;
  next->fence = kept.fence;
  next->token = kept.shown() + 1;
  return next;
}

/// Enters it into the registries before the other one leaves them. Returns whether its session has not ended.
bool succeed(engine_services& services, const std::shared_ptr<grant>& next, const keeping& how,
             const lock_request& request, queue_turn& turn, instant asked, instant now) noexcept {
  how.granted(*next, request.terms, {}, asked, now);
  next->turn = std::move(turn);
  if (services.grants.admit(next, now)) return true;
  turn = std::move(next->turn);
  return false;
}

}  // namespace

std::shared_ptr<grant> enter_lingering(engine_services& services, const lock_key& key, const lock_request& request,
                                       queue_turn& turn, std::shared_ptr<grant>& kept, instant now) {
  const keeping how(key, request.terms, services.caps);
  if (kept->shown() >= kept->fence || !serves(services, *kept, how, request, now)) return nullptr;
  const auto last = std::move(kept);
  std::shared_ptr<grant> next;
  try {
    next = successor(services, *last, how, request);
  } catch (const std::bad_alloc&) {
    services.grants.give_back(last, now);
    throw;
  }
  if (next == nullptr || !succeed(services, next, how, request, turn, last->asked_at, now)) {
    services.grants.give_back(last, now);
    return nullptr;
  }
  services.grants.replaced(*last);
  return next;
}

task<std::shared_ptr<grant>> ask_for_lingering(flow& f, engine_services& services, const lock_key& key,
                                               const lock_request& request, queue_turn& turn,
                                               std::shared_ptr<grant>& from) {
  const auto kept = std::move(from);
  const keeping how(key, request.terms, services.caps);
  std::shared_ptr<grant> next;
  statement send;
  try {
    if (serves(services, *kept, how, request, f.now())) next = successor(services, *kept, how, request);
  } catch (const std::bad_alloc&) {
    services.grants.give_back(kept, f.now());
    throw;
  }
  if (next != nullptr) {
    send.ask = next->ask(verb::reserve);
    send.ask.count = services.grants.lingering().next_range(key);
  } else {
    send.priority = priority::frees;
    send.ask = kept->ask_release(f.now());
    send.ask.wake = services.caps.looks_for_waiters();
  }
  send.queue_deadline = request.limit(f.now());
  send.timeout = statement_timeout;
  co_await f.send(send);
  const auto said = send.sent ? send.answer.result : outcome::failed;
  if (next != nullptr && said == outcome::yes) {
    services.grants.history().renumbered(key, next->fence, send.answer.fence);
    next->fence = send.answer.fence;
    const bool held = succeed(services, next, how, request, turn, send.sent_at, f.now());
    if (!held) {
      services.background.release_later(next, f.now());
      services.grants.lingering().forget(*kept);
    }
    services.grants.replaced(*kept);
    co_return held ? std::move(next) : nullptr;
  }
  if (said == outcome::unknown && next != nullptr) {
    // Its fence is not known any more, but its nonce is.
    auto doubt = std::move(send.in_doubt);
    services.background.cancel_later(kept, std::move(doubt), instant::max(), f.now());
  } else if (said != outcome::yes && said != outcome::no) {
    kept->deferral.unanswered = said == outcome::unknown;
    services.grants.give_back(kept, f.now());
    co_return nullptr;
  } else if (next == nullptr) {
    services.grants.history().released(key, kept->fence, f.now());
    note_waiters(services, *kept, send, false, f.now());
  }
  services.grants.lingering().forget(*kept);
  services.grants.replaced(*kept);
  co_return nullptr;
}

// ---- who else waits -------------------------------------------------------------------------------------------------

namespace {

constexpr microseconds look_timeout = std::chrono::seconds{1};
constexpr microseconds look_soon = std::chrono::milliseconds{1};
/// A waiter rings before it is registered, which takes no longer than that as a rule. Then it rings once more.
constexpr microseconds registers_within = std::chrono::milliseconds{10};
constexpr microseconds rings_again_within = std::chrono::milliseconds{100};

/// Has the process look when a waiter of another one rings a session that keeps keys. Between two tenures it stays for
/// a while, because its beginning and its end cost statements.
class bell final : private key_listener {
 public:
  static constexpr microseconds kept_unused = std::chrono::seconds{10};

  bell(store& where, lingering_keys& keys, const id128& session) noexcept
      : where_(where), keys_(keys), session_(session), key_(session) {
    where_.watch(key_.view(), session_, *this);
  }
  bell(const bell&) = delete;
  bell& operator=(const bell&) = delete;
  ~bell() { where_.unwatch(key_.view(), session_, *this); }
  bool works() const noexcept { return works_; }
  instant used{};

 private:
  void may_be_free(bool works) noexcept override {
    works_ = works;
    keys_.look_now(false);
  }
  void was_rung() noexcept override { keys_.look_now(true); }

  store& where_;
  lingering_keys& keys_;
  const id128 session_;
  const linger_bell key_;
  std::atomic<bool> works_{false};
};

/// Which of the keys that this process keeps other processes wait for.
struct search {
  search(store& place, lingering_keys& in) noexcept : where(place), from(in) {}

  store& where;
  lingering_keys& from;
  std::map<id128, bell> bells{};
  std::vector<lingering_keys::kept_key> keys{};
  std::vector<request> asked{};
  std::vector<reply> found{};

  static reply ask(void* about, connection& on) {
    auto& self = *static_cast<search*>(about);
    return self.where.waited_for(on, self.asked, self.found);
  }
  void begin(instant now) {
    keys = from.all();
    asked.clear();
    for (const auto& each : keys) {
      asked.push_back({.action = verb::poll, .resource = each.key.view()});
      bells.try_emplace(each.session, where, from, each.session).first->second.used = now;
    }
    std::erase_if(bells, [&](const auto& each) { return now - each.second.used >= bell::kept_unused; });
    found.assign(keys.size(), reply{});
  }
  /// Whether the store notifies this process of waiters.
  bool notified() const noexcept {
    return std::all_of(bells.begin(), bells.end(), [](const auto& each) { return each.second.works(); });
  }
  instant next() const noexcept {
    auto next = from.next();
    for (const auto& [session, each] : bells) next = std::min(next, each.used + bell::kept_unused);
    return next;
  }
  bool waited_for(const lock_key& key) const noexcept {
    const auto at = std::lower_bound(asked.begin(), asked.end(), key.view(),
                                     [](const request& each, std::string_view name) { return each.resource < name; });
    if (at == asked.end() || at->resource != key.view()) return false;  // it was entered since
    return found[static_cast<std::size_t>(at - asked.begin())].waiters > 0;
  }
};

struct watching {
  watching(lingering_keys& keys, waker& wakes) noexcept : keys_(keys) { keys_.wake_by(&wakes); }
  watching(const watching&) = delete;
  watching& operator=(const watching&) = delete;
  ~watching() { keys_.wake_by(nullptr); }

 private:
  lingering_keys& keys_;
};

}  // namespace

/// Where waiters can't be found, it frees all keys: they must not wait for a process that does not learn of them.
task<void> watch_lingering(flow& f, engine_services& services) {
  auto& keys = services.grants.lingering();
  const watching here(keys, f.waker());
  search waiters(services.statements.where(), keys);
  statement send;
  instant rung_at{};
  for (;;) {
    if (const auto next = waiters.next(); f.now() < next) {
      if (co_await f.wait(next)) co_return;
      continue;
    }
    const auto why = keys.begin_look(f.now());  // before the keys are listed: one may be entered meanwhile
    bool known = false;
    try {
      waiters.begin(f.now());
      known = true;
    } catch (const std::bad_alloc&) {
      waiters.asked.clear();
    }
    const bool rung = why == lingering_keys::reason::rung;
    // A second ring may be the same waiter's, whose key is free already.
    const bool all = rung && waiters.asked.size() <= lingering_keys::few && f.now() - rung_at > rings_again_within;
    // Where it is notified, a waiter that comes after this look rings.
    if (why != lingering_keys::reason::none && !waiters.notified()) {
      keys.look_later(f.now() + lingering_keys::between_looks);
    }
    if (rung) rung_at = f.now();
    if (known && !all && why != lingering_keys::reason::none && !waiters.asked.empty()) {
      send.what = statement::kind::call;
      send.call = &search::ask;
      send.about = &waiters;
      send.counts = false;
      send.queue_deadline = f.now() + look_timeout;
      send.timeout = look_timeout;
      co_await f.send(send);
      known = send.sent && send.answer.result == outcome::yes;
      // The waiter that has rung may still be registering.
      if (f.now() - rung_at < registers_within) keys.look_later(f.now() + (f.now() - rung_at) / 2 + look_soon);
    }
    std::vector<std::shared_ptr<grant>> freed;
    try {
      freed = keys.give_up([&](const lock_key& key) { return all || !known || waiters.waited_for(key); }, f.now());
    } catch (const std::bad_alloc&) {
      continue;  // the next time
    }
    for (const auto& each : freed) services.grants.give_back(each, f.now());
  }
}

}  // namespace dlock::engine
