// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "base/lock_settings.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// Leases with a separate expiry are requested under a session of this ttl. They do not depend on its life.
constexpr microseconds naming_class = std::chrono::seconds{30};

/// How a lease is kept, and for how long.
struct keeping {
  keeping(const lock_key& key, const detail::lock_settings& terms, const capabilities& caps) noexcept;
  keeping(bool by_column, const detail::lock_settings& terms) noexcept;

  /// The ttl in the request: 0 for a session.
  microseconds own_ttl() const noexcept { return kind == lease_kind::session ? microseconds{0} : ttl; }
  /// The ttl of the session under which it is requested.
  microseconds session_ttl() const noexcept { return kind == lease_kind::session ? ttl : naming_class; }
  /// Until when a grant may be trusted that was requested at `sent` and answered at `now` (rule 4): until the deadline
  /// of the very session that was named; or, with a separate expiry, for the ttl from the sending on (rule 8: the clock
  /// of a statement stands still while it waits).
  instant trusted_until(session& session, instant sent, instant now, microseconds margin) const noexcept;

  /// Makes a grant for a request, without its session and turn. Throws std::bad_alloc.
  std::shared_ptr<grant> make_grant(engine_services& services, const lock_key& key, std::shared_ptr<owner_state> owner,
                                    const detail::lock_settings& terms) const;
  /// Gives a grant that was made for the next caller to that caller.
  static void give_to(std::shared_ptr<owner_state> owner, const detail::lock_settings& terms, grant& grant) noexcept;
  /// Notes that the store has granted it by a statement that was sent at `sent`.
  void granted(grant& grant, const detail::lock_settings& terms, instant trusted, instant sent,
               instant now) const noexcept;

  lease_kind kind;
  microseconds ttl;
};

/// Records a grant that was admitted, for the next release and the next acquire of its key. `waited`: the key was busy
/// before. `watched`: the store notified this process of its releases.
void note_grant(engine_services& services, const grant& grant, bool waited, bool watched, instant now) noexcept;
/// Reports a grant that a caller gets now. `attempts`: the statements that it took.
void report_grant(engine_services& services, const grant& grant, const lock_request& request, unsigned attempts,
                  bool taken_over, instant now) noexcept;

/// Whether a poll has shown a grant of a live session of ours that is no lease, and that no attempt of this process can
/// still get. Such a grant can be cancelled by session and nonce. Precondition: the caller has the turn of the key.
bool is_nobodys(engine_services& services, const lock_key& key, const seen& holder) noexcept;

/// Asks the store for one key, as acquire_machine decides: sends the statements, gets the session and the grant that
/// they need, and undoes attempts that failed. The caller has the queue turn, and pauses.
class key_attempt {
 public:
  /// `key` and `request` must outlive it.
  key_attempt(engine_services& services, const lock_key& key, const lock_request& request,
              const acquire_machine::settings& settings) noexcept;
  ~key_attempt();
  key_attempt(const key_attempt&) = delete;
  key_attempt& operator=(const key_attempt&) = delete;

  /// Gets the session to ask with, if it has none. False: at() says how it goes on without.
  task<bool> pin_session(flow& f);
  /// From its beginning until it is granted, busy or failed, or is to pause.
  task<step> ask(flow& f) { return ask(f, machine_.begin()); }
  /// Likewise, after one that was busy or failed just now.
  task<step> ask_after(flow& f, const acquire_machine& other) { return ask(f, machine_.begin_after(other, f.now())); }
  /// Likewise, where that is what the machine wants next.
  task<step> ask(flow& f, step next);
  /// After step::pause: the poll that ends the pause. ask_polled() continues once the poll has been answered.
  statement& poll(instant now) noexcept;
  task<step> ask_polled(flow& f);
  /// Continues after a pause, because the key may be free.
  task<step> ask_notified(flow& f);
  /// Continues after a pause with a poll.
  task<step> ask_by_poll(flow& f) { return ask(f, machine_.paused()); }
  /// Called after a pause. `works`: the store has registered this waiter. A waiter that the store has not registered
  /// for a while gives up the order, because it would wait behind all that come later.
  void registered(bool works, instant now) noexcept;

  /// The present or last step.
  step at() const noexcept { return at_; }
  const acquire_machine& machine() const noexcept { return machine_; }
  const keeping& kept_as() const noexcept { return keeping_; }
  const lock_key& key() const noexcept { return key_; }
  /// After step::failed: whether the row does not exist.
  bool no_such_row() const noexcept { return no_such_row_; }

  const session_pin& pin() const noexcept { return asked_ != nullptr && asked_->pin ? asked_->pin : pin_; }
  /// After step::granted: until when the grant may be trusted.
  instant trusted_until(instant now) const noexcept;
  /// After step::granted: enters the grant into the registries, with the turn. Returns null if its session is over;
  /// then step::give_back must follow. `waited` and `watched` as in note_grant().
  std::shared_ptr<grant> admit(queue_turn& turn, bool waited, bool watched, instant now) noexcept;
  bool admitted() const noexcept { return asked_ == nullptr; }
  /// Opens the key to members again if this attempt has closed it.
  task<void> reopen(flow& f);
  bool has_closed() const noexcept { return closed_; }
  /// Whether it is undoing an attempt, which must not be left.
  bool undoes() const noexcept { return at_ == step::resolve || at_ == step::give_back; }
  /// The request that cancels a grant which was not admitted. cancelled() must follow if its answer is yes or no.
  request cancellation(instant now) const noexcept;
  void cancelled() noexcept { ours_ = ours::no; }
  /// Has the background cancel what may have been granted and was not admitted.
  void take_back(instant now) noexcept;

 private:
  enum class ours : std::uint8_t { no, maybe, yes };

  task<step> ask(flow& f, step next, bool answered);
  bool has_session(instant now) const noexcept;
  void write_statement(instant now);
  void prepare_grant();
  void note_answer(instant now) noexcept;
  task<step> cancel_nobodys(flow& f);
  task<step> find_blocker(flow& f);
  task<step> resolve(flow& f);
  task<step> give_back(flow& f);
  /// Whether it asks in order: if the caller wants that, and the store can know its place.
  bool in_order(instant now) const noexcept;
  request poll_request(instant now) const noexcept;
  void tell_blocked(const char* what_came_of_it);
  instant give_up(instant now) const noexcept;

  engine_services& services_;
  const lock_key& key_;
  const lock_request& request_;
  const keeping keeping_;
  acquire_machine machine_;
  step at_ = step::take;
  bool no_such_row_ = false;
  bool registered_ = false;
  instant unregistered_since_{};
  bool was_woken_ = false;      // nothing was polled since
  bool closed_ = false;         // it has closed the key to members, and has not got it
  const std::uint64_t closer_;  // the number under which it closes
  bool polled_ = false;         // nothing was sent since the answer to the last poll
  ours ours_ = ours::no;        // granted at the server, and not admitted here yet
  session_pin pin_{};
  std::shared_ptr<grant> asked_{};  // the grant that is requested; it has the pin
  row_attempt row_attempt_{};       // while a grant of a row may be in no registry
  instant trusted_until_{};
  statement statement_{};
  // A transaction in which a dead holder has verified its lease (rule 2).
  connection_identity blocked_by_{};
  instant blocked_since_{};
};

}  // namespace dlock::engine
