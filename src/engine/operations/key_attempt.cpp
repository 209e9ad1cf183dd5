// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/key_attempt.hpp"

#include <fmt/format.h>

#include <utility>

#include "dlock/store_interface/transactional_store.hpp"
#include "engine/registry/fair_share.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {

/// Of what undoes an attempt, while its caller waits.
constexpr microseconds undo_timeout = statement_timeout / 2;

verb verb_of(step next) noexcept {
  switch (next) {
    case step::insert: return verb::insert;
    case step::poll: return verb::poll;
    case step::take_over: return verb::take_over;
    default: return verb::take;
  }
}

bool grants(step next) noexcept { return next == step::take || next == step::insert || next == step::take_over; }

bool renewed_by_column(const lock_key& key, const capabilities& caps) noexcept {
  if (key.row() != nullptr) return key.row()->table->renewal == row_renewal::column;
  return !caps.session_leases && caps.renewed_leases;
}

}  // namespace

// ---- how it is kept -------------------------------------------------------------------------------------------------

keeping::keeping(const lock_key& key, const detail::lock_settings& terms, const capabilities& caps) noexcept
    : keeping(renewed_by_column(key, caps), terms) {}

keeping::keeping(bool by_column, const detail::lock_settings& terms) noexcept
    : kind(terms.renewal != renewal::automatic ? lease_kind::expiring
           : by_column                         ? lease_kind::column
                                               : lease_kind::session),
      ttl(kind == lease_kind::session ? microseconds{ttl_class(terms.ttl)} : microseconds{terms.ttl}) {}

instant keeping::trusted_until(session& session, instant sent, instant now, microseconds margin) const noexcept {
  return kind == lease_kind::session ? now + session.deadline.remaining(now) : sent + ttl - margin_for(ttl, margin);
}

std::shared_ptr<grant> keeping::make_grant(engine_services& services, const lock_key& key,
                                           std::shared_ptr<owner_state> owner,
                                           const detail::lock_settings& terms) const {
  auto grant = std::make_shared<engine::grant>(services.home.lock(), key);
  grant->kind = kind;
  grant->fenced = services.caps.fence;
  grant->ttl = ttl;
  give_to(std::move(owner), terms, *grant);
  return grant;
}

void keeping::give_to(std::shared_ptr<owner_state> owner, const detail::lock_settings& terms, grant& grant) noexcept {
  grant.owner = std::move(owner);
  grant.renewable = terms.renewal == renewal::manual;
  grant.min_hold = terms.min_hold;
  grant.in_order = terms.fairness == fairness::fifo;
  if (terms.max_hold.count() > 0) grant.cap = instant{};  // set when it is granted
}

void keeping::granted(grant& grant, const detail::lock_settings& terms, instant trusted, instant sent,
                      instant now) const noexcept {
  grant.granted_at = now;
  grant.asked_at = sent;
  if (kind != lease_kind::session) grant.own_end.reset(trusted);
  if (terms.max_hold.count() > 0) grant.cap = now + terms.max_hold;
}

void note_grant(engine_services& services, const grant& grant, bool waited, bool watched, instant now) noexcept {
  if (services.caps.looks_for_waiters())
    services.grants.knowledge().granted(grant.key, grant.nonce, waited, grant.asked_at);
  services.grants.history().granted(grant.key, {.fence = grant.fence,
                                                .counts = grant.fenced && services.caps.consecutive_fences,
                                                .watched = watched,
                                                .asked = grant.asked_at,
                                                .now = now});
}

// ---- one step after the other ---------------------------------------------------------------------------------------

key_attempt::key_attempt(engine_services& services, const lock_key& key, const lock_request& request,
                         const acquire_machine::settings& settings, waker& woken)
    : services_(services),
      key_(key),
      request_(request),
      keeping_(key, request.terms, services.caps),
      machine_(settings),
      session_(services, woken) {}

key_attempt::~key_attempt() { take_back(statement_.answered_at); }

void key_attempt::take_back(instant now) noexcept {
  if (ours_ == ours::no) return;
  const bool unsure = std::exchange(ours_, ours::no) == ours::maybe;
  auto doubt = unsure ? std::move(statement_.in_doubt != nullptr ? statement_.in_doubt : asked_->in_doubt) : nullptr;
  services_.background.cancel_later(std::move(asked_), std::move(doubt), give_up(now), now);
}

