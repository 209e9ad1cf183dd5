// SPDX-License-Identifier: BSL-1.0
#include "engine/operations/key_attempt.hpp"

#include <fmt/format.h>

#include <utility>

#include "dlock/store_interface/transactional_store.hpp"
#include "engine/operations/release_operation.hpp"
#include "engine/operations/session_request.hpp"
#include "engine/operations/undo.hpp"
#include "engine/registry/fair_share.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {

/// The time limit for undoing an attempt while its caller waits.
constexpr microseconds undo_timeout = statement_timeout / 2;

verb verb_of(step next) noexcept {
  switch (next) {
    case step::insert: return verb::insert;
    case step::poll: return verb::poll;
    case step::take_over: return verb::take_over;
    case step::close: return verb::close;
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
  grant->mode = terms.mode;
  give_to(std::move(owner), terms, *grant);
  return grant;
}

void keeping::give_to(std::shared_ptr<owner_state> owner, const detail::lock_settings& terms, grant& grant) noexcept {
  grant.owner = std::move(owner);
  grant.renewable = terms.renewal == renewal::manual;
  grant.min_hold = terms.min_hold;
  grant.in_order = terms.fairness == fairness::fifo;
  grant.linger = terms.linger;
}

void keeping::granted(grant& grant, const detail::lock_settings& terms, instant trusted, instant sent,
                      instant now) const noexcept {
  grant.granted_at = now;
  grant.asked_at = sent;
  if (kind != lease_kind::session) grant.deadline->own_end.reset(trusted);
  if (terms.max_hold.count() > 0) grant.deadline->cap = now + terms.max_hold;
}

void note_grant(engine_services& services, const grant& grant, bool waited, bool watched, instant now) noexcept {
  if (grant.mode != exclusive) return;  // others may hold the key at the same time
  if (services.caps.looks_for_waiters())
    services.grants.knowledge().granted(grant.key, grant.nonce, waited, grant.asked_at);
  services.grants.history().granted(grant.key, {.fence = grant.fence,
                                                .counts = grant.fenced && services.caps.consecutive_fences,
                                                .watched = watched,
                                                .asked = grant.asked_at,
                                                .now = now});
}

void report_grant(engine_services& services, const grant& grant, const lock_request& request, unsigned attempts,
                  bool taken_over, instant now) noexcept {
  services.shared.notify({.what = event::kind::granted,
                          .key = grant.key.view(),
                          .fence = grant.fence_shown(),
                          .waited = now - request.begun,
                          .attempts = attempts,
                          .taken_over = taken_over});
}

// ---- asking ---------------------------------------------------------------------------------------------------------

key_attempt::key_attempt(engine_services& services, const lock_key& key, const lock_request& request,
                         const acquire_machine::settings& settings) noexcept
    : services_(services),
      key_(key),
      request_(request),
      keeping_(key, request.terms, services.caps),
      machine_(settings),
      closer_(settings.seed) {}

task<step> key_attempt::ask(flow& f, step next) { return ask(f, next, false); }

task<step> key_attempt::ask_polled(flow& f) { return ask(f, at_, true); }

task<step> key_attempt::ask_notified(flow& f) {
  polled_ = false;
  was_woken_ = true;
  return ask(f, machine_.notified());
}

/// `answered`: the statement of that step was answered already.
task<step> key_attempt::ask(flow& f, step next, bool answered) {
  for (;;) {
    at_ = next;
    switch (next) {
      case step::granted:
      case step::busy:
      case step::failed:
      case step::pause: co_return next;
      case step::resolve: next = co_await resolve(f); continue;
      case step::give_back: next = co_await give_back(f); continue;
      default: break;
    }
    if (!std::exchange(answered, false)) {
      if (grants(at_)) {
        bool pinned = has_session(f.now());
        if (!pinned) pinned = co_await pin_session(f);
        if (!pinned) {
          next = at_;
          continue;
        }
        prepare_grant();
      }
      write_statement(f.now());
      co_await f.send(statement_);
    }
    const auto& answer = statement_.answer;
    note_answer(f.now());
    if (!statement_.sent) {
      next = machine_.not_done(answer.why, f.now());
    } else if (answer.result == outcome::absent && key_.row() != nullptr) {
      no_such_row_ = true;
      next = step::failed;
    } else if (at_ == step::take_over && answer.result == outcome::failed && answer.why.contended &&
               machine_.holder().shared == membership::none) {
      next = co_await find_blocker(f);
    } else if (at_ == step::poll && answer.result == outcome::yes && !request_.shares() &&
               is_nobodys(services_, key_, answer.holder)) {
      next = co_await cancel_nobodys(f);
    } else {
      next = machine_.replied(answer, f.now(), trusted_until_, f.now() - statement_.sent_at);
    }
  }
}

bool key_attempt::has_session(instant now) const noexcept { return pin() && pin()->deadline.remaining(now) > 0us; }

task<bool> key_attempt::pin_session(flow& f) {
  const auto until = request_.limit(f.now());
  while (!has_session(f.now())) {
    fault why;
    if (pin() && f.now() >= until) {
      why = passing_fault("each session was opened so slowly that it had ended before it could be used", false);
    } else if (!pin() || !f.interrupted()) {
      pin_ = {};
      if (asked_ != nullptr) asked_->pin = {};
      pin_ = co_await request_session(f, services_, keeping_.session_ttl(), until, statement_, why);
      if (pin_) continue;  // one that was opened too slowly is over already
    }
    at_ = why.text.empty() ? step::pause : machine_.not_done(why, f.now());  // interrupted: the caller sees why
    co_return false;
  }
  co_return true;
}

/// Does everything that may fail before anything is sent.
void key_attempt::prepare_grant() {
  if (asked_ != nullptr) {
    if (pin_) asked_->pin = std::move(pin_);
    return;
  }
  auto grant = keeping_.make_grant(services_, key_, request_.owner, request_.terms);
  if (request_.terms.mode == shared) grant->reader = std::make_shared<reader_row>();
  services_.grants.make_room(*grant, request_.terms.max_hold.count() > 0);
  grant->pin = std::move(pin_);
  asked_ = std::move(grant);
}

/// Fills in the statement of the present step.
void key_attempt::write_statement(instant now) {
  statement_.priority = priority::takes;
  statement_.counts = true;
  statement_.queue_deadline = request_.limit(now);
  statement_.timeout = statement_timeout;
  if (at_ == step::remove) {
    statement_.what = statement::kind::session;
    statement_.session_action = session_verb::remove_expired;
    statement_.record = {.id = machine_.holder().holder};
    return;
  }
  statement_.what = statement::kind::keyed;
  if (at_ == step::close) {
    closed_ = true;
    statement_.ask = {.action = verb::close, .resource = key_.view(), .nonce = closer_};
    return;
  }
  if (!grants(at_)) {
    statement_.ask = poll_request(now);
    // A member's poll says by that whether it was woken, so that the store wakes the next waiter where it does not fit.
    // A key that was open before has room for one at most, which another one has got.
    const bool others_may_fit = request_.terms.mode.units > 1 || machine_.holder().shared != membership::open;
    if (request_.shares()) statement_.ask.registered = was_woken_ && others_may_fit;
    was_woken_ = false;
    return;
  }
  if (key_.row() != nullptr) row_attempt_ = row_attempt(services_.shared);
  // The release of such a grant looks for a waiter, because note_grant() records that it waited, or it asks in order.
  // Callers that met the closed key, and wait to become members, rely on that as well.
  const bool waited = machine_.has_paused() || machine_.holder().shared != membership::none;
  const bool looks = services_.caps.looks_for_waiters() && (waited || request_.in_order());
  asked_->nonce = services_.shared.next_nonce(looks && request_.terms.min_hold.count() == 0);
  if (request_.terms.linger.count() > 0) asked_->nonce |= lingering_nonce;
  statement_.ask = asked_->ask(verb_of(at_));
  statement_.ask.ttl = keeping_.own_ttl();
  statement_.ask.min_hold = {};
  const bool closed = at_ == step::take && polled_ && machine_.holder().shared != membership::none;
  const bool seen_before = request_.shares() && at_ == step::take && machine_.statements() > 0;
  const bool names = at_ == step::take_over || (closed && !request_.shares()) || seen_before;
  statement_.ask.expected = names ? &machine_.holder() : nullptr;
  statement_.ask.wake = request_.shares() && services_.caps.looks_for_waiters() && machine_.has_paused();
  statement_.ask.polled = at_ == step::take && polled_;
  statement_.ask.in_order = in_order(now) && !machine_.overtakes() && at_ != step::insert;
  statement_.ask.registered = registered_;
}

statement& key_attempt::poll(instant now) noexcept {
  at_ = machine_.paused();
  write_statement(now);
  return statement_;
}

request key_attempt::poll_request(instant now) const noexcept {
  auto made = request_.poll_request(key_);
  made.registered = registered_;
  made.in_order = in_order(now);
  made.wake = services_.caps.lingers && !request_.once;
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
  constexpr auto patience = 1s;  // as long as others wait for a waiter with a place
  return request_.in_order() && (unregistered_since_ == instant{} || now - unregistered_since_ < patience);
}

/// Called before anything that may fail. From now on a grant that is not admitted will be undone.
void key_attempt::note_answer(instant now) noexcept {
  const auto& answer = statement_.answer;
  polled_ = at_ == step::poll || (at_ == step::close && answer.holder.shared != membership::none);
  if (statement_.sent && grants(at_)) {
    if (answer.result == outcome::yes) ours_ = ours::yes;
    if (answer.result == outcome::unknown) ours_ = ours::maybe;
  }
  if (ours_ == ours::no) row_attempt_.end();
  if (!statement_.sent) return;
  trusted_until_ = {};
  if (!grants(at_)) return;
  trusted_until_ = keeping_.trusted_until(*asked_->pin.get(), statement_.sent_at, now, services_.shared.options.margin);
  asked_->fence = answer.fence;
}

instant key_attempt::trusted_until(instant now) const noexcept {
  return keeping_.kind == lease_kind::session ? now + asked_->pin->deadline.remaining(now) : trusted_until_;
}

std::shared_ptr<grant> key_attempt::admit(queue_turn& turn, bool waited, bool watched, instant now) noexcept {
  keeping_.granted(*asked_, request_.terms, trusted_until_, statement_.sent_at, now);
  // Others of this process may become members too, so the turn is only for asking.
  if (!request_.shares()) asked_->turn = std::move(turn);
  const auto reader = asked_->reader;  // before any other thread can end it
  if (services_.grants.admit(asked_, now)) {
    ours_ = ours::no;  // it belongs to a lease now
    closed_ = false;
    if (reader != nullptr) services_.readers.offer(*asked_, reader, now);
    row_attempt_.end();
    note_grant(services_, *asked_, waited || machine_.holder().shared != membership::none, watched, now);
    return std::move(asked_);
  }
  if (!request_.shares()) turn = std::move(asked_->turn);
  return nullptr;
}

// ---- what is undone -------------------------------------------------------------------------------------------------

key_attempt::~key_attempt() { take_back(statement_.answered_at); }

void key_attempt::take_back(instant now) noexcept {
  if (ours_ == ours::no) return;
  const bool unsure = std::exchange(ours_, ours::no) == ours::maybe;
  auto doubt = unsure ? std::move(statement_.in_doubt != nullptr ? statement_.in_doubt : asked_->in_doubt) : nullptr;
  services_.background.cancel_later(std::move(asked_), std::move(doubt), give_up(now), now);
}

request key_attempt::cancellation(instant now) const noexcept {
  auto made = asked_->ask(verb::cancel);
  made.min_hold = microseconds{0};  // frees it at once
  // Others may have seen that grant for longer than quiet_without_waiters, so they rely on a notification.
  made.wake = services_.caps.looks_for_waiters() && now - statement_.sent_at >= quiet_without_waiters;
  return made;
}

/// After this time a statement that the server has received can't wait any more, neither for locks nor for a thread of
/// the server.
instant key_attempt::give_up(instant now) const noexcept {
  return keeping_.kind == lease_kind::session ? instant::max() : now + 10min;
}

/// Undoes an attempt without an answer (rule 6).
task<step> key_attempt::resolve(flow& f) {
  asked_->in_doubt = std::move(statement_.in_doubt);
  services_.shared.notify({.what = event::kind::outcome_unknown, .key = key_.view(), .text = machine_.why().text});
  const bool done = co_await undo(f, statement_, *asked_, f.now() + undo_timeout);
  auto doubt = std::move(asked_->in_doubt);
  ours_ = ours::no;
  if (!done) {
    pin_ = asked_->pin.again();
    services_.background.cancel_later(std::move(asked_), std::move(doubt), give_up(f.now()), f.now());
  }
  row_attempt_.end();
  co_return machine_.resolved(f.now());
}

/// Releases a grant that came too late (rule 4). No caller has got it.
task<step> key_attempt::give_back(flow& f) {
  statement_.what = statement::kind::keyed;
  statement_.ask = asked_->ask(verb::release);
  statement_.ask.min_hold = microseconds{0};                 // the next attempt has the caller's again
  statement_.ask.wake = services_.caps.looks_for_waiters();  // others may have seen that grant
  statement_.priority = priority::frees;
  statement_.counts = false;
  statement_.queue_deadline = f.now() + undo_timeout;
  statement_.timeout = undo_timeout;
  co_await f.send(statement_);
  const auto answer = statement_.sent ? statement_.answer.result : outcome::failed;
  ours_ = ours::no;
  if (answer == outcome::yes || answer == outcome::no) {
    note_waiters(services_, *asked_, statement_, false, f.now());
  } else {
    pin_ = asked_->pin.again();
    asked_->min_hold = microseconds{0};
    services_.background.release_later(std::move(asked_), f.now());
  }
  row_attempt_.end();
  co_return machine_.given_back(f.now());
}

/// If this fails, the next caller that wants to be a member opens it some seconds later.
task<void> key_attempt::reopen(flow& f) {
  closed_ = false;
  statement_.what = statement::kind::keyed;
  statement_.ask = {.action = verb::open, .resource = key_.view(), .nonce = closer_};
  statement_.priority = priority::frees;
  statement_.counts = false;
  statement_.queue_deadline = f.now() + undo_timeout;
  statement_.timeout = undo_timeout;
  co_await f.send(statement_);
}

// ---- a grant of our own session without a lease (rule 6) ------------------------------------------------------------

/// A proxy may execute a take twice and return the answer of the second one, which found the key held, by us. The
/// caller has the turn of the key, so no other attempt of this service is under way, and every grant that still has to
/// be released is in one of the two lists below. Rows are special: the server may take two texts for the same row, and
/// a claim writes rows without their turns. So there must be no other attempt at any row.
bool is_nobodys(engine_services& services, const lock_key& key, const seen& holder) noexcept {
  if (holder.kind != lease_kind::session || holder.nonce == 0 || holder.gone) return false;
  if (key.row() != nullptr && services.shared.row_attempts.load() != 0) return false;
  // In this order, because a grant comes to the background before it leaves the list of its session.
  return services.sessions.is_own_without(holder.holder, holder.nonce) &&
         !services.background.has_attempt(holder.holder, holder.nonce);
}

task<step> key_attempt::cancel_nobodys(flow& f) {
  auto shown = std::move(statement_.answer);
  services_.shared.notify(
      {.what = event::kind::outcome_unknown, .key = key_.view(), .text = "our session holds the key for no lease"});
  statement_.what = statement::kind::keyed;
  statement_.ask = {.action = verb::cancel,
                    .resource = key_.view(),
                    .session = shown.holder.holder,
                    .row = key_.row(),
                    .nonce = shown.holder.nonce,
                    .fence = shown.holder.fence};
  statement_.counts = false;
  statement_.queue_deadline = request_.limit(f.now());
  co_await f.send(statement_);
  // After any other answer the key counts as held.
  if (statement_.sent && statement_.answer.result == outcome::yes) shown.holder = {};
  co_return machine_.replied(shown, f.now(), {});
}

// ---- a dead holder's open transaction (rule 2) ----------------------------------------------------------------------

namespace {

/// Asks which connection blocks a key.
struct blocker {
  transactional_store* store = nullptr;
  request about{};
  connection_identity found{};

  static reply ask(void* about, connection& connection) {
    auto& mine = *static_cast<blocker*>(about);
    return mine.store->blocker(connection, mine.about, mine.found);
  }
};

}  // namespace

/// The take-over has met a locked row: finds out which connection locks it.
task<step> key_attempt::find_blocker(flow& f) {
  const auto contended = std::move(statement_.answer);
  auto* const transactions = services_.statements.where().transactions();
  const auto break_after = services_.shared.options.break_verified_after;
  const bool known = blocked_by_.id != 0;
  if (transactions == nullptr || (known && break_after.count() == 0)) {
    co_return machine_.replied(contended, f.now(), {});
  }
  const auto& holder = machine_.holder();
  blocker blocked;
  blocked.store = transactions;
  blocked.about = {.resource = key_.view(), .session = holder.holder, .row = key_.row(), .fence = holder.fence};
  statement_.what = statement::kind::call;
  statement_.about = &blocked;
  statement_.call = blocker::ask;
  statement_.counts = false;
  statement_.queue_deadline = request_.limit(f.now());
  co_await f.send(statement_);
  const bool found = statement_.sent && statement_.answer.result == outcome::yes;
  if (found && (!known || blocked.found.id != blocked_by_.id)) {
    blocked_by_ = blocked.found;
    blocked_since_ = f.now();
    tell_blocked("");
  } else if (found && f.now() - blocked_since_ >= break_after) {
    blocked_since_ = f.now();  // the next try comes after the same time
    statement_.what = statement::kind::terminate;
    statement_.lost = std::make_shared<doubt>(blocked_by_);
    statement_.queue_deadline = request_.limit(f.now());
    co_await f.send(statement_);
    tell_blocked(statement_.answer.result == outcome::yes ? "; ended (break_verified_after)"
                                                          : "; it could not be ended");
  }
  co_return machine_.replied(contended, f.now(), {});
}

void key_attempt::tell_blocked(const char* what_came_of_it) {
  const auto& holder = machine_.holder();
  const auto text =
      fmt::format("connection {} of the database has a transaction open that the dead holder{} verified{}",
                  blocked_by_.id, holder.who.empty() ? "" : " " + holder.who, what_came_of_it);
  services_.shared.notify({.what = event::kind::blocked, .key = key_.view(), .fence = holder.fence, .text = text});
}

}  // namespace dlock::engine
