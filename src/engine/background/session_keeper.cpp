// SPDX-License-Identifier: BSL-1.0
#include "engine/background/session_keeper.hpp"

#include <algorithm>
#include <new>
#include <utility>

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
/// If more connections than this have broken under attempts of one session, the session ends (rule 6). In an outage all
/// connections break at once, and the next ones may break as well: that alone must not end the session.
std::size_t most_in_doubt(const service_options& options) noexcept { return 32 + 2 * options.connections; }
}  // namespace

// ---- pins -----------------------------------------------------------------------------------------------------------

session_pin session_keeper::pin(microseconds ttl, instant now, session_opening& open, opening_waiter& waiter) {
  base::unique_lock lock(mutex_);
  // Searches again each time, because another thread may open one while the end of the last one is reported.
  for (auto found = sessions_.find(ttl); found != sessions_.end(); found = sessions_.find(ttl)) {
    const auto session = found->second;
    if (session->deadline.remaining(now) > 0us) {
      ++session->users;
      session->idle_since = {};
      return session_pin(session);
    }
    end(session, loss_reason::unreachable, now);
  }
  if (opening_.contains(ttl)) {
    waiter.next_ = std::exchange(waiting_, &waiter);
    return {};
  }
  // All allocations come first, so that a session that the store has opened is always listed and renewed. The times are
  // set when the answer is there.
  session_pins& counts = *this;
  session_opening opens;
  opens.session_ =
      std::make_shared<engine::session>(counts, id128::random(), ttl, margin_for(ttl, shared_.options.margin), now);
  session_map made{{ttl, opens.session_}};
  opens.entry_ = made.extract(made.begin());
  opens.renewal_ = hooks_.renewal_of(opens.session_);
  opens.at_ = changes_;
  opening_.insert(ttl);
  opens.keeper_ = this;
  open = std::move(opens);
  return {};
}

id128 session_keeper::id_of(microseconds ttl) const noexcept {
  const base::lock_guard lock(mutex_);
  const auto found = sessions_.find(ttl);
  return found != sessions_.end() ? found->second->id : id128{};
}

void session_keeper::leave(opening_waiter& waiter) noexcept {
  const base::lock_guard lock(mutex_);
  for (auto** at = &waiting_; *at != nullptr; at = &(*at)->next_) {
    if (*at != &waiter) continue;
    *at = waiter.next_;
    return;
  }
}

void session_keeper::unpin(session& session) noexcept {
  const base::lock_guard lock(mutex_);
  --session.users;
}

session_pin session_keeper::pin_again(const std::shared_ptr<session>& session, bool over) noexcept {
  const base::lock_guard lock(mutex_);
  if (session->over && !over) return {};
  ++session->users;
  return session_pin(session);
}

// ---- opening --------------------------------------------------------------------------------------------------------

session_opening& session_opening::operator=(session_opening&& other) noexcept {
  session_opening before(std::move(*this));
  keeper_ = std::exchange(other.keeper_, nullptr);
  session_ = std::move(other.session_);
  entry_ = std::move(other.entry_);
  renewal_ = std::move(other.renewal_);
  at_ = other.at_;
  return *this;
}

session_opening::~session_opening() {
  if (keeper_ != nullptr) keeper_->opening_ended(session_->ttl);
}

void session_opening::ask(statement& into) const noexcept {
  into.what = statement::kind::session;
  into.session_action = session_verb::open;
  into.record = keeper_->shared_.record(session_->id, session_->ttl);
  into.counts = false;
  // The connection for renewals is made meanwhile, so that it exists when the first renewal is due.
  keeper_->statements_.prepare_renewals();
}

session_pin session_opening::answered(const statement& with, fault& why) noexcept {
  return keeper_->opened(*this, with, why);
}

bool session_opening::elsewhere() const noexcept {
  const base::lock_guard lock(keeper_->mutex_);
  return at_ != keeper_->changes_;
}

session_pin session_keeper::opened(session_opening& by, const statement& with, fault& why) noexcept {
  const auto& session = by.session_;
  if (with.answer.result != outcome::yes) {
    // Without an answer the row may exist. Its id is never used again, and clean-up removes the row after its expiry.
    why = with.answer.why;
    if (with.answer.result == outcome::unknown) why.transient = true;
    if (why.text.empty()) why = passing_fault("the store refused to open a session", why.connection);
    try {
      auto reason = why;
      const base::lock_guard lock(mutex_);
      std::swap(not_opened_, reason);
    } catch (const std::bad_alloc&) {
      // The waiters for the session get a shorter text.
    }
    return {};
  }
  // Rule 4: the deadline counts from the sending.
  session->machine = session_machine(session->ttl, margin_for(session->ttl, shared_.options.margin), with.sent_at);
  session->deadline.reset(session->machine.deadline());
  bool used = false;
  {
    const base::lock_guard lock(mutex_);
    used = by.at_ == changes_;  // rule 15: otherwise its row may be on another server
    session->over = !used;
    if (used) {
      sessions_.insert(std::move(by.entry_));
      not_opened_ = {};
      ++session->users;
    }
  }
  // The task may find at once that the session was opened too slowly. Then it ends the session, and removes it from the
  // list, so it begins when the session is there. The task of a session that is not used ends at once.
  by.renewal_->begin(nullptr);
  if (!used) {
    why = passing_fault("the server changed while a session was opened", false);
    return {};
  }
  hooks_.sooner(with.answered_at);
  return session_pin(session);
}