request key_attempt::cancellation(instant now) const noexcept {
  auto made = asked_->ask(verb::cancel);
  made.min_hold = microseconds{0};  // it is freed at once
  // Others may have seen that grant for so long that they rely on its end.
  made.wake = services_.caps.looks_for_waiters() && now - statement_.sent_at >= quiet_without_waiters;
  return made;
}

/// What its server has received of a statement waits no longer for locks and for the threads of a pool.
instant key_attempt::give_up(instant now) const noexcept {
  return keeping_.kind == lease_kind::session ? instant::max() : now + 10min;
}

action key_attempt::go(step next, instant now) {
  at_ = next;
  switch (next) {
    case step::granted:
    case step::busy:
    case step::failed:
    case step::pause: return {};
    case step::resolve:
      // Rule 6: first the old connection is seen gone, then the attempt is cancelled.
      asked_->in_doubt = std::move(statement_.in_doubt);
      services_.shared.notify({.what = event::kind::outcome_unknown, .key = key_.view(), .text = machine_.why().text});
      statement_.what = statement::kind::terminate;
      statement_.lost = asked_->in_doubt;
      undo_until_ = now + undo_timeout;
      return send(doing::terminating, now, undo_timeout);
    case step::give_back:
      // Rule 4: a grant that came too late is released, not handed out. Nobody has held the key.
      asked_->min_hold = microseconds{0};
      statement_.what = statement::kind::keyed;
      statement_.ask = asked_->ask(verb::release);
      statement_.ask.wake = services_.caps.looks_for_waiters();  // others may have seen that grant
      undo_until_ = now + undo_timeout;
      return send(doing::freeing, now, undo_timeout);
    default: return ask(now);
  }
}

action key_attempt::resume(instant now) {
  switch (doing_) {
    case doing::pinning: return pinned(session_.resume(now), now);
    case doing::asking: return answered(now);
    case doing::forgetting:
      doing_ = doing::nothing;
      // Any other answer leaves it held, as it was seen.
      if (statement_.sent && statement_.answer.result == outcome::yes) shown_.holder = {};
      return go(machine_.replied(shown_, now, {}), now);
    case doing::blocker: return blocker_found(now);
    case doing::breaking:
      tell_blocked(statement_.answer.result == outcome::yes ? "; ended (break_verified_after)"
                                                            : "; it could not be ended");
      return go(machine_.replied(contended_, now, {}), now);
    case doing::terminating: return terminated(now);
    case doing::cancelling: return cancel_answered(now);
    case doing::freeing: return freed(now);
    case doing::nothing: break;
  }
  return {};
}

action key_attempt::send(doing next, instant now, microseconds timeout) noexcept {
  doing_ = next;
  const bool undoes = next == doing::terminating || next == doing::cancelling || next == doing::freeing;
  statement_.priority = undoes ? priority::frees : priority::takes;
  statement_.counts = next == doing::asking;
  statement_.queue_deadline = undoes ? undo_until_ : request_.limit(now);
  statement_.timeout = timeout;
  return action::send(sent_);
}

// ---- asking ---------------------------------------------------------------------------------------------------------

action key_attempt::ask(instant now) {
  if (at_ == step::remove) {
    statement_.what = statement::kind::session;
    statement_.session_action = session_verb::remove_expired;
    statement_.record = {.id = machine_.holder().holder};
    return send(doing::asking, now, statement_timeout);
  }
  if (!grants(at_)) {
    statement_.what = statement::kind::keyed;
    statement_.ask = poll_request(now);
    return send(doing::asking, now, statement_timeout);
  }
  if (!pin() || pin()->deadline.remaining(now) == 0us) {
    pin_ = {};
    if (asked_ != nullptr) asked_->pin = {};
    doing_ = doing::pinning;
    return pinned(session_.start(keeping_.session_ttl(), request_.limit(now), now), now);
  }
  prepare_grant();
  if (key_.row() != nullptr) row_attempt_ = row_attempt(services_.shared);
  // Such a grant's release looks for a waiter: note_grant() records that it waited, or it serves in order.
  const bool looks = services_.caps.looks_for_waiters() && (machine_.has_paused() || request_.in_order());
  asked_->nonce = services_.shared.next_nonce(looks && request_.terms.min_hold.count() == 0);
  statement_.what = statement::kind::keyed;
  statement_.ask = asked_->ask(verb_of(at_));
  statement_.ask.ttl = keeping_.own_ttl();
  statement_.ask.min_hold = {};
  statement_.ask.expected = at_ == step::take_over ? &machine_.holder() : nullptr;
  statement_.ask.polled = at_ == step::take && polled_;
  statement_.ask.in_order = in_order(now) && !machine_.overtakes() && at_ != step::insert;
  statement_.ask.registered = registered_;
  return send(doing::asking, now, statement_timeout);
}

