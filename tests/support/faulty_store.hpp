// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/mark_store.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/transactional_store.hpp"
#include "support/store_faults.hpp"

namespace dlock::test {

/// Another store with scripted faults, and counters. Thread safety: all functions from any thread.
class faulty_store final : public store,
                           public connect_faults,
                           public key_watches,
                           private mark_store,
                           private store_admin,
                           private transactional_store {
 public:
  explicit faulty_store(std::shared_ptr<store> inner, time_source* clock = nullptr)
      : inner_(std::move(inner)), clock_(clock), name_(inner_->name()), caps_(inner_->caps()) {}

  // ---- the script ---------------------------------------------------------------------------------------------
  /// What becomes of the next such statements; several scripts for one kind follow each other.
  void next(statement of, script how) {
    const std::lock_guard lock(mutex_);
    scripts_.emplace_back(of, std::move(how));
  }
  /// The next such statement stops before it is executed.
  std::shared_ptr<gate> hold(statement of, script how = {}) {
    how.before = std::make_shared<gate>();
    next(of, how);
    return how.before;
  }
  void forget_scripts() {
    const std::lock_guard lock(mutex_);
    scripts_.clear();
  }
  /// No new connections; those that exist break at their next statement, which is not executed.
  void cut(bool off = true) { cut_ = off; }
  /// Whether the end of a lost connection can be made certain. Then its ghosts never run.
  void settles(bool can) { settles_ = can; }
  /// Called at the beginning of each terminate(), with how many came before. Set while none is under way.
  void at_terminate(std::function<void(std::size_t)> call) { at_terminate_ = std::move(call); }
  /// Takes locks of rows: the other store knows them by the bytes of their keys. Before a service uses it.
  void lock_rows() { caps_.rows = true; }
  /// A take may wait. Before a service uses it.
  void let_takes_wait() { takes_wait_ = true; }
  /// What the store says that it can do. Before a service uses it.
  capabilities& can() { return caps_; }
  /// A key of eight bytes or more does not fit, for that reason. Before a service uses it.
  void refuse_long_keys(std::string why) {
    caps_.any_key = false;
    unfit_ = std::move(why);
  }
  /// It tells who waits for a key when that may be free, which here the test says. Before a service uses it.
  void tells_free() { caps_.waits = waiting::notified; }
  /// It says which keys other processes wait for, as the test says. Before a service uses it.
  void finds_waiters() { caps_.lingers = true; }
  /// Another process waits for that key from now on.
  void let_wait_for(const lock_key& key) {
    const std::lock_guard lock(mutex_);
    wanted_.emplace(key.view());
  }
  /// It can't say it any more.
  void lose_waiters() { loses_waiters_ = true; }
  /// How often it was asked.
  std::size_t searches() const { return searches_; }
  /// A release notifies so many.
  void has_waiters(unsigned count) { waiters_ = count; }
  /// It has nothing for operators and clean-up, or for transactions. Before a service uses it.
  void no_admin() { has_admin_ = false; }
  void no_transactions() { has_transactions_ = false; }
  void no_marks() { caps_.marks = false; }
  static inline thread_local bool may_wait_here = true;  ///< false: it would wait for itself
  /// A connection has a transaction open in which a dead holder verified: a take-over is contended, until terminate()
  /// ends that connection. 0: none. `seen`: blocker() can tell.
  void block(std::uint64_t connection, bool can_be_seen = true) {
    const std::lock_guard lock(mutex_);
    blocker_ = connection;
    blocker_seen_ = can_be_seen;
  }
  /// A statement can't be told not to wait for a row lock, unless it is row_wait::never. Before a service uses it.
  void let_changes_wait() { changes_wait_ = true; }
  /// Another program's transaction has that key's row locked, until unlock_row(): a statement that changes it is
  /// contended, at once or after it has waited for a second.
  void lock_row(const lock_key& key) {
    const std::lock_guard lock(mutex_);
    locked_rows_.emplace(key.view());
  }
  void unlock_row(const lock_key& key) {
    const std::lock_guard lock(mutex_);
    locked_rows_.erase(std::string(key.view()));
  }
  /// The keys of which statements have waited for a row lock, in that order.
  std::vector<std::string> waited_for() const {
    const std::lock_guard lock(mutex_);
    return waited_for_;
  }
  /// New connections lead to another server.
  void change_server(const std::string& name) {
    const std::lock_guard lock(mutex_);
    server_ = name;
  }
  /// What a lost connection has sent runs at the last moment: just before terminate() sees it gone.
  void run_late() { runs_late_ = true; }
  /// Executes what was sent but not answered. Returns how many.
  std::size_t run_ghosts() {
    const std::lock_guard running(ghosts_run_);
    std::list<ghost> mine;
    {
      const std::lock_guard lock(mutex_);
      mine.swap(ghosts_);
    }
    fault why;
    const auto on = inner_->connect(std::chrono::seconds{1}, why);
    for (auto& each : mine) {
      each.what.resource = each.resource;
      if (each.what.expected != nullptr) each.what.expected = &each.expected;
      reply ignored;
      inner_->execute(*on, {&each.what, 1}, {&ignored, 1});
    }
    return mine.size();
  }

  /// The store notices something by itself. Returns how many services hear it.
  template <class Tell>
  std::size_t notice(Tell tell) {
    const std::lock_guard lock(mutex_);
    for (auto* each : listeners_) tell(*each);
    return listeners_.size();
  }

  // ---- what happened ------------------------------------------------------------------------------------------
  std::size_t count(statement of) const { return counts_[index(of)]; }
  /// How often the store was asked to execute a verb, however many requests came together.
  std::size_t batches(verb of) const { return batches_[static_cast<std::size_t>(of)]; }
  std::size_t settled() const { return settled_; }
  /// How often the other store has told somebody that waits something. While this one is cut off, that does not arrive.
  std::size_t notified() const { return relays_.notified(); }
  /// How often blocker() was asked.
  std::size_t blockers_asked() const { return blockers_asked_; }
  /// Requests that named a row, and those that did not.
  std::size_t with_row() const { return with_row_; }
  /// Requests that let others go first.
  std::size_t in_order() const { return in_order_; }
  /// Requests of registered waiters.
  std::size_t registered() const { return registered_; }
  /// Releases that look for a waiter.
  std::size_t looked() const { return looked_; }
  std::size_t without_row() const { return without_row_; }
  /// What a key must be idle for, as the last clean-up was told.
  microseconds idle() const { return microseconds{idle_}; }
  std::size_t ghosts() const {
    const std::lock_guard lock(mutex_);
    return ghosts_.size();
  }
  /// The ids of the sessions that were opened, in that order.
  std::vector<id128> opened() const {
    const std::lock_guard lock(mutex_);
    return opened_;
  }
  /// The nonces of the attempts that were sent (take, insert, take_over, pass_on), in that order.
  std::vector<std::uint64_t> nonces() const {
    const std::lock_guard lock(mutex_);
    return nonces_;
  }

  // ---- store --------------------------------------------------------------------------------------------------
  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override { return caps_; }
  bool takes_wait() const noexcept override { return takes_wait_ || inner_->takes_wait(); }
  std::string unfit_mode(const key_mode& wanted) const override { return inner_->unfit_mode(wanted); }
  std::string unfit_key(std::string_view key) const override {
    return unfit_.empty() || key.size() < 8 ? inner_->unfit_key(key) : unfit_;
  }
  void prepare() override { prepares(), inner_->prepare(); }

  std::unique_ptr<connection> connect(microseconds limit, fault& why) noexcept override {
    return connect(limit, why, {});
  }
  std::unique_ptr<connection> connect(microseconds limit, fault& why, const std::stop_token& cancel) noexcept override {
    if (!may_connect(cancel, why)) return nullptr;
    if (cut_) {
      why = {.native = 2002, .transient = true, .connection = true, .text = "cut off"};
      leave_slot();
      return nullptr;
    }
    auto on = inner_->connect(limit, why);
    if (on == nullptr) {
      leave_slot();
      return nullptr;
    }
    const std::lock_guard lock(mutex_);
    return std::make_unique<link>(*this, std::move(on), server_, ++last_connection_);
  }

  void execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept override {
    auto& by = static_cast<link&>(on);
    ++batches_[static_cast<std::size_t>(requests.front().action)];
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const auto& q = requests[i];
      ++(q.row != nullptr ? with_row_ : without_row_);
      if (q.wake && q.min_hold.count() <= 0) ++looked_;
      if (q.in_order) ++in_order_;
      if (q.registered) ++registered_;
      replies[i] = run(by, q.action, &q, [&] {
        reply answer;
        inner_->execute(*by.inner, {&q, 1}, {&answer, 1});
        if (q.action == verb::release) answer.waiters = waiters_;
        return answer;
      });
    }
  }

