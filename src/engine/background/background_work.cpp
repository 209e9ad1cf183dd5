// SPDX-License-Identifier: BSL-1.0
#include "engine/background/background_work.hpp"

#include <algorithm>
#include <utility>

#include "engine/machines/backoff.hpp"

namespace dlock::engine {

using namespace std::chrono_literals;

namespace {
constexpr microseconds timeout = 2s;  // of one statement
/// The pauses between two tries, by level: for releases whose caller may still wait, for those of them that have met a
/// locked row, and for everything else.
constexpr std::array<microseconds, 3> pauses{5ms, 50ms, 500ms};
/// The pause after no connection could be had, and between two tries to delete the row of a session.
constexpr microseconds unreachable_pause = 500ms;

/// When to give up an attempt to free a grant. `answered`: the store has just replied. A lock that the store could not
/// be asked about may exist until its own expiry.
instant end_of_tries(const grant& of, bool answered) noexcept {
  const auto end = of.deferral.give_up;
  return answered || !of.deferral.cancels || end == instant::max() ? end : end + of.ttl;
}
}  // namespace

background_work::background_work(service_context& shared, statement_executor& statements, session_keeper& sessions,
                                 notifier& news, hooks callbacks)
    : shared_(shared), statements_(statements), sessions_(sessions), news_(news), hooks_(std::move(callbacks)) {}

// ---- what comes in --------------------------------------------------------------------------------------------------

void background_work::pump_and_tell(lock_type& lock, instant now) noexcept {
  grant_list<linked_by_deferral> over;  // destroyed after the mutex is unlocked
  pump(now, over);
  const auto next = next_time(now);
  lock.unlock();
  hooks_.sooner(next);
}

void background_work::release_now(std::shared_ptr<grant> grant, instant now) noexcept {
  if (!grant->leaves_store()) return hooks_.released(grant, release_result::freed, {}, now);
  grant->deferral.report_by = now + shared_.options.release_limit;
  release_later(std::move(grant), now);
}

void background_work::release_later(std::shared_ptr<grant> grant, instant now) noexcept {
  ++releases_;
  grant->deferral.cancels = false;
  grant->deferral.give_up = grant->release_given_up(now);
  lock_type lock(mutex_);
  now_.push_back(std::move(grant));
  pump_and_tell(lock, now);
}

void background_work::release_lost(std::shared_ptr<grant> grant, instant now) noexcept {
  ++releases_;
  grant->deferral.cancels = false;
  grant->min_hold = microseconds{0};
  grant->deferral.give_up = grant->release_given_up(now);
  const auto end = margin_end(*grant);
  lock_type lock(mutex_);
  lost_.insert(std::move(grant), [&](const auto& other) { return margin_end(other) > end; });
  pump_and_tell(lock, now);
}

void background_work::notify_holder(std::shared_ptr<grant> lost) noexcept {
  {
    const base::lock_guard lock(mutex_);
    unnotified_.push_back(std::move(lost));
  }
  news_.note_loss();
}

std::shared_ptr<grant> background_work::next_lost() noexcept {
  const base::lock_guard lock(mutex_);
  return unnotified_.empty() ? nullptr : unnotified_.pop_front();
}

void background_work::cancel_later(std::shared_ptr<grant> grant, std::shared_ptr<doubt> doubt, instant give_up,
                                   instant now, bool lasting) noexcept {
  bool first = false;
  if (doubt != nullptr) {
    const base::lock_guard lock(mutex_);
    first = doubt->open++ == 0;
    if (first) doubt->counted = grant->pin.get();
  }
  // The session counts a broken connection once, however many attempts were lost with it.
  if (first) sessions_.add_in_doubt(grant->pin.get(), now);
  grant->deferral.cancels = true;
  grant->deferral.lasting = lasting;
  grant->deferral.give_up = give_up;
  const bool tried = doubt != nullptr;
  grant->in_doubt = std::move(doubt);
  grant->deferral.next_try = now + pauses.back();
  lock_type lock(mutex_);
  (tried ? retries_.back() : now_).push_back(std::move(grant));
  pump_and_tell(lock, now);
}

void background_work::close(const std::shared_ptr<session>& session, std::shared_ptr<grant> notify_first,
                            instant earliest, instant not_before, instant give_up, instant now) noexcept {
  lock_type lock(mutex_);
  if (ending_ && now < earliest) return;  // its row stays until its expiry
  session->notify_first = std::move(notify_first);
  session->earliest = earliest;
  session->not_before = not_before;
  session->give_up = give_up;
  session->next_closing = std::exchange(closings_, session);
  pump_and_tell(lock, now);
}

// ---- what is sent ---------------------------------------------------------------------------------------------------

instant background_work::margin_end(const grant& lost) const noexcept {
  return lost.lost_at.load() + margin_for(lost.ttl, shared_.options.margin);
}

/// For a lost grant whose release has not been tried.
instant background_work::time_of(const grant& lost) const noexcept {
  const auto end = margin_end(lost);
  return ending_ || lost.holder_notified() ? end : std::max(end, lost.lost_at.load() + longest_notice);
}

instant background_work::time_of(const session& over) const noexcept {
  const bool notified = ending_ || over.notify_first == nullptr || over.notify_first->holder_notified();
  return notified ? over.earliest : std::max(over.earliest, over.not_before);
}

std::shared_ptr<grant> background_work::next_due(instant now, grant_list<linked_by_deferral>& left) noexcept {
  if (!now_.empty()) return now_.pop_front();
  while (!lost_.empty() && now >= time_of(lost_.front())) {
    auto lost = lost_.pop_front();
    if (lost->leaves_store()) return lost;
    left.push_back(std::move(lost));
  }
  for (auto& each : retries_) {
    if (!each.empty() && (ending_ || now >= each.front().deferral.next_try)) return each.pop_front();
  }
  return nullptr;
}

std::shared_ptr<session> background_work::next_closing(instant now) noexcept {
  for (auto* at = &closings_; *at != nullptr; at = &(*at)->next_closing) {
    auto& session = **at;
    if (now < time_of(session)) continue;
    auto found = std::move(*at);
    *at = std::move(found->next_closing);
    found->notify_first.reset();
    return found;
  }
  return nullptr;
}

void background_work::prepare(work& into, instant now) noexcept {
  const auto& grant = *into.about;
  const auto limit = std::min<microseconds>(timeout, time_remaining(end_by_, now));
  auto& send = into.send;
  send.priority = priority::frees;
  send.in_background(*this, &into, now + limit, limit);
  // Rule 6: first see the old connection gone, then cancel. In the other order the attempt could run after it.
  if (grant.deferral.cancels && grant.in_doubt != nullptr && !grant.deferral.lasting &&
      send.what != statement::kind::terminate) {
    send.what = statement::kind::terminate;
    send.lost = grant.in_doubt;
  } else {
    into.gone = grant.in_doubt == nullptr || grant.in_doubt->gone.load();
    send.what = statement::kind::keyed;
    send.ask = grant.deferral.cancels ? grant.ask(verb::cancel) : grant.ask_release(now);
    send.ask.wake = !grant.deferral.cancels && statements_.where().caps().looks_for_waiters();
  }
}

/// `over`: takes what needs no statement, because other readers of this process go on with the member that they share.
void background_work::pump(instant now, grant_list<linked_by_deferral>& over) noexcept {
  // A release that comes while many are under way waits, so that several share the next statement.
  if (!has_room() || (now < hold_until_ && !ending_)) return;
  std::array<statement*, most_at_once> out{};
  std::size_t count = 0;
  while (auto session = next_closing(now)) {
    auto& send = session->closing;
    send.what = statement::kind::session;
    send.priority = priority::frees;
    send.session_action = session_verb::close;
    send.record = shared_.record(session->id, session->ttl);
    send.in_background(*this, session.get(), now + timeout, timeout);
    ++closing_;
    mutex_.unlock();
    auto& self = *session;
    self.next_closing = std::move(session);  // the session owns itself until the answer
    statements_.submit(self.closing);
    mutex_.lock();
  }
  grant_list<linked_by_deferral> left;
  for (auto& each : works_) {
    if (each.about != nullptr) continue;
    each.about = next_due(now, left);
    if (each.about == nullptr) break;
    each.send.what = statement::kind::keyed;
    prepare(each, now);
    ++under_way_;
    out[count++] = &each.send;
  }
  while (!left.empty()) {
    auto grant = left.pop_front();
    finish(grant, release_result::freed, {}, now);
    over.push_back(std::move(grant));
  }
  if (count == 0) return check_drained();
  mutex_.unlock();
  statements_.submit({out.data(), count});
  mutex_.lock();
}

bool background_work::has_attempt(const id128& session, std::uint64_t nonce) noexcept {
  const base::lock_guard lock(mutex_);
  const auto in = [&](const grant_list<linked_by_deferral>& list) { return list.has_attempt(session, nonce); };
  const auto under_way = [&](const work& each) {
    return each.about != nullptr && each.about->is_attempt(session, nonce);
  };
  return in(now_) || in(lost_) || std::any_of(retries_.begin(), retries_.end(), in) ||
         std::any_of(works_.begin(), works_.end(), under_way);
}

// ---- what is answered -----------------------------------------------------------------------------------------------

bool background_work::resolved(const work& done, release_result& result) noexcept {
  const auto answer = done.send.answer.result;
  auto& grant = *done.about;
  result = release_result::freed;
  if (answer == outcome::yes) return true;
  if (answer == outcome::unknown) grant.deferral.unanswered = true;
  if (answer != outcome::no) return false;
  // There was nothing to cancel. That is final only if the attempt could not run any more by then.
  if (grant.deferral.cancels) return !grant.deferral.lasting && done.gone;
  // After a try without an answer, "no" may mean that this try has freed the key.
  if (!grant.deferral.unanswered) result = release_result::lost;
  return true;
}

void background_work::answered(statement& statement) noexcept {
  const auto now = statement.answered_at;
  const auto why = std::move(statement.answer.why);
  std::shared_ptr<grant> grant;  // destroyed after the mutex is unlocked, because that may destroy the whole core
  lock_type lock(mutex_);
  if (statement.what == statement::kind::session) {
    closed(*static_cast<session*>(statement.about), now);
  } else {
    auto& mine = *static_cast<work*>(statement.about);
    if (!statement.sent) hold_until_ = now + unreachable_pause;
    if (statement.sent && statement.what == statement::kind::terminate) {
      prepare(mine, now);
      lock.unlock();
      statements_.submit(mine.send);
      return;
    }
    const bool sent = statement.sent;
    auto result = release_result::freed;
    const bool done = sent && resolved(mine, result);
    if (done && !mine.about->deferral.cancels) hooks_.answered(*mine.about, statement, now);
    grant = std::move(mine.about);  // from here on `mine` may serve another grant
    --under_way_;
    if (done) {
      finish(grant, result, why, now);
    } else {
      try_again(grant, sent && statement.answer.result == outcome::no, why, now);
    }
  }
  pump_and_tell(lock, now);
}

void background_work::closed(session& session, instant now) noexcept {
  --closing_;
  const auto self = std::move(session.next_closing);
  const auto result = session.closing.answer.result;
  if (result == outcome::yes || result == outcome::no || ending_ || now >= session.give_up) return;
  session.earliest = now + unreachable_pause;
  session.next_closing = std::exchange(closings_, self);
}

void background_work::finish(const std::shared_ptr<grant>& grant, release_result result, const fault& why,
                             instant now) noexcept {
  std::shared_ptr<void> settled;
  if (grant->in_doubt != nullptr && --grant->in_doubt->open == 0) settled = std::move(grant->in_doubt->counted);
  const bool release = !grant->deferral.cancels;
  mutex_.unlock();
  if (settled != nullptr) sessions_.remove_in_doubt(*static_cast<session*>(settled.get()));
  if (std::exchange(grant->deferral.report_by, grant_deferral::reported) != grant_deferral::reported)
    hooks_.released(grant, result, why, now);
  if (release) {
    --releases_;
    hooks_.fewer();
  }
  mutex_.lock();
}

void background_work::try_again(const std::shared_ptr<grant>& grant, bool answered, const fault& why,
                                instant now) noexcept {
  auto& mine = grant->deferral;
  // A lease under a session that is over needs no cancellation: others can already take its key.
  const bool moot = mine.cancels && grant->kind == lease_kind::session && grant->pin->deadline.remaining(now) == 0us;
  if (moot || ending_ || now >= end_of_tries(*grant, answered)) {
    if (!mine.cancels && mine.report_by == grant_deferral::reported) {
      news_.post({.what = event::kind::release_failed,
                  .key = grant->key.view(),
                  .fence = grant->fence_shown(),
                  .text = "given up: the key is free after its session's expiry"});
    }
    finish(grant, release_result::later, why, now);
    return;
  }
  const bool passes = why.transient || why.contended || why.connection || mine.unanswered;
  const bool soon = passes && now < mine.report_by;
  if (!soon && std::exchange(mine.report_by, grant_deferral::reported) != grant_deferral::reported) {
    mutex_.unlock();
    hooks_.released(grant, release_result::later, why, now);
    mutex_.lock();
  }
  const std::size_t level = !soon ? 2 : why.contended ? 1 : 0;
  mine.next_try = now + pauses[level];
  retries_[level].push_back(grant);
}

// ---- the clock, and the end -----------------------------------------------------------------------------------------

instant background_work::next_time(instant now) const noexcept {
  auto next = instant::max();
  if (!now_.empty()) next = now;
  if (!lost_.empty()) next = std::min(next, time_of(lost_.front()));
  for (const auto& each : retries_) {
    if (!each.empty()) next = std::min(next, each.front().deferral.next_try);
  }
  for (auto at = closings_.get(); at != nullptr; at = at->next_closing.get()) {
    next = std::min(next, time_of(*at));
  }
  if (next == instant::max()) return next;
  if (!ending_) next = std::max(next, hold_until_);
  if (next > now) return next;
  // It is due. If there is no room, the next answer makes room and sends it.
  return has_room() ? now + 1ms : instant::max();
}

instant background_work::tick(instant now) noexcept {
  grant_list<linked_by_deferral> over;
  lock_type lock(mutex_);
  pump(now, over);
  return next_time(now);
}

void background_work::begin_end(instant now, instant until) noexcept {
  grant_list<linked_by_deferral> remaining;  // destroyed after the mutex is unlocked
  std::shared_ptr<session> open;
  lock_type lock(mutex_);
  ending_ = true;
  end_by_ = until;
  while (!lost_.empty()) {
    auto grant = lost_.pop_front();
    if (now < margin_end(*grant) || !grant->leaves_store()) {
      --releases_;
      remaining.push_back(std::move(grant));
    } else {
      now_.push_back(std::move(grant));
    }
  }
  for (auto* at = &closings_; *at != nullptr;) {
    if (now >= (*at)->earliest) {
      at = &(*at)->next_closing;
      continue;
    }
    auto session = std::move(*at);
    *at = std::move(session->next_closing);
    session->next_closing = std::exchange(open, session);
  }
  pump(now, remaining);
  lock.unlock();
  // Their rows stay until their expiry. A grant owns its session, so the sessions must not own grants any more.
  for (; open != nullptr; open = std::exchange(open->next_closing, nullptr)) open->notify_first.reset();
}

void background_work::check_drained() noexcept {
  if (!ending_ || under_way_ > 0 || closing_ > 0 || closings_ != nullptr || !now_.empty() || !lost_.empty()) return;
  for (const auto& each : retries_) {
    if (!each.empty()) return;
  }
  mutex_.unlock();
  hooks_.drained();
  mutex_.lock();
}

}  // namespace dlock::engine
