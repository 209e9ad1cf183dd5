// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "dlock/error.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::zookeeper {

namespace {

[[noreturn]] void fail(const zookeeper_settings& settings, const fault& why) {
  throw store_error(why.transient ? errc::store_unreachable : errc::store_failed,
                    fmt::format("{}: {}", settings.name, why.text), why.native, why.sqlstate, why.transient);
}

}  // namespace

std::string zookeeper_store::unfit_mode(const key_mode& wanted) const {
  if (settings_.names == node_names::curator_semaphore) {
    if (wanted.permits == 0) return " has only permits, with names=curator-semaphore";
    return wanted.units == 1 ? "" : " has permits one by one: one_of(n) without units";
  }
  if (wanted.permits != 0) return " has permits only with names=curator-semaphore";
  if (wanted.units == 0 || settings_.names != node_names::curator) return {};
  return " has only exclusive locks with names=curator; names=curator-readwrite and names=kazoo have shared ones";
}

void zookeeper_store::prepare() {
  zookeeper_connection on("", settings_.connect_timeout);
  std::shared_ptr<zookeeper_handle> handle;
  try {
    handle = any_handle();
  } catch (const std::runtime_error& problem) {
    fail(settings_, {.transient = true, .connection = true, .text = problem.what()});
  }
  if (const auto connected = on.wait_connected(*handle); connected.code != ZOK) {
    fail(settings_, no_connection(settings_, connected.code));
  }
  if (const auto made = nodes_.make_base(on, *handle); made.result != outcome::yes) fail(settings_, made.why);
}

std::unique_ptr<connection> zookeeper_store::connect(microseconds, fault& why) noexcept {
  try {
    return std::make_unique<zookeeper_connection>("zookeeper " + settings_.base, settings_.statement_timeout);
  } catch (const std::exception&) {
    why.transient = true;
    return nullptr;
  }
}

void zookeeper_store::execute(connection& on, requests asked, replies results) noexcept {
  while (!asked.empty()) {
    const auto same = [&](const request& each) { return each.session != asked.front().session; };
    const auto size = static_cast<std::size_t>(std::find_if(asked.begin(), asked.end(), same) - asked.begin());
    const auto part = results.first(size);
    reply_or_in_doubt(on, part, [&] { execute_part(static_cast<zookeeper_connection&>(on), asked.first(size), part); });
    asked = asked.subspan(size);
    results = results.subspan(size);
  }
}

void zookeeper_store::execute_part(zookeeper_connection& on, requests asked, replies results) {
  const auto action = asked.front().action;
  std::fill(results.begin(), results.end(), reply{.result = outcome::no, .statements = 0});
  // No dead holder still holds a key, and no lease has an expiry.
  if (action == verb::take_over || action == verb::extend) return;
  const auto session = find(asked.front().session);
  if (session == nullptr && action != verb::poll) {
    // Its locks are free.
    if (action == verb::release || action == verb::cancel) return;
    const fault why{.transient = true, .text = "the session is not open"};
    std::fill(results.begin(), results.end(), reply{.result = outcome::failed, .why = why, .statements = 0});
    return;
  }
  const auto handle = session != nullptr ? session->shared_handle() : any_handle();
  if (const auto connected = on.wait_connected(*handle); connected.code != ZOK) {
    const auto why = no_connection(settings_, connected.code);
    std::fill(results.begin(), results.end(), reply{.result = outcome::failed, .why = why, .statements = 0});
    return;
  }
  const execution with{on, *handle, session.get()};
  execute_verb(nodes_, with, asked, results);
}

void zookeeper_store::watch(std::string_view key, const id128& id, key_listener& listener) noexcept {
  try {
    if (id == id128{}) {
      const auto handle = connected_handle();  // a new handle may have to look up names
      if (handle == nullptr) return;
      auto watch = std::make_shared<holder_watch>(*handle, nodes_.folder_of(key), settings_.names, listener);
      {
        const base::lock_guard lock(mutex_);
        watchers_[&listener].of_holder = watch;
      }
      watch->begin();
    } else if (const auto session = find(id)) {
      auto node = std::make_shared<queue_node>(session->handle(), session->orphans(),
                                               queue_node::terms{.path = nodes_.folder_of(key),
                                                                 .names = settings_.names,
                                                                 .data = session->text(),
                                                                 .mode = listener.mode(),
                                                                 .lock = nodes_.lock_of(key)},
                                               listener);
      {
        const base::lock_guard lock(mutex_);
        watchers_[&listener] = {.session = session, .node = node};
      }
      session->watch(key, node);
      node->begin();
    }
  } catch (const std::exception&) {
    // No waiter is notified, so waiters poll.
  }
}