  reply session(connection& on, session_verb action, const session_record& of) noexcept override {
    auto& by = static_cast<link&>(on);
    if (action == session_verb::open) {
      const std::lock_guard lock(mutex_);
      opened_.push_back(of.id);
    }
    return run(
        by, action, nullptr, [&] { return inner_->session(*by.inner, action, of); }, of.ttl);
  }

  void watch(std::string_view key, const id128& session, key_listener& to) noexcept override {
    add_watch(key, to);
    relays_.begin(key, session, to);
  }
  void unwatch(std::string_view key, const id128& session, key_listener& to) noexcept override {
    relays_.end(key, session, to);
    end_watch(key, to);
  }

  reply waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept override {
    return unless_closed(on, [&](connection&) {
      ++searches_;
      if (loses_waiters_) return reply{};
      const std::lock_guard lock(mutex_);
      for (std::size_t i = 0; i < keys.size(); ++i)
        replies[i].waiters = wanted_.contains(std::string(keys[i].resource)) ? 1 : 0;
      return reply{.result = outcome::yes};
    });
  }

  void listen(store_listener& listener) noexcept override {
    const std::lock_guard lock(mutex_);
    listeners_.push_back(&listener);
  }
  void unlisten(store_listener& listener) noexcept override {
    const std::lock_guard lock(mutex_);
    std::erase(listeners_, &listener);
  }

