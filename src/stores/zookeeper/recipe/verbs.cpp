// SPDX-License-Identifier: BSL-1.0

/// The verbs of the lock recipe. Requests of one session are sent together as far as possible; the servers execute them
/// in their order.

#include <utility>

#include "base/text.hpp"
#include "stores/zookeeper/client/connection.hpp"
#include "stores/zookeeper/recipe/nodes.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// Stands for the holder of another program's node, which has no session.
id128 foreign_holder() noexcept {
  id128 id;
  id.bytes.fill(0xff);
  return id;
}

/// A node of ours, and the index of its request.
struct own_node {
  std::size_t request;
  std::string name;
};

std::vector<answer> remove(const lock_nodes& nodes, const execution& with, requests asked,
                           const std::vector<own_node>& which) {
  return with.on.ask(which.size(), [&](request_round& round) {
    for (std::size_t i = 0; i != which.size(); ++i) {
      const auto& [request, name] = which[i];
      with.handle.remove(nodes.path_of(asked[request].resource) + "/" + name, round.slot(i));
    }
  });
}

/// Makes one attempt for each of those requests: a node, and a list of the nodes before it. Returns those whose key has
/// no node yet.
std::vector<std::size_t> attempt(const lock_nodes& nodes, const execution& with, requests asked, replies results,
                                 const std::vector<std::size_t>& which) {
  const auto answers = with.on.ask(2 * which.size(), [&](request_round& round) {
    for (std::size_t i = 0; i != which.size(); ++i) {
      const auto& request = asked[which[i]];
      const auto path = nodes.path_of(request.resource);
      const auto prefix = nodes.prefix_of(request.session, request.nonce);
      with.handle.create(path + "/" + prefix, with.session->text(), ZOO_EPHEMERAL_SEQUENTIAL, round.slot(2 * i));
      with.handle.list(path, round.slot(2 * i + 1));
    }
  });
  std::vector<std::size_t> homeless;
  std::vector<own_node> behind;  // behind other nodes
  for (std::size_t i = 0; i != which.size(); ++i) {
    const auto& made = answers[2 * i];
    const auto& names = answers[2 * i + 1];
    const auto& request = asked[which[i]];
    const auto name = made.text.substr(made.text.rfind('/') + 1);
    auto& answer = results[which[i]];
    answer = {.result = outcome::no};
    if (made.code == ZNONODE) {
      homeless.push_back(which[i]);
    } else if (made.code != ZOK) {
      answer = not_done(made, "take");
    } else if (names.code != ZOK) {
      answer = {.result = outcome::unknown, .why = fault_of(names.code, "take")};
    } else if (const auto foreign = foreign_in(names.names); !foreign.empty()) {
      answer = {.result = outcome::failed, .why = {.text = foreign_text(nodes.path_of(request.resource), foreign)}};
      behind.push_back({which[i], name});
    } else {
      const auto other = before(names.names, name);
      if (!other) {
        // The answer is from another server, which had not received the node yet, because the session moved there
        // between the two.
        answer = {.result = outcome::unknown,
                  .why = {.transient = true, .text = "take: the queue was listed without its node"}};
      } else if (other->empty()) {
        with.session->hold(request.resource, nodes.path_of(request.resource), {{name, made.created}, request.nonce});
        answer = {.result = outcome::yes, .fence = made.created};
      } else {
        behind.push_back({which[i], name});
      }
    }
    answer.statements = 0;
  }
  // It leaves the queue at once, because only the engine knows whether the key is wanted for longer.
  const auto removed = remove(nodes, with, asked, behind);
  for (std::size_t i = 0; i != behind.size(); ++i) {
    const bool gone = removed[i].code == ZOK || removed[i].code == ZNONODE;
    if (!gone) results[behind[i].request] = {.result = outcome::unknown, .why = fault_of(removed[i].code, "take")};
  }
  return homeless;
}

void take(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i != asked.size(); ++i) {
    const auto queued = with.session->node_of(asked[i].resource);
    lock_node node;
    const auto had = queued == nullptr ? outcome::failed : queued->take(node);
    if (had == outcome::failed) {
      which.push_back(i);
    } else if (had == outcome::yes) {
      results[i] = {.result = outcome::yes, .fence = node.fence, .statements = 0};
      with.session->hold(asked[i].resource, nodes.path_of(asked[i].resource), {std::move(node), asked[i].nonce});
    }
  }
  if (which.empty()) return;
  constexpr int rounds = 4;  // the server may delete a key's node before it has a child
  for (int i = 0; i != rounds && !which.empty(); ++i) {
    which = attempt(nodes, with, asked, results, which);
    for (auto each = which.begin(); each != which.end();) {
      const auto made = nodes.make_parent(with.on, with.handle, nodes.path_of(asked[*each].resource));
      if (made.result == outcome::yes) {
        results[*each] = {.why = {.transient = true, .text = "the key's node is deleted again and again"},
                          .statements = 0};
        ++each;
      } else {
        results[*each] = {.result = outcome::failed, .why = made.why, .statements = 0};  // no node of ours was made
        each = which.erase(each);
      }
    }
  }
  results.front().statements = 1;
}

