// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>

#include "base/lock_settings.hpp"
#include "engine/machines/acquire_machine.hpp"
#include "engine/operations/flow.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// Leases with a separate expiry are asked for under a session of this ttl; nothing depends on its life.
constexpr microseconds naming_class = std::chrono::seconds{30};

/// How a lease is kept, and for how long.
struct keeping {
  keeping(const lock_key& key, const detail::lock_settings& terms, const capabilities& caps) noexcept;
  keeping(bool by_column, const detail::lock_settings& terms) noexcept;

  /// As a store wants it: 0 for a session.
  microseconds own_ttl() const noexcept { return kind == lease_kind::session ? microseconds{0} : ttl; }
  /// The ttl of the session that it is asked for with.
  microseconds session_ttl() const noexcept { return kind == lease_kind::session ? ttl : naming_class; }
  /// Rule 4, of a grant asked for at `sent` and answered at `now`: by the deadline of the very session that it was
  /// asked with; a separate expiry counts from the sending (rule 8: the server's clock stood still while the
  /// statement waited).
  instant trusted_until(session& session, instant sent, instant now, microseconds margin) const noexcept;

  /// A grant that is to be asked for, without its session and turn. Allocates.
  std::shared_ptr<grant> make_grant(engine_services& services, const lock_key& key, std::shared_ptr<owner_state> owner,
                                    const detail::lock_settings& terms) const;
  /// Likewise, one that was made for whoever is next.
  static void give_to(std::shared_ptr<owner_state> owner, const detail::lock_settings& terms, grant& grant) noexcept;
  /// The store has said yes to a statement sent at `sent`.
  void granted(grant& grant, const detail::lock_settings& terms, instant trusted, instant sent,
               instant now) const noexcept;

  lease_kind kind;
  microseconds ttl;
};

/// Records a grant that is in the registry, for the next release and the next acquire of its key. `waited`: the key was
/// busy when it was asked for; `watched`: the store notified of its releases.
void note_grant(engine_services& services, const grant& grant, bool waited, bool watched, instant now) noexcept;
/// Reports a grant that a caller gets now. `attempts`: the statements that it took.
void report_grant(engine_services& services, const grant& grant, const lock_request& request, unsigned attempts,
                  bool taken_over, instant now) noexcept;

/// Whether a poll has shown a grant of a live session of ours that is no lease, and that no attempt of this process may
/// still get: it can be cancelled by session and nonce. The caller has the key's turn.
bool is_nobodys(engine_services& services, const lock_key& key, const seen& holder) noexcept;

/// One key is asked for, by the rules of acquire_machine: its statements, the session and the grant that they need, and
/// what must be undone of those that came to nothing. The queue turn is the caller's, and so are pauses.
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
  /// pause: the poll that ends it; then ask_polled(), once it has been answered.
  statement& poll(instant now) noexcept;
  task<step> ask_polled(flow& f);
  /// pause: the key may be free.
  task<step> ask_notified(flow& f);
  /// pause: it is over, and the key is polled.
  task<step> ask_by_poll(flow& f) { return ask(f, machine_.paused()); }
  /// A pause is over. `works`: the store has registered this waiter. One that the store does not register for a while
  /// takes the key in no order, or it would wait behind all that come later.
  void registered(bool works, instant now) noexcept;

  /// What it does, or has ended with.
  step at() const noexcept { return at_; }
  const acquire_machine& machine() const noexcept { return machine_; }
  const keeping& kept_as() const noexcept { return keeping_; }
  const lock_key& key() const noexcept { return key_; }
  /// failed: because the row does not exist.
  bool no_such_row() const noexcept { return no_such_row_; }

  const session_pin& pin() const noexcept { return asked_ != nullptr && asked_->pin ? asked_->pin : pin_; }
  /// granted: until when that may be trusted.
  instant trusted_until(instant now) const noexcept;
  /// granted: it is ours from now on, and has the turn. Null: its session is over; step::give_back must follow.
  /// `waited` and `watched` as in note_grant().
  std::shared_ptr<grant> admit(queue_turn& turn, bool waited, bool watched, instant now) noexcept;
  bool admitted() const noexcept { return asked_ == nullptr; }
  /// Whether it undoes something, which must be seen to its end.
  bool undoes() const noexcept { return at_ == step::resolve || at_ == step::give_back; }
  /// granted, and not admitted: what cancels it; then cancelled(), once that has been answered by yes or no.
  request cancellation(instant now) const noexcept;
  void cancelled() noexcept { ours_ = ours::no; }
  /// What may have been granted and was not admitted is cancelled in the background.
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
  /// As the caller asks for, while its place can be known.
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
  bool polled_ = false;   // nothing has been sent since the last poll was answered
  ours ours_ = ours::no;  // granted at the server, and no lease here yet
  session_pin pin_{};
  std::shared_ptr<grant> asked_{};  // what will be ours if the store says yes; has the pin
  row_attempt row_attempt_{};       // while a grant of a row may be in no book
  instant trusted_until_{};
  statement statement_{};
  // A transaction that was verified by a holder now dead (rule 2).
  connection_identity blocked_by_{};
  instant blocked_since_{};
};

}  // namespace dlock::engine
