// SPDX-License-Identifier: BSL-1.0
#include "simulation/store.hpp"

#include "dlock/store_interface/linger_bell.hpp"
#include "simulation/registered_waiters.hpp"
#include "simulation/sql_mistakes.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace dlock::simulation {

namespace {

fault broken() {
  fault made{.native = 2013, .transient = true, .connection = true};
  made.text = "the connection broke";
  return made;
}

reply answer_of(outcome what, const fault& why) {
  reply made;
  made.result = what;
  made.why = why;
  return made;
}

/// The words of the simulated tables' SQL.
stores::sql::table_names simulated_names() {
  auto names = stores::sql::make_table_names("dlock_", '"');
  names.add_text("now", "NOW");
  names.add_text("only_primary", "");
  names.add_text("returning", "");
  names.add_text("unverified", ", " + *names.find("lock.verified_by") + " = 0");
  names.add_text("next_fence", "RETURNED(" + *names.find("lock.fence") + " + 1)");
  names.add_text("first_fence", "RETURNED(" + *names.find("floor.fence") + " + 1)");
  names.add_text("lock_floor", "");
  return names;
}
constexpr stores::sql::member_words simulated_words{.same_fence = "RETURNED(l.{lock.fence})",
                                                    .lock_row = "FOR UPDATE",
                                                    .share_row = "LOCK IN SHARE MODE",
                                                    .verify = ""};

/// Each text is parsed once.
std::shared_ptr<const sql::statement> parsed(const std::string& text, mistake wrong) {
  static std::map<std::string, std::shared_ptr<const sql::statement>> all;
  static mistake of_all = wrong;
  if (std::exchange(of_all, wrong) != wrong) all.clear();
  auto& known = all[text];
  if (known == nullptr) known = std::make_shared<const sql::statement>(sql::parse(with_mistake(text, wrong)));
  return known;
}

}  // namespace

// ---- connections ----------------------------------------------------------------------------------------------------

class simulated_connection final : public connection, private client {
 public:
  simulated_connection(network& by, process& of, std::uint64_t id, std::weak_ptr<simulated_store> store)
      : by_(by), process_(of), identity_{by.to().name(), by.to().incarnation(), id}, store_(std::move(store)) {
    by_.open_[id] = this;
  }
  ~simulated_connection() override {
    by_.open_.erase(identity_.id);
    // Of a process that is no more, and of a connection that broke, the server has heard nothing.
    if (!process_.dead() && usable_) by_.to().close(identity_.id);
  }

  void interrupt() noexcept override {
    if (sent_ != nullptr) drop();
  }
  bool usable() const noexcept override { return usable_ && !process_.buried(); }
  bool alive() noexcept override { return usable() && !(ended_ && seen_); }
  const connection_identity& identity() const noexcept override { return identity_; }

  /// The server has ended it. `seen`: the client can know.
  void ended(bool seen) {
    ended_ = true;
    seen_ = seen;
    if (seen && usable_) {
      process_.post(by_.travel(process_), [store = store_] {
        if (const auto alive = store.lock()) alive->connection_ended();
      });
    }
    if (sent_ != nullptr && seen)
      by_.in().after(by_.travel(process_), [&by = by_, id = identity_.id] { drop_later(by, id); });
  }
  bool is_ended() const noexcept { return ended_; }

  /// Sends it and waits. False: no answer. The connection is of no more use then.
  bool execute(const std::shared_ptr<job>& what);

 private:
  friend class network;
  static void drop_later(network& by, std::uint64_t id) {
    if (const auto at = by.open_.find(id); at != by.open_.end() && at->second->sent_ != nullptr) at->second->drop();
  }
  /// Nothing more comes from it. The server need not know.
  void drop() {
    usable_ = false;
    if (sent_ == nullptr) return;
    const auto left = std::exchange(sent_, nullptr);
    left->leave();
    if (!ended_) by_.to().vanished(identity_.id);
    if (auto wake = std::exchange(wake_, nullptr)) wake();
  }
  void done(job& what) override;
  void answered() override {
    sent_ = nullptr;
    if (auto wake = std::exchange(wake_, nullptr)) wake();
  }
  void lost() override { drop(); }
  void break_after(moment time) {
    by_.in().after(time, [&by = by_, id = identity_.id] { drop_later(by, id); });
  }