action key_attempt::pinned(action next, instant now) {
  if (next.what != action::kind::finished) return next;
  doing_ = doing::nothing;
  pin_ = session_.take_pin();
  return pin_ ? ask(now) : go(machine_.not_done(session_.why(), now), now);
}

statement& key_attempt::poll(instant now) noexcept {
  at_ = machine_.paused();
  statement_.what = statement::kind::keyed;
  statement_.ask = poll_request(now);
  send(doing::asking, now, statement_timeout);
  return statement_;
}

request key_attempt::poll_request(instant now) const noexcept {
  auto made = request_.poll_request(key_);
  made.registered = registered_;
  made.in_order = in_order(now);
  return made;
}

void key_attempt::registered(bool works, instant now) noexcept {
  registered_ = works;
  if (works) {
    unregistered_since_ = {};
  } else if (unregistered_since_ == instant{}) {
    unregistered_since_ = now;
  }
}

bool key_attempt::in_order(instant now) const noexcept {
  constexpr auto patience = 1s;  // as long as those who have a place are waited for
  return request_.in_order() && (unregistered_since_ == instant{} || now - unregistered_since_ < patience);
}

/// Everything that may fail, before anything is sent.
void key_attempt::prepare_grant() {
  if (asked_ != nullptr) {
    if (pin_) asked_->pin = std::move(pin_);
    return;
  }
  auto grant = keeping_.make_grant(services_, key_, request_.owner, request_.terms);
  grant_lifecycle::make_room(*grant);
  grant->pin = std::move(pin_);
  asked_ = std::move(grant);
}

action key_attempt::answered(instant now) {
  auto& answer = statement_.answer;
  doing_ = doing::nothing;
  polled_ = at_ == step::poll;
  if (statement_.sent && grants(at_)) {
    // Before anything that may fail: whatever happens now, it is taken back.
    if (answer.result == outcome::yes) ours_ = ours::yes;
    if (answer.result == outcome::unknown) ours_ = ours::maybe;
  }
  if (ours_ == ours::no) row_attempt_.end();
  if (!statement_.sent) return go(machine_.not_done(answer.why, now), now);
  if (answer.result == outcome::absent && key_.row() != nullptr) {
    no_such_row_ = true;
    return go(step::failed, now);
  }
  trusted_until_ = {};
  if (grants(at_)) {
    trusted_until_ =
        keeping_.trusted_until(*asked_->pin.get(), statement_.sent_at, now, services_.shared.options.margin);
    asked_->fence = answer.fence;
  }
  const bool contended = answer.result == outcome::failed && answer.why.contended;
  if (at_ == step::take_over && contended) return find_blocker(now);
  if (at_ == step::poll && answer.result == outcome::yes && is_nobodys(services_, key_, answer.holder))
    return cancel_nobodys(now);
  return go(machine_.replied(answer, now, trusted_until_, now - statement_.sent_at), now);
}

instant key_attempt::trusted_until(instant now) const noexcept {
  return keeping_.kind == lease_kind::session ? now + asked_->pin->deadline.remaining(now) : trusted_until_;
}

std::shared_ptr<grant> key_attempt::admit(queue_turn& turn, bool waited, bool watched, instant now) noexcept {
  keeping_.granted(*asked_, request_.terms, trusted_until_, statement_.sent_at, now);
  asked_->turn = std::move(turn);
  if (services_.grants.admit(asked_, now)) {
    ours_ = ours::no;  // a lease's
    row_attempt_.end();
    note_grant(services_, *asked_, waited, watched, now);
    return std::move(asked_);
  }
  turn = std::move(asked_->turn);
  return nullptr;
}

// ---- what is undone -------------------------------------------------------------------------------------------------

action key_attempt::terminated(instant now) {
  if (!statement_.sent || now >= undo_until_) return cancel_answered(now);  // the background goes on
  statement_.what = statement::kind::keyed;
  statement_.ask = asked_->ask(verb::cancel);
  gone_ = asked_->in_doubt->gone.load();
  return send(doing::cancelling, now, microseconds{undo_until_ - now});
}

