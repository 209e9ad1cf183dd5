// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "dlock/error.hpp"
#include "dlock/stores/zookeeper.hpp"
#include "stores/reply_or_in_doubt.hpp"
#include "stores/zookeeper/client/errors.hpp"

namespace dlock::stores {

std::shared_ptr<store> open_zookeeper(store_url url) {
  return std::make_shared<zookeeper::zookeeper_store>(zookeeper::zookeeper_settings::parse(std::move(url)));
}

}  // namespace dlock::stores

namespace dlock::stores::zookeeper {

namespace {

[[noreturn]] void fail(const zookeeper_settings& settings, const fault& why) {
  throw store_error(why.transient ? errc::store_unreachable : errc::store_failed,
                    fmt::format("{}: {}", settings.name, why.text), why.native, why.sqlstate, why.transient);
}

}  // namespace

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
  // No holder is gone and still holds a key, and no lease has an expiry.
  if (action == verb::take_over || action == verb::extend) return;
  const auto session = find(asked.front().session);
  if (session == nullptr && action != verb::poll) {
    // What it held is free.
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
      const auto handle = connected_handle();  // a new one may have to look up names
      if (handle == nullptr) return;
      auto watch = std::make_shared<holder_watch>(*handle, nodes_.path_of(key), listener);
      {
        const base::lock_guard lock(mutex_);
        watches_[&listener] = watch;
      }
      watch->begin();
    } else if (const auto session = find(id)) {
      auto node = std::make_shared<queue_node>(session->handle(), session->orphans(),
                                               queue_node::terms{nodes_.path_of(key), settings_.names, session->text()},
                                               listener);
      {
        const base::lock_guard lock(mutex_);
        queue_nodes_[&listener] = {session, node};
      }
      session->watch(key, node);
      node->begin();
    }
  } catch (const std::exception&) {
    // No waiter is notified: the key is polled.
  }
}

void zookeeper_store::unwatch(std::string_view key, const id128& id, key_listener& listener) noexcept {
  std::shared_ptr<holder_watch> watch;
  session_node of;
  {
    const base::lock_guard lock(mutex_);
    if (id == id128{}) {
      if (auto node = watches_.extract(&listener); !node.empty()) watch = std::move(node.mapped());
    } else if (auto node = queue_nodes_.extract(&listener); !node.empty()) {
      of = std::move(node.mapped());
    }
  }
  if (watch != nullptr) watch->leave();
  if (of.node == nullptr) return;
  const auto session = of.session.lock();  // its handle stays as long as it
  if (session != nullptr) session->unwatch(key, *of.node);
  of.node->leave();  // also where the session has ended meanwhile, and is just telling it
}

}  // namespace dlock::stores::zookeeper

// Runs before the constructors of static objects, which may open stores.
extern "C" [[gnu::constructor(200)]] DLOCK_EXPORT void dlock_register_zookeeper() {
  dlock::register_store("zookeeper", dlock::stores::open_zookeeper);
}