  bool terminate(connection& on, const connection_identity& lost) noexcept override {
    const auto before = settled_++;
    if (at_terminate_) at_terminate_(before);
    if (!settles_ || cut_ || !on.usable()) return false;
    const std::lock_guard running(ghosts_run_);  // none runs after this
    if (runs_late_) run_ghosts();
    const std::lock_guard lock(mutex_);
    if (lost.id == blocker_) blocker_ = 0;
    ghosts_.remove_if([&](const ghost& each) { return each.connection == lost.id; });
    return true;
  }

  store_admin* admin() noexcept override { return has_admin_ ? this : nullptr; }
  transactional_store* transactions() noexcept override { return has_transactions_ ? this : nullptr; }
  mark_store* marks() noexcept override { return caps_.marks ? this : nullptr; }

 private:
  verification verification_of(const request&) const override { return {}; }
  verification release_of(const request&) const override { return {}; }
  bool caller_may_wait(fault&) const noexcept override { return may_wait_here; }
  reply blocker(connection&, const request&, connection_identity& out) noexcept override {
    ++blockers_asked_;
    const std::lock_guard lock(mutex_);
    if (blocker_ == 0 || !blocker_seen_) return {.result = outcome::no};
    out = {server_, "1", blocker_};
    return {.result = outcome::yes};
  }

  // Rows are known by the bytes of their keys.
  reply inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept override {
    return unless_closed(on, [&](connection& inner) { return inner_->admin()->inspect(inner, key, found); });
  }
  reply list(connection& on, std::string_view after, std::size_t limit,
             std::vector<holder_info>& found) noexcept override {
    return unless_closed(on, [&](connection& inner) { return inner_->admin()->list(inner, after, limit, found); });
  }
  reply revoke(connection& on, const request& key) noexcept override {
    return unless_closed(on, [&](connection& inner) { return inner_->admin()->revoke(inner, key); });
  }
  reply find_mark(connection& on, std::string_view key, done_mark& found) noexcept override {
    return unless_closed(on, [&](connection& inner) { return inner_->marks()->find_mark(inner, key, found); });
  }
  reply set_mark(connection& on, const request& grant, std::optional<microseconds> valid,
                 std::string_view by) noexcept override {
    return unless_closed(on, [&](connection& inner) {
      return run(static_cast<link&>(on), other_verb::mark, nullptr,
                 [&] { return inner_->marks()->set_mark(inner, grant, valid, by); });
    });
  }
  reply delete_mark(connection& on, std::string_view key) noexcept override {
    return unless_closed(on, [&](connection& inner) { return inner_->marks()->delete_mark(inner, key); });
  }
  reply cleanup(connection& on, microseconds idle, std::size_t limit) noexcept override {
    return unless_closed(on, [&](connection& inner) {
      idle_ = idle.count();
      return run(static_cast<link&>(on), other_verb::cleanup, nullptr,
                 [&] { return inner_->admin()->cleanup(inner, idle, limit); });
    });
  }