action key_attempt::cancel_answered(instant now) {
  const bool cancelled = std::exchange(doing_, doing::nothing) == doing::cancelling && statement_.sent;
  const auto answer = cancelled ? statement_.answer.result : outcome::failed;
  // Cancelled: it has run, and a statement runs once. Nothing to cancel: final only if it could not run any more by
  // then.
  const bool done = answer == outcome::yes || (answer == outcome::no && gone_);
  auto doubt = std::move(asked_->in_doubt);
  ours_ = ours::no;
  if (!done) {
    pin_ = asked_->pin.again();
    services_.background.cancel_later(std::move(asked_), std::move(doubt), give_up(now), now);
  }
  row_attempt_.end();
  return go(machine_.resolved(now), now);
}

action key_attempt::freed(instant now) {
  doing_ = doing::nothing;
  const auto answer = statement_.sent ? statement_.answer.result : outcome::failed;
  ours_ = ours::no;
  if (answer != outcome::yes && answer != outcome::no) {
    pin_ = asked_->pin.again();
    services_.background.release_later(std::move(asked_), now);
  }
  row_attempt_.end();
  return go(machine_.given_back(now), now);
}

// ---- a grant of our own session without a lease (rule 6) ------------------------------------------------------------

/// A proxy may execute a take twice, and answer for the second one, which found the key held: by us. We have the key's
/// turn, so no other attempt of this service is under way, and what a holder still has to give back is in one of the
/// two lists. The server may take two texts for the same row, and a claim writes rows without their turns, so there
/// must be no other attempt at a row at all.
bool is_nobodys(engine_services& services, const lock_key& key, const seen& holder) noexcept {
  if (holder.kind != lease_kind::session || holder.nonce == 0 || holder.gone) return false;
  if (key.row() != nullptr && services.shared.row_attempts.load() != 0) return false;
  // In this order: what is released in the background is there before it leaves the registry of its session.
  return services.sessions.is_own_without(holder.holder, holder.nonce) &&
         !services.background.has_attempt(holder.holder, holder.nonce);
}

action key_attempt::cancel_nobodys(instant now) {
  shown_ = std::move(statement_.answer);
  services_.shared.notify(
      {.what = event::kind::outcome_unknown, .key = key_.view(), .text = "our session holds the key for no lease"});
  statement_.what = statement::kind::keyed;
  statement_.ask = {.action = verb::cancel,
                    .resource = key_.view(),
                    .session = shown_.holder.holder,
                    .row = key_.row(),
                    .nonce = shown_.holder.nonce,
                    .fence = shown_.holder.fence};
  return send(doing::forgetting, now, statement_timeout);
}

// ---- a dead holder's open transaction (rule 2) ----------------------------------------------------------------------

action key_attempt::find_blocker(instant now) {
  contended_ = std::move(statement_.answer);
  auto* const transactions = services_.statements.where().transactions();
  const bool reported = blocked_by_.id != 0 && services_.shared.options.break_verified_after.count() == 0;
  if (transactions == nullptr || reported) return go(machine_.replied(contended_, now, {}), now);
  const auto& holder = machine_.holder();
  blocker_ = {.store = transactions,
              .about = {.resource = key_.view(), .session = holder.holder, .row = key_.row(), .fence = holder.fence},
              .found = {}};
  statement_.what = statement::kind::call;
  statement_.about = &blocker_;
  statement_.call = [](void* about, connection& connection) {
    auto& mine = *static_cast<blocker*>(about);
    return mine.store->blocker(connection, mine.about, mine.found);
  };
  return send(doing::blocker, now, statement_timeout);
}

action key_attempt::blocker_found(instant now) {
  doing_ = doing::nothing;
  const bool known = blocked_by_.id != 0;
  const bool found = statement_.sent && statement_.answer.result == outcome::yes;
  if (found && (!known || blocker_.found.id != blocked_by_.id)) {
    blocked_by_ = blocker_.found;
    blocked_since_ = now;
    tell_blocked("");
  } else if (found && now - blocked_since_ >= services_.shared.options.break_verified_after) {
    blocked_since_ = now;  // not again at once
    statement_.what = statement::kind::terminate;
    statement_.lost = std::make_shared<doubt>(blocked_by_);
    return send(doing::breaking, now, statement_timeout);
  }
  return go(machine_.replied(contended_, now, {}), now);
}

void key_attempt::tell_blocked(const char* what_came_of_it) {
  const auto& holder = machine_.holder();
  const auto text =
      fmt::format("connection {} of the database has a transaction open that the dead holder{} verified{}",
                  blocked_by_.id, holder.who.empty() ? "" : " " + holder.who, what_came_of_it);
  services_.shared.notify({.what = event::kind::blocked, .key = key_.view(), .fence = holder.fence, .text = text});
}

}  // namespace dlock::engine