  network& by_;
  process& process_;
  const connection_identity identity_;
  const std::weak_ptr<simulated_store> store_;
  bool usable_ = true;
  bool ended_ = false;
  bool seen_ = false;
  std::shared_ptr<job> sent_{};
  std::function<void()> wake_{};
  bool answers_ = true;  // what was sent
  bool hangs_ = false;
};

void simulated_connection::done(job& what) {
  if (answers_) {
    what.itself = sent_;
    by_.in().at(by_.in().now() + by_.travel(process_), what, job::is_answered);
  } else if (!hangs_) {
    break_after(by_.travel(process_));
  }
}

bool simulated_connection::execute(const std::shared_ptr<job>& what) {
  auto& in = by_.in();
  ++by_.statements;
  sent_ = what;
  what->connection = identity_.id;
  wake_ = process_.waker();
  what->sender = this;
  what->to = &by_.to();
  answers_ = true;
  bool late = false;
  if (by_.hits(hazard::lost_replies, 4'000)) {
    answers_ = false;
  } else if (by_.hits(hazard::hangs, 2'000)) {
    answers_ = false;
  } else if (by_.hits(hazard::ghosts, 4'000)) {
    break_after(in.random.between(1, 4 * by_.how().travel));
    late = in.random.chance(500'000);
  }
  hangs_ = !answers_ && in.random.chance(300'000);
  auto way = by_.travel(process_);
  if (late) way += in.random.between(1, 2 * second);
  if (by_.hits(hazard::slow_statements, 3'000)) way += in.random.between(1, 2 * second);
  if (ended_) {  // nobody is there; the answer to that takes its time
    break_after(way);
  } else {
    what->itself = what;
    in.at(in.now() + way, *what, job::arrives);
  }
  process_.wait_for_waker();
  return usable_;
}

/// As the code sees it that is the same for all databases.
class sql_connection_of_store final : public stores::sql::sql_connection {
 public:
  sql_connection_of_store(simulated_store& store, connection& on) : store_(store), on_(on) {}

  void interrupt() noexcept override { on_.interrupt(); }
  bool usable() const noexcept override { return on_.usable(); }
  const connection_identity& identity() const noexcept override { return on_.identity(); }
  stores::sql::row_locks locks() const noexcept override { return stores::sql::row_locks::waited_for; }
  reply read(const stores::sql::sql_text& statement, stores::sql::sql_values values,
             stores::sql::sql_rows& rows) override {
    return store_.send(on_, statement, values, &rows);
  }
  reply change(const stores::sql::sql_text& statement, stores::sql::sql_values values) override {
    return store_.send(on_, statement, values, nullptr);
  }
  reply transact(stores::sql::body_ref changes) override { return changes(); }
  reply attempt(const char*, stores::sql::body_ref verb) noexcept override { return verb(); }

 private:
  simulated_store& store_;
  connection& on_;
};

reply simulated_store::send(connection& on, const stores::sql::sql_text& text, stores::sql::sql_values values,
                            stores::sql::sql_rows* rows) {
  auto& with = static_cast<simulated_connection&>(on);
  if (!with.usable()) return answer_of(outcome::failed, broken());
  auto sent = by_.take_job();
  sent->what = job::kind::text;
  try {
    sent->text.what = parsed(text.sql, by_.to().data.wrong);
  } catch (const std::logic_error& unknown) {
    by_.in().fail(unknown.what());
    return {.why = {.text = unknown.what()}};
  }
  for (const auto& [name, what] : values) sent->text.values.emplace(name, sql::value_of(what));
  sent->if_locked = text.if_locked;
  sent->answers.resize(1);
  if (!with.execute(sent)) return answer_of(outcome::unknown, broken());
  if (rows != nullptr) *rows = std::move(sent->text.rows);
  return std::move(sent->answers.front());
}

// ---- the network ----------------------------------------------------------------------------------------------------

network::network(world& in, server& to, const plan& how) : world_(in), server_(to), plan_(how) {
  to.closed = [this](std::uint64_t id) {
    const auto at = open_.find(id);
    const bool seen = !plan_.has(hazard::hangs) || !world_.random.chance(200'000);
    if (at != open_.end()) at->second->ended(seen);
    if (const auto found = subscribers_.find(id); found != subscribers_.end()) found->second->broke(seen);
  };
  to.published = [this](std::uint64_t id, const std::string& key) {
    if (const auto found = subscribers_.find(id); found != subscribers_.end()) found->second->published(key);
  };
  to.reached = [this](std::uint64_t position, std::uint64_t fence) {
    if (const auto found = positions_.find(position); found != positions_.end())
      found->second->reached(position, fence);
  };
  to.waiters.woken = [this](std::uint64_t wake_id) {
    if (const auto found = subscribers_.find(wake_id); found != subscribers_.end()) found->second->woken();
  };
}

void network::remember(std::uint64_t connection, subscriber& one) {
  subscribers_[connection] = &one;
  joined(one.of(), connection);
}

void network::forget(std::uint64_t connection) {
  subscribers_.erase(connection);
  left(connection);
}

void network::break_channel(bool silent) {
  if (subscribers_.empty()) return;
  auto at = subscribers_.begin();
  std::advance(at, static_cast<std::ptrdiff_t>(world_.random.below(subscribers_.size())));
  ++faults;
  if (!silent) return server_.kill(at->first);
  at->second->broke(false);
}

std::shared_ptr<job> network::take_job() {
  if (spare_.empty()) {
    const auto one = std::make_shared<job>();
    made_.push_back(one);
    return one;
  }
  auto one = std::move(spare_.back());
  spare_.pop_back();
  return one;
}

void network::give_back(std::shared_ptr<job> one) {
  if (one.use_count() > 1) return;
  one->begin_anew();
  spare_.push_back(std::move(one));
}

network::~network() {
  for (const auto& each : made_) {
    if (const auto one = each.lock()) one->itself = nullptr;  // on its way for ever
  }
}

void network::vanished(process& of) {
  for (const auto& [id, each] : open_) {
    if (&each->process_ == &of) server_.vanished(id);
  }
  for (const auto& [who, id] : others_) {
    if (who == &of) server_.vanished(id);
  }
}

bool network::hits(hazard what, std::uint64_t ppm) noexcept {
  if (calm_ || !plan_.has(what) || !world_.random.chance(ppm * plan_.often)) return false;
  ++faults;
  world_.disturb(6 * second);
  return true;
}

// ---- the store ------------------------------------------------------------------------------------------------------

simulated_store::simulated_store(network& by, process& of)
    : by_(by), process_(of), caps_(by.how().caps()), turns_(std::make_shared<turns_of_others>()), known_(by.to(), of) {
  if (caps_.shares)
    shared_ = std::make_unique<stores::sql::shared_keys>(simulated_names(), simulated_words, std::string_view(), false);
  if (caps_.wakes_one()) {
    subscriber_ = std::make_shared<registered_waiters>(by, of, turns_);
  } else if (!caps_.tells_free()) {
    return;
  } else if (by.to().data.traits.queues) {
    subscriber_ = std::make_shared<queue_positions>(by, of);
  } else {
    subscriber_ = std::make_shared<channel>(by, of);
  }
}

capabilities simulated_store::caps() const noexcept { return caps_; }

void simulated_store::watch(std::string_view key, const id128& session, key_listener& listener) noexcept {
  if (!process_.buried()) subscriber_->watch(std::string(key), session, listener);
}

void simulated_store::unwatch(std::string_view key, const id128& /*session*/, key_listener& listener) noexcept {
  subscriber_->unwatch(std::string(key), listener);
}

reply simulated_store::waited_for(connection& on, std::span<const request> keys, std::span<reply> replies) noexcept {
  auto found = std::make_shared<std::vector<bool>>();
  std::vector<std::string> names;
  for (const auto& each : keys) names.emplace_back(each.resource);
  auto made = ask(on, [found, names, own = subscriber_->connection()](network& by, moment) {
    for (const auto& each : names) found->push_back(by.to().waiters.first(each, own) != 0);
    reply answer;
    answer.result = outcome::yes;
    return answer;
  });
  if (made.result != outcome::yes) return made;
  for (std::size_t i = 0; i != keys.size(); ++i) replies[i].waiters = (*found)[i] ? 1 : 0;
  return made;
}

void simulated_store::waiters_changed(std::string_view key) noexcept {
  if (subscriber_ != nullptr && !process_.buried()) subscriber_->changed(std::string(key));
}

void simulated_store::lock_deleted(const std::string& key, const id128& session, std::uint64_t fence) {
  for (auto* const each : listeners_) each->lock_deleted(key, session, fence);
}

void simulated_store::connection_ended() {
  for (auto* const each : listeners_) each->renew_now();
}

bool simulated_store::takes_wait() const noexcept { return by_.how().take_waits; }

std::unique_ptr<connection> simulated_store::connect(microseconds limit, fault& why) noexcept {
  const auto refuse = [&] {
    why = broken();
    why.text = "no connection";
    return nullptr;
  };
  if (process_.buried()) return refuse();
  process_.sleep(std::min<moment>(2 * by_.travel(process_), std::max<moment>(1, limit.count())));
  if (process_.buried() || by_.hits(hazard::refusals, 50'000)) return refuse();
  const auto id = by_.to().connect();
  if (id == 0) return refuse();
  return std::make_unique<simulated_connection>(by_, process_, id, weak_from_this());
}

void simulated_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  auto& with = static_cast<simulated_connection&>(on);
  const auto answer_all = [&](outcome what, std::size_t from = 0) {
    for (auto& each : replies.subspan(from)) each = answer_of(what, broken());
  };
  if (!with.usable()) return answer_all(outcome::failed);
  if (caps_.tells_free() && by_.to().data.traits.queues) {
    // What positions in queues have got costs no statement.
    const auto action = requests.front().action;
    std::vector<request> others;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size() && (action == verb::take || action == verb::insert); ++i) {
      if (const auto had = subscriber_->take(requests[i])) {
        replies[i] = *had;
      } else {
        others.push_back(requests[i]);
        places.push_back(i);
      }
    }
    if (others.size() < requests.size() && (action == verb::take || action == verb::insert)) {
      std::vector<reply> answers(others.size());
      if (!others.empty()) execute(on, others, answers);
      for (std::size_t i = 0; i < places.size(); ++i) replies[places[i]] = std::move(answers[i]);
      return;
    }
  }
  if (!with.is_ended() && by_.hits(hazard::refusals, 1'000)) {
    by_.to().kill(with.identity().id);  // it was closed, and nothing was sent
    process_.sleep(by_.travel(process_));
    return answer_all(outcome::failed);
  }
  sql_connection_of_store sql(*this, on);
  if (shared_ != nullptr && requests.size() == 1 && requests[0].action != verb::poll &&
      stores::sql::shared_keys::concerns(requests[0])) {
    replies[0] = shared_->execute(sql, requests[0]);
    return;
  }
  const bool apart = requests.size() > 1 && (by_.how().has(hazard::one_by_one) || requests.front().in_order);
  const std::size_t step = apart ? 1 : requests.size();
  for (std::size_t from = 0; from < requests.size(); from += step) {
    const auto part = requests.subspan(from, step);
    auto sent = by_.take_job();
    sent->asks.assign(part.begin(), part.end());
    sent->answers.resize(part.size());
    if (subscriber_ != nullptr) sent->wake_id = subscriber_->connection();
    for (const auto& each : part) known_.sends(each);
    if (!with.execute(sent)) {
      answer_all(outcome::failed, from);  // those after it were not sent
      for (auto& each : replies.subspan(from, step)) each = answer_of(outcome::unknown, broken());
      return;
    }
    std::move(sent->answers.begin(), sent->answers.end(), replies.begin() + static_cast<std::ptrdiff_t>(from));
    const auto to_wake = std::move(sent->to_wake);
    auto first = std::move(sent->first);
    by_.give_back(std::move(sent));
    if (subscriber_ != nullptr) subscriber_->done(part, replies.subspan(from, step));
    for (std::size_t i = 0; i < to_wake.size(); ++i) {
      if (to_wake[i] == 0 || !with.usable()) continue;
      const auto woken = wake(on, to_wake[i]);
      if (part[i].action == verb::release) replies[from + i].waiters = woken;
    }
    for (std::size_t i = 0; i < part.size() && with.usable(); ++i) {
      if (rings_holder(part[i], replies[from + i])) ring(on, replies[from + i].holder.holder);
    }
    for (std::size_t i = 0; i < first.size(); ++i) {
      auto& holder = replies[from + i].holder;
      if (first[i]) holder.others_first = others_first(on, part[i], holder.fence, std::move(first[i]));
    }
    for (std::size_t i = 0; i < part.size(); ++i) {
      auto& answer = replies[from + i];
      if (shared_ != nullptr && part[i].action == verb::poll &&
          stores::sql::shared_keys::is_shared(answer.holder.holder)) {
        shared_->look(sql, part[i], answer);
      }
    }
    for (std::size_t i = 0; i < part.size(); ++i) known_.answered(part[i], replies[from + i]);
  }
}

unsigned simulated_store::wake(connection& on, std::uint64_t wake_id) {
  const auto said = ask(on, [wake_id](network& by, moment) {
    reply made;
    made.result = by.to().waiters.ring(wake_id) ? outcome::yes : outcome::no;
    return made;
  });
  return said.result == outcome::yes ? 1 : 0;
}

void simulated_store::ring(connection& on, const id128& holder) {
  ask(on, [bell = std::string(linger_bell(holder).view()), own = subscriber_->connection()](network& by, moment) {
    auto& to = by.to();
    if (const auto first = to.waiters.first(bell, own); first != 0) to.waiters.ring(first);
    reply made;
    made.result = outcome::yes;
    return made;
  });
}

bool simulated_store::others_first(connection& on, const request& asked, std::uint64_t fence,
                                   std::optional<waiter_table::row> first) {
  const std::string key(asked.resource);
  while (first) {
    if (!by_.how().passes_over() || !turns_->is_over(key, fence, *first, process_.now())) {
      wake(on, first->wake_id);
      return true;
    }
    const auto next = std::make_shared<std::optional<waiter_table::row>>();
    const auto done = ask(on, [key, fence, next, first, registered = asked.registered, own = subscriber_->connection()](
                                  network& by, moment) {
      auto& to = by.to();
      to.pass_over(key, *first, fence);
      *next = to.waiters.first_of_others(key, own, registered);
      reply made;
      made.result = outcome::yes;
      return made;
    });
    if (done.result != outcome::yes) return true;
    first = *next;
  }
  return false;
}

reply simulated_store::session(connection& on, session_verb action, const session_record& of) noexcept {
  auto& with = static_cast<simulated_connection&>(on);
  if (!with.usable()) return answer_of(outcome::failed, broken());
  auto* const sees = by_.to().data.observer;
  if (action == session_verb::open && sees != nullptr) sees->opens(process_, of.id);
  auto sent = by_.take_job();
  sent->what = job::kind::session;
  sent->action = action;
  sent->record = of;
  sent->answers.resize(1);
  if (!with.execute(sent)) return answer_of(outcome::unknown, broken());
  return std::move(sent->answers.front());
}

reply simulated_store::ask(connection& on, std::function<reply(network&, moment)> what) {
  auto& with = static_cast<simulated_connection&>(on);
  if (!with.usable()) return answer_of(outcome::failed, broken());
  auto sent = by_.take_job();
  sent->what = job::kind::other;
  sent->other = [&by = by_, what = std::move(what)](moment clock) { return what(by, clock); };
  sent->answers.resize(1);
  if (!with.execute(sent)) return answer_of(outcome::unknown, broken());
  return std::move(sent->answers.front());
}

bool simulated_store::terminate(connection& on, const connection_identity& lost) noexcept {
  const auto done = ask(on, [lost](network& by, moment) {
    auto& to = by.to();
    reply made;
    made.result = outcome::yes;
    if (to.name() != lost.server) {
      made.result = outcome::no;  // nobody knows what it does there
    } else if (to.incarnation() == lost.incarnation && to.data.wrong != mistake::terminate_lies) {
      if (by.hits(hazard::ghosts, 50'000)) made.result = outcome::no;
      if (made.result == outcome::yes) to.kill(lost.id);
    }
    return made;
  });
  return done.result == outcome::yes;
}

// ---- operators and clean-up -----------------------------------------------------------------------------------------

reply simulated_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  auto info = std::make_shared<std::optional<holder_info>>();
  auto made = ask(on, [info, text = std::string(key.resource)](network& by, moment clock) {
    *info = by.to().data.describe(text, clock);
    reply answer;
    answer.result = outcome::yes;
    return answer;
  });
  if (made.result == outcome::yes && *info) found.push_back(**info);
  return made.result == outcome::yes ? name_members(on, found, made) : made;
}

reply simulated_store::name_members(connection& on, std::vector<holder_info>& found, const reply& before) {
  if (shared_ == nullptr) return before;
  sql_connection_of_store sql(*this, on);
  return shared_->name_members(sql, found);
}

reply simulated_store::list(connection& on, std::string_view after, std::size_t limit,
                            std::vector<holder_info>& found) noexcept {
  auto all = std::make_shared<std::vector<holder_info>>();
  auto made = ask(on, [all, from = std::string(after), limit](network& by, moment clock) {
    const auto& rows = by.to().data.locks();
    for (auto at = rows.upper_bound(from); at != rows.end() && all->size() < limit; ++at) {
      if (at->second.of_table) continue;
      if (auto info = by.to().data.describe(at->first, clock)) all->push_back(*info);
    }
    reply answer;
    answer.result = outcome::yes;
    return answer;
  });
  if (made.result != outcome::yes) return made;
  made = name_members(on, *all, made);
  if (made.result == outcome::yes) found.insert(found.end(), all->begin(), all->end());
  return made;
}

reply simulated_store::revoke(connection& on, const request& key) noexcept {
  auto made = ask(on, [text = std::string(key.resource)](network& by, moment) {
    reply answer;
    answer.result = by.to().data.revoke(text) ? outcome::yes : outcome::no;
    return answer;
  });
  if (shared_ == nullptr || made.result != outcome::no) return made;
  sql_connection_of_store sql(*this, on);
  return shared_->revoke(sql, key.resource);
}

reply simulated_store::cleanup(connection& on, microseconds idle, std::size_t limit) noexcept {
  auto made = ask(on, [idle, limit](network& by, moment clock) {
    reply answer;
    answer.result = outcome::yes;
    answer.fence = by.to().data.cleanup(idle.count(), limit, clock);
    return answer;
  });
  if (shared_ == nullptr || made.result != outcome::yes) return made;
  sql_connection_of_store sql(*this, on);
  auto members = shared_->clean(sql, idle, limit);
  members.fence += made.fence;
  return members;
}

// ---- transactions of the application's ------------------------------------------------------------------------------

verification simulated_store::verification_of(const request& grant) const {
  verification made;
  made.sql = "verify";
  made.parameters = {std::string(grant.resource),
                     verification::bytes{{reinterpret_cast<const char*>(grant.session.bytes.data()), 16}}, grant.fence};
  return made;
}

verification simulated_store::release_of(const request& grant) const {
  auto made = verification_of(grant);
  made.sql = "release";
  return made;
}

reply simulated_store::blocker(connection& on, const request& key, connection_identity& out) noexcept {
  auto found = std::make_shared<connection_identity>();
  auto made = ask(on, [found, text = std::string(key.resource)](network& by, moment) {
    auto& to = by.to();
    reply answer;
    const auto id = to.verifier_of(text);
    answer.result = id != 0 ? outcome::yes : outcome::no;
    *found = {to.name(), to.incarnation(), id};
    return answer;
  });
  if (made.result == outcome::yes) out = *found;
  return made;
}

}  // namespace dlock::simulation