void zookeeper_store::unwatch(std::string_view key, const id128&, key_listener& listener) noexcept {
  watcher ended;
  {
    const base::lock_guard lock(mutex_);
    if (auto node = watchers_.extract(&listener); !node.empty()) ended = std::move(node.mapped());
  }
  if (ended.of_holder != nullptr) ended.of_holder->leave();
  if (ended.node == nullptr) return;
  const auto session = ended.session.lock();  // keeps its handle alive
  if (session != nullptr) session->unwatch(key, *ended.node);
  ended.node->leave();  // even if the session has ended meanwhile, and is just notifying it
}

// ---- sessions, each with its node beside those of the locks: to delete that node is to end the session -------------

namespace {

using std::chrono::milliseconds;

/// The timeout to request. A third more than the ttl is needed: the answer to a renewal proves that the leader has
/// heard of the session when the previous one was sent, which is a third of the ttl ago.
milliseconds timeout_for(microseconds ttl) { return std::chrono::ceil<milliseconds>(ttl + ttl / 2); }
milliseconds least_for(microseconds ttl) { return std::chrono::ceil<milliseconds>(ttl + ttl / 3); }

reply too_short(milliseconds given, microseconds ttl) {
  const auto text = fmt::format(
      "the servers keep a session for {} ms (their maxSessionTimeout, which is 20 times their tickTime unless set), "
      "and a "
      "ttl of {} ms needs {} ms: shorten the ttl or raise maxSessionTimeout",
      given.count(), std::chrono::duration_cast<milliseconds>(ttl).count(), least_for(ttl).count());
  return {.result = outcome::failed, .why = {.text = text}};
}

}  // namespace

reply zookeeper_store::session(connection& connection, session_verb action, const session_record& record) noexcept {
  return reply_or_in_doubt(connection, [&]() -> reply {
    auto& on = static_cast<zookeeper_connection&>(connection);
    switch (action) {
      case session_verb::open: return open(on, record);
      case session_verb::renew: return renew(on, record);
      case session_verb::close: return close(on, record);
      default: return {.result = outcome::no, .statements = 0};  // the servers do it
    }
  });
}

reply zookeeper_store::open(zookeeper_connection& on, const session_record& record) {
  if (find(record.id) != nullptr) return {.result = outcome::no, .statements = 0};
  const auto begun = boot_clock::now();
  leave_spare();
  std::shared_ptr<zookeeper_handle> handle;
  try {
    handle =
        std::make_shared<zookeeper_handle>(settings_, timeout_for(record.ttl), [to = listeners_] { to->renew_now(); });
  } catch (const std::runtime_error& problem) {
    return {.result = outcome::failed, .why = {.transient = true, .connection = true, .text = problem.what()}};
  }
  if (const auto connected = on.wait_connected(*handle); connected.code != ZOK) {
    return {.result = outcome::failed, .why = no_connection(settings_, connected.code)};
  }
  const auto given = handle->timeout();
  if (given < least_for(record.ttl)) return too_short(given, record.ttl);
  auto session = std::make_shared<zookeeper_session>(
      handle, node_data{record.id, given.count(), std::string(record.host), record.pid, std::string(record.label)},
      begun, listeners_);
  const auto path = nodes_.session_path(record.id);
  for (bool first = true;; first = false) {
    const auto made =
        on.ask([&](on_answer done) { handle->create(path, session->text(), ZOO_EPHEMERAL, std::move(done)); });
    if (made.code == ZOK) break;
    // The session ends even without an answer, because no lease uses it.
    if (made.code != ZNONODE || !first) return not_done(made, "open a session");
    if (const auto base = nodes_.make_base(on, *handle); base.result != outcome::yes) return base;
  }
  session->watch_own_node(path);
  std::shared_ptr<zookeeper_handle> unused;  // is closed without the lock
  const base::lock_guard lock(mutex_);
  const bool is_new = sessions_.emplace(record.id, std::move(session)).second;
  if (is_new) unused = std::move(spare_);
  return {.result = is_new ? outcome::yes : outcome::no};
}