  struct ghost {
    std::uint64_t connection;
    std::string resource;
    request what;
    seen expected{};
  };

  class link final : public connection, public existence {
   public:
    link(faulty_store& of, std::unique_ptr<connection> on, const std::string& server, std::uint64_t number)
        : existence(of), inner(std::move(on)), of_(of), identity_{server, "1", number} {}
    void interrupt() noexcept override {
      const std::lock_guard lock(mutex_);
      interrupted = true;
      if (of_.clock_ != nullptr) of_.clock_->notify(wake_);
    }
    /// Lets so much time pass. False: interrupted before.
    bool sleep(microseconds time) {
      std::unique_lock lock(mutex_);
      for (const auto until = of_.clock_->now() + time; !interrupted;) {
        if (of_.clock_->now() >= until) return true;
        of_.clock_->wait_until(wake_, lock, until);
      }
      return false;
    }
    bool usable() const noexcept override { return !broken; }
    bool alive() noexcept override { return !broken && !seen_closed(); }
    const connection_identity& identity() const noexcept override { return identity_; }

    const std::unique_ptr<connection> inner;
    std::atomic<bool> interrupted{false};
    std::atomic<bool> broken{false};

   private:
    faulty_store& of_;
    connection_identity identity_;
    std::mutex mutex_;
    std::condition_variable wake_;
  };

  /// What a statement on a connection that is gone is told: it was never sent.
  static reply gone(link& by) {
    by.broken = true;
    return {.result = outcome::failed,
            .why = {.native = 2006, .transient = true, .connection = true, .text = "connection is gone"}};
  }
  template <class F>
  static reply unless_closed(connection& on, F ask) {
    auto& by = static_cast<link&>(on);
    return by.closed() ? gone(by) : ask(*by.inner);
  }

  static bool grants(verb action) noexcept {
    return action == verb::take || action == verb::insert || action == verb::take_over || action == verb::pass_on;
  }

  static std::size_t index(statement of) {
    if (of.index() == 0) return static_cast<std::size_t>(std::get<verb>(of));
    return of.index() == 1 ? 12 + static_cast<std::size_t>(std::get<session_verb>(of))
                           : 17 + static_cast<std::size_t>(std::get<other_verb>(of));
  }

  bool blocks(statement of) const {
    const std::lock_guard lock(mutex_);
    return blocker_ != 0 && of == statement{verb::take_over};
  }

  bool locked(const request* q) const {
    const std::lock_guard lock(mutex_);
    return q != nullptr && q->action != verb::poll && locked_rows_.contains(std::string(q->resource));
  }
  bool waits(const request& q) const noexcept {
    return q.if_locked == row_wait::accept || (changes_wait_ && q.if_locked == row_wait::avoid);
  }

  script find(statement of, microseconds ttl) {
    const std::lock_guard lock(mutex_);
    for (auto at = scripts_.begin(); at != scripts_.end(); ++at) {
      if (at->first != of || (at->second.ttl.count() > 0 && at->second.ttl != ttl)) continue;
      if (at->second.skip > 0) {
        --at->second.skip;
        return {};
      }
      const auto found = at->second;
      if (--at->second.times == 0) scripts_.erase(at);
      return found;
    }
    return {};
  }