void poll(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  std::vector<std::string> keys;
  for (const auto& each : asked) keys.emplace_back(each.resource);
  const auto found = nodes.find_holders(with, keys);
  for (std::size_t i = 0; i != asked.size(); ++i) {
    const auto& of = found[i];
    results[i] = of.code == ZOK ? reply{.result = outcome::yes} : not_done({.code = of.code}, "poll");
    results[i].statements = i == 0 ? 1 : 0;
    if (of.code != ZOK) continue;
    if (!of.foreign.empty()) {
      results[i].result = outcome::failed;
      results[i].why.text = foreign_text(nodes.path_of(keys[i]), of.foreign);
      continue;
    }
    // A take can use our own place if it has become the first.
    const auto queued = with.session == nullptr ? nullptr : with.session->node_of(keys[i]);
    const bool ours = queued != nullptr && !of.node.empty() && queued->name() == of.node;
    if (!of.held || ours) {
      results[i].result = outcome::absent;
      continue;
    }
    auto& seen = results[i].holder;
    seen.kind = lease_kind::session;
    seen.fence = of.fence;
    if (const auto data = node_data::parse(of.data)) {
      seen.holder = data->session;
      seen.remaining = std::chrono::milliseconds{data->timeout_ms};
      seen.who = data->who();
    } else {
      seen.holder = foreign_holder();
      seen.remaining = microseconds::max();
      seen.who = detail::printable_text(of.data.substr(0, 64));
    }
  }
}

void release(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  std::vector<own_node> ours;
  for (std::size_t i = 0; i != asked.size(); ++i) {
    const auto held = with.session->held(asked[i].resource);
    if (!held || held->fence != asked[i].fence) continue;
    with.session->expect_end(asked[i].resource);
    ours.push_back({i, held->name});
  }
  const auto removed = remove(nodes, with, asked, ours);
  for (std::size_t i = 0; i != ours.size(); ++i) {
    auto& answer = results[ours[i].request];
    const auto code = removed[i].code;
    if (code == ZOK || code == ZNONODE) {
      with.session->drop(asked[ours[i].request].resource, ours[i].name);
      answer.result = code == ZOK ? outcome::yes : outcome::no;
    } else {
      answer = not_done(removed[i], "release");
      answer.statements = 0;
    }
  }
  results.front().statements = 1;
}

void cancel(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  // Another server may not have received the attempt yet.
  auto listed = with.on.ask(asked.size() + 1, [&](request_round& round) {
    with.handle.sync(nodes.path_of(asked.front().resource), round.slot(asked.size()));
    for (std::size_t i = 0; i != asked.size(); ++i) with.handle.list(nodes.path_of(asked[i].resource), round.slot(i));
  });
  const auto synced = listed.back().code;
  std::vector<own_node> ours;
  for (std::size_t i = 0; i != asked.size(); ++i) {
    if (synced != ZOK) listed[i].code = synced;
    if (listed[i].code != ZOK && listed[i].code != ZNONODE) {
      results[i] = not_done(listed[i], "cancel");
      continue;
    }
    // By its name; a node that was a place in the queue has another one.
    const auto held = with.session->held(asked[i].resource);
    const auto prefix = nodes.prefix_of(asked[i].session, asked[i].nonce);
    const auto before = ours.size();
    for (const auto& each : listed[i].names) {
      const bool granted = held && held->nonce == asked[i].nonce && held->name == each;
      if (granted) with.session->expect_end(asked[i].resource);
      if (granted || each.starts_with(prefix)) ours.push_back({i, each});
    }
    if (ours.size() == before) with.session->orphans().add(nodes.path_of(asked[i].resource), prefix);
  }
  const auto removed = remove(nodes, with, asked, ours);
  for (std::size_t i = 0; i != ours.size(); ++i) {
    auto& answer = results[ours[i].request];
    if (removed[i].code == ZOK) {
      with.session->drop(asked[ours[i].request].resource, ours[i].name);
      answer.result = outcome::yes;
    } else if (removed[i].code != ZNONODE) {
      answer = not_done(removed[i], "cancel");
    }
  }
  results.front().statements = 1;
}

}  // namespace

void execute_verb(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  switch (asked.front().action) {
    case verb::take:
    case verb::insert: take(nodes, with, asked, results); break;
    case verb::poll: poll(nodes, with, asked, results); break;
    case verb::release: release(nodes, with, asked, results); break;
    default: cancel(nodes, with, asked, results); break;
  }
}

}  // namespace dlock::stores::zookeeper