reply zookeeper_store::renew(zookeeper_connection& on, const session_record& record) {
  const auto session = find(record.id);
  if (session == nullptr) return {.result = outcome::no, .statements = 0};
  const auto sent = boot_clock::now();
  auto& handle = session->handle();
  if (const auto connected = on.wait_connected(handle); connected.code != ZOK && !handle.over()) {
    handle.reconnect();
    return {.result = outcome::failed, .why = fault_of(ZCONNECTIONLOSS, "renew")};
  }
  // The leader answers, because another server may have lost it without knowing.
  const auto answers = on.ask(2, [&](request_round& round) {
    handle.sync(nodes_.session_path(record.id), round.slot(0));
    handle.read(nodes_.session_path(record.id), round.slot(1));
  });
  if (handle.over() || answers[1].code == ZNONODE || answers[1].code == ZSESSIONEXPIRED) return {.result = outcome::no};
  for (const auto& each : answers) {
    if (each.code == ZOPERATIONTIMEOUT) handle.reconnect();
    if (each.code != ZOK) return not_done(each, "renew");
  }
  session->orphans().search(handle);
  if (session->renewed(sent, boot_clock::now(), record.ttl)) return {.result = outcome::yes};
  return {.result = outcome::unknown,
          .why = {.transient = true, .text = "renew: the one before it was too long ago to prove enough"}};
}

reply zookeeper_store::close(zookeeper_connection& on, const session_record& record) {
  const auto session = take_out(record.id);
  if (session == nullptr) return {.result = outcome::no, .statements = 0};
  if (session->handle().over()) return {.result = outcome::no, .statements = 0};
  session->leave_queues();
  // A connection that looks alive may be broken.
  auto& handle = session->handle();
  const bool answers = handle.connected() && !on.ask([&](on_answer done) {
                                                  handle.read(nodes_.session_path(record.id), std::move(done));
                                                }).lost();
  if (answers && session->end()) return {.result = outcome::yes};
  if (!handle.over()) closer_.add(session);
  return {.result = outcome::unknown, .why = fault_of(ZCONNECTIONLOSS, "close")};
}

std::shared_ptr<zookeeper_session> zookeeper_store::find(const id128& id) const {
  const base::lock_guard lock(mutex_);
  const auto at = sessions_.find(id);
  return at == sessions_.end() ? nullptr : at->second;
}

std::shared_ptr<zookeeper_session> zookeeper_store::take_out(const id128& id) {
  const base::lock_guard lock(mutex_);
  auto node = sessions_.extract(id);
  return node.empty() ? nullptr : std::move(node.mapped());
}

std::shared_ptr<zookeeper_handle> zookeeper_store::connected_handle() {
  const base::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_) {
    if (session->handle().connected()) return session->shared_handle();
  }
  return spare_ == nullptr || spare_->over() ? nullptr : spare_;
}

/// Closes the spare handle, because the servers may have only one connection left for this host, which the session
/// needs.
void zookeeper_store::leave_spare() {
  std::shared_ptr<zookeeper_handle> closing;  // is closed without the lock, unless it is in use
  const base::lock_guard lock(mutex_);
  closing = std::move(spare_);
}

std::shared_ptr<zookeeper_handle> zookeeper_store::any_handle() {
  if (auto found = connected_handle()) return found;
  constexpr std::chrono::seconds timeout{10};
  auto made =
      std::make_shared<zookeeper_handle>(settings_, timeout);  // with the mutex unlocked, because it may look up names
  auto ended = made;                                           // also closed after the mutex is unlocked
  const base::lock_guard lock(mutex_);
  if (spare_ == nullptr || spare_->over()) ended = std::exchange(spare_, made);
  return spare_;
}

}  // namespace dlock::stores::zookeeper

namespace dlock::stores {

std::shared_ptr<store> open_zookeeper(store_url url) {
  return std::make_shared<zookeeper::zookeeper_store>(zookeeper::zookeeper_settings::parse(std::move(url)));
}

}  // namespace dlock::stores

// Runs before the constructors of static objects, which may open stores.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_zookeeper() {
  dlock::register_store("zookeeper", dlock::stores::open_zookeeper);
}