  template <class F>
  reply run(link& by, statement what, const request* q, F execute, microseconds ttl = {}) {
    // Counted when it is over: who has seen the count may rely on its effect.
    struct counted {
      std::atomic<std::size_t>& of;
      ~counted() { ++of; }
    } const at_end{counts_[index(what)]};
    const auto how = find(what, ttl);
    const reply unknown{.result = outcome::unknown,
                        .why = {.native = 2013, .transient = true, .connection = true, .text = "no answer"}};
    if ((by.broken && !how.together) || cut_ || by.closed()) return gone(by);
    if (q != nullptr && grants(q->action)) {
      const std::lock_guard lock(mutex_);
      nonces_.push_back(q->nonce);
    }
    const std::atomic<bool> never{false};
    const auto& interrupted = how.deaf ? never : by.interrupted;
    if ((how.takes.count() > 0 && !by.sleep(how.takes)) || (how.before != nullptr && !how.before->pass(interrupted))) {
      by.broken = true;
      return unknown;
    }
    if (how.ahead) how.ahead();
    if (how.what == fate::fail) {
      if (how.why.connection) by.broken = true;
      return {.result = outcome::failed, .why = how.why};
    }
    if (how.what == fate::say) return {.result = how.answer};
    if (blocks(what)) {
      return {.result = outcome::failed, .why = row_lock};
    }
    if (how.what == fate::ghost || how.what == fate::vanish) {
      by.broken = true;
      if (how.what == fate::ghost && q != nullptr) {
        const std::lock_guard lock(mutex_);
        ghosts_.push_back(
            {by.identity().id, std::string(q->resource), *q, q->expected != nullptr ? *q->expected : seen{}});
      }
      return unknown;
    }
    if (locked(q)) {
      if (waits(*q)) {
        const std::lock_guard lock(mutex_);
        waited_for_.emplace_back(q->resource);
      }
      if (waits(*q) && !by.sleep(std::chrono::seconds{1})) {
        by.broken = true;
        return unknown;
      }
      if (locked(q)) {
        return {.result = outcome::failed,
                .why = {.native = 1205, .transient = true, .contended = true, .text = "lock wait timeout"}};
      }
    }
    auto answer = execute();
    if (how.during) how.during();
    const bool answered = how.after == nullptr || how.after->pass(interrupted);
    if (how.what == fate::drop || !answered) {
      by.broken = true;
      return unknown;
    }
    return answer;
  }

  const std::shared_ptr<store> inner_;
  time_source* const clock_;  // null: no statement takes any time
  const std::string name_;
  capabilities caps_;
  std::atomic<bool> takes_wait_{false};
  std::atomic<unsigned> waiters_{0};
  std::atomic<bool> loses_waiters_{false};
  std::atomic<std::size_t> searches_{0};
  std::set<std::string> wanted_{};
  std::string unfit_{};
  bool changes_wait_ = false;
  bool has_admin_ = true;
  bool has_transactions_ = true;
  std::atomic<bool> cut_{false};
  watch_relays relays_{*inner_, cut_};
  std::atomic<bool> settles_{true};
  std::function<void(std::size_t)> at_terminate_{};
  std::atomic<bool> runs_late_{false};
  std::atomic<std::size_t> settled_{0};
  std::atomic<std::size_t> blockers_asked_{0};
  std::atomic<std::size_t> with_row_{0};
  std::atomic<std::size_t> looked_{0};
  std::atomic<std::size_t> in_order_{0};
  std::atomic<std::size_t> registered_{0};
  std::atomic<std::size_t> without_row_{0};
  std::atomic<std::int64_t> idle_{0};
  std::array<std::atomic<std::size_t>, 19> counts_{};
  std::array<std::atomic<std::size_t>, 12> batches_{};
  std::recursive_mutex ghosts_run_;  // held while ghosts run; taken before mutex_
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::list<std::pair<statement, script>> scripts_;
  std::list<ghost> ghosts_;
  std::vector<store_listener*> listeners_{};
  std::vector<id128> opened_;
  std::vector<std::uint64_t> nonces_;
  std::set<std::string> locked_rows_;
  std::vector<std::string> waited_for_;
  std::string server_ = "server";
  std::uint64_t last_connection_ = 0;
  std::uint64_t blocker_ = 0;
  bool blocker_seen_ = true;
};

}  // namespace dlock::test