void session_keeper::opening_ended(microseconds ttl) noexcept {
  const base::lock_guard lock(mutex_);
  opening_.erase(ttl);
  while (waiting_ != nullptr) std::exchange(waiting_, waiting_->next_)->wake();
}

// ---- the grants of a session ----------------------------------------------------------------------------------------

bool session_keeper::link(grant& grant) noexcept {
  const base::lock_guard lock(mutex_);
  if (grant.pin->over || refuses_grants_) return false;
  put(grant.pin->first, grant);
  return true;
}

void session_keeper::put(grant*& first, grant& grant) noexcept {
  list_link<engine::grant>::add(first, grant, &engine::grant::of_session);
}

void session_keeper::take_out(grant& grant) noexcept {
  list_link<engine::grant>::remove(grant, &engine::grant::of_session);
}

void session_keeper::unlink(grant& grant) noexcept {
  const base::lock_guard lock(mutex_);
  take_out(grant);
}

/// Those that do not end with their session stay in the registry when it is over.
void session_keeper::leave_orphans(session& from) noexcept {
  for (grant* each = from.first; each != nullptr;) {
    grant& grant = *std::exchange(each, each->of_session.next());
    if (grant.kind == lease_kind::session) continue;
    take_out(grant);
    put(orphans_, grant);
  }
}

std::shared_ptr<grant> session_keeper::detach_first(session& from) noexcept {
  while (from.first != nullptr) {
    grant& grant = *from.first;
    take_out(grant);
    if (auto alive = grant.alive()) return alive;
  }
  return nullptr;
}

// ---- the end of a session -------------------------------------------------------------------------------------------

void session_keeper::end(const std::shared_ptr<session>& session, loss_reason reason, instant now) noexcept {
  if (session->over) return;
  session->over = true;
  session->why.store(reason, std::memory_order_release);
  session->deadline.end();
  if (const auto at = sessions_.find(session->ttl); at != sessions_.end() && at->second == session) sessions_.erase(at);
  if (session->renewer != nullptr) session->renewer->wake();
  leave_orphans(*session);  // before the mutex is unlocked for the first time
  std::shared_ptr<grant> last;
  while (auto lost = detach_first(*session)) {
    mutex_.unlock();
    hooks_.lost(lost, reason, now);
    last = std::move(lost);
    mutex_.lock();
  }
  mutex_.unlock();
  hooks_.over(session, last, reason, now);
  last.reset();  // without the lock, because the pin of the grant locks it
  mutex_.lock();
}

void session_keeper::retire(const std::shared_ptr<session>& session, loss_reason reason, instant now) noexcept {
  base::unique_lock lock(mutex_);
  end(session, reason, now);
}

void session_keeper::retire_all(loss_reason reason, instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (!sessions_.empty()) {
    const auto session = sessions_.begin()->second;
    end(session, reason, now);
  }
}

void session_keeper::add_in_doubt(const std::shared_ptr<session>& session, instant now) noexcept {
  base::unique_lock lock(mutex_);
  if (++session->in_doubt > most_in_doubt(shared_.options)) end(session, loss_reason::abandoned, now);
}

void session_keeper::remove_in_doubt(session& session) noexcept {
  const base::lock_guard lock(mutex_);
  --session.in_doubt;
}

void session_keeper::connected(const connection_identity& to, instant now) noexcept {
  {
    const base::lock_guard lock(mutex_);
    if (server_ == to.server) return;
    const bool first = server_.empty() && changes_ == 0;
    try {
      server_ = to.server;
    } catch (const std::bad_alloc&) {
      server_.clear();  // the next one counts as another
    }
    if (first) return;
    ++changes_;  // a session that is being opened may be on either server
  }
  retire_all(loss_reason::server_changed, now);
  std::vector<std::shared_ptr<grant>> others;
  std::shared_ptr<grant> alive;  // destroyed without the lock, because it may be the last owner
  try {
    const base::lock_guard lock(mutex_);
    for (grant* each = orphans_; each != nullptr; each = each->of_session.next()) {
      alive = each->alive();
      if (alive != nullptr) others.push_back(std::move(alive));
    }
  } catch (const std::bad_alloc&) {
    // The rest ends by its own expiry.
  }
  for (const auto& each : others) hooks_.lost(each, loss_reason::server_changed, now);
}

void session_keeper::for_each_grant(const std::function<void(const grant&)>& use) {
  const base::lock_guard lock(mutex_);
  for (const auto& [ttl, each] : sessions_) {
    for (const grant* at = each->first; at != nullptr; at = at->of_session.next()) use(*at);
  }
  for (const grant* at = orphans_; at != nullptr; at = at->of_session.next()) use(*at);
}

bool session_keeper::is_own_without(const id128& id, std::uint64_t nonce) noexcept {
  const base::lock_guard lock(mutex_);
  for (const auto& [ttl, each] : sessions_) {
    if (each->id != id) continue;
    for (const grant* at = each->first; at != nullptr; at = at->of_session.next()) {
      if (at->nonce == nonce) return false;
    }
    return !each->over;
  }
  return false;
}

// ---- how sessions are kept alive ------------------------------------------------------------------------------------

namespace {
/// The time limit of one renewal: a quarter of the ttl, so that there is time for more tries before the deadline.
microseconds timeout_for(microseconds ttl) noexcept { return std::clamp<microseconds>(ttl / 4, 100ms, 10s); }
}  // namespace

bool session_keeper::idle(session& session, instant now) noexcept {
  if (session.users > 0 || session.in_doubt > 0) return false;
  if (session.idle_since == instant{}) session.idle_since = now;
  return now - session.idle_since > std::max<microseconds>(2 * session.ttl, 60s);
}

session_keeper::renewing::renewing(session_keeper& keeper, session& of, waker& renews) noexcept
    : keeper_(keeper), of_(of) {
  const base::lock_guard lock(keeper_.mutex_);
  of_.renewer = &renews;
}

session_keeper::renewing::~renewing() {
  const base::lock_guard lock(keeper_.mutex_);
  of_.renewer = nullptr;
}

instant session_keeper::due(const session& of) const noexcept {
  const base::lock_guard lock(mutex_);
  return of.over ? instant{} : of.machine.due();
}

bool session_keeper::begin_renewal(const std::shared_ptr<session>& of, statement& into, instant now) noexcept {
  base::unique_lock lock(mutex_);
  const auto remaining = of->deadline.remaining(now);
  if (const bool late = remaining == 0us; late || idle(*of, now)) {
    end(of, late ? loss_reason::unreachable : loss_reason::none, now);
  }
  if (of->over) return false;
  of->renewing = true;
  into.what = statement::kind::session;
  into.priority = priority::renewals;
  into.session_action = session_verb::renew;
  into.record = shared_.record(of->id, of->ttl);
  into.counts = false;
  into.timeout = timeout_for(of->ttl);
  into.queue_deadline = now + std::min(into.timeout, remaining);
  return true;
}

void session_keeper::end_renewal(const std::shared_ptr<session>& of, statement& answered) noexcept {
  const auto now = answered.answered_at;
  const auto result = answered.answer.result;
  base::unique_lock lock(mutex_);
  of->renewing = false;
  if (of->over) return;
  auto verdict = of->machine.renewed(result, answered.sent ? answered.sent_at : now, now);
  if (verdict == session_machine::verdict::live && !of->deadline.extend(of->machine.deadline())) {
    verdict = session_machine::verdict::over;  // a caller has seen meanwhile that the deadline had passed
  }
  if (verdict == session_machine::verdict::over) {
    end(of, result == outcome::no ? loss_reason::renewal_refused : loss_reason::unreachable, now);
    return;
  }
  if (std::exchange(of->hurried, false)) of->machine.hurry(now);
  lock.unlock();
  if (verdict == session_machine::verdict::late) {
    news_.post({.what = event::kind::renewal_late, .text = answered.answer.why.text});
  }
}

void session_keeper::renew_all(instant now) noexcept {
  const base::lock_guard lock(mutex_);
  for (const auto& [ttl, each] : sessions_) {
    each->machine.hurry(now);
    // The answer to a renewal that is under way may be older than what the store has noticed.
    each->hurried = each->renewing;
    if (each->renewer != nullptr) each->renewer->wake();
  }
}

instant session_keeper::tick(instant now) noexcept {
  base::unique_lock lock(mutex_);
  while (const auto late = first_late(now)) end(late, loss_reason::unreachable, now);
  auto next = instant::max();
  for (const auto& [ttl, each] : sessions_) {
    // Not only at the deadline: on a computer that was asleep, deadlines pass before its timers run out.
    const auto often = std::clamp<microseconds>(ttl / 10, 100ms, 1s);
    next = std::min(next, now + std::min(each->deadline.remaining(now), often));
  }
  return next;
}

std::shared_ptr<session> session_keeper::first_late(instant now) noexcept {
  for (const auto& [ttl, each] : sessions_) {
    if (each->deadline.remaining(now) == 0us) return each;
  }
  return nullptr;
}

}  // namespace dlock::engine
