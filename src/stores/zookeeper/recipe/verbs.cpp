// SPDX-License-Identifier: BSL-1.0

/// The verbs of the lock recipe. Requests of one session are sent together as far as possible; the servers execute them
/// in their order.

#include <algorithm>
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

/// The reply for a key below which another recipe keeps a node.
reply refused(const lock_nodes& nodes, const request& asked, const std::string& foreign) {
  return {.result = outcome::failed,
          .why = {.text = foreign_text(nodes.recipe(), nodes.folder_of(asked.resource), foreign)}};
}

key_mode mode_of(const request& asked) noexcept { return {.units = asked.units, .permits = asked.permits}; }

/// The node with which the session of the request waits for that key, and in that mode. A call for a shared lock or
/// a permit that does not wait must not take the place of another one.
std::shared_ptr<queue_node> place_of(const execution& with, const request& asked) {
  auto queued = with.session == nullptr ? nullptr : with.session->node_of(asked.resource);
  const bool fits = queued != nullptr && queued->mode() == mode_of(asked) && (asked.units == 0 || asked.registered);
  return fits ? queued : nullptr;
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
      with.handle.remove(nodes.folder_of(asked[request].resource) + "/" + name, round.slot(i));
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
      const auto path = nodes.folder_of(request.resource);
      const auto prefix = nodes.prefix_of(request);
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
    } else if (const lock_queue queue(nodes.recipe(), names.names); !queue.foreign().empty()) {
      answer = refused(nodes, request, queue.foreign());
      behind.push_back({which[i], name});
    } else {
      const auto other = queue.before(name, request.permits);
      if (!other) {
        // The answer is from another server, which had not received the node yet, because the session moved there
        // between the two.
        answer = {.result = outcome::unknown,
                  .why = {.transient = true, .text = "take: the queue was listed without its node"}};
      } else if (other->empty()) {
        with.session->hold(request.resource, nodes.folder_of(request.resource),
                           {{name, made.created}, request.nonce, request.units != 0});
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
    const auto queued = place_of(with, asked[i]);
    lock_node node;
    const auto had = queued == nullptr ? outcome::failed : queued->take(node);
    if (had == outcome::failed) {
      which.push_back(i);
    } else if (had == outcome::yes) {
      results[i] = {.result = outcome::yes, .fence = node.fence, .statements = 0};
      with.session->hold(asked[i].resource, nodes.folder_of(asked[i].resource),
                         {std::move(node), asked[i].nonce, asked[i].units != 0});
    }
  }
  if (which.empty()) return;
  constexpr int rounds = 4;  // the server may delete a key's node before it has a child
  for (int i = 0; i != rounds && !which.empty(); ++i) {
    which = attempt(nodes, with, asked, results, which);
    for (auto each = which.begin(); each != which.end();) {
      const auto made = nodes.make_folder(with.on, with.handle, nodes.folder_of(asked[*each].resource));
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
  // The node for which the caller waits. A take can use our own place once no other comes before it.
  const auto found = nodes.find_nodes(with, keys, [&](std::size_t key, const lock_queue& all) {
    const auto place = place_of(with, asked[key]);
    const bool ours = place != nullptr && all.before(place->name(), asked[key].permits) == "";
    auto other = ours ? std::string{} : all.blocker(mode_of(asked[key]));
    return other.empty() ? std::vector<std::string>{} : std::vector{std::move(other)};
  });
  for (std::size_t i = 0; i != asked.size(); ++i) {
    const auto& of = found[i];
    results[i] = of.code != ZOK       ? not_done({.code = of.code}, "poll")
                 : of.foreign.empty() ? reply{.result = outcome::yes}
                                      : refused(nodes, asked[i], of.foreign);
    results[i].statements = i == 0 ? 1 : 0;
    if (results[i].result != outcome::yes) continue;
    if (of.nodes.empty()) {
      results[i].result = outcome::absent;
      continue;
    }
    const auto& blocking = of.nodes.front();
    auto& seen = results[i].holder;
    seen.kind = lease_kind::session;
    seen.fence = blocking.fence;
    if (const auto data = node_data::parse(blocking.data)) {
      seen.holder = data->session;
      seen.remaining = std::chrono::milliseconds{data->timeout_ms};
      seen.who = data->who();
    } else {
      seen.holder = foreign_holder();
      seen.remaining = microseconds::max();
      seen.who = detail::printable_text(blocking.data.substr(0, 64));
    }
  }
}

void release(const lock_nodes& nodes, const execution& with, requests asked, replies results) {
  std::vector<own_node> ours;
  for (std::size_t i = 0; i != asked.size(); ++i) {
    const auto held = with.session->held(asked[i].resource, [&](const held_node& each) {
      return asked[i].units != 0 ? each.nonce == asked[i].nonce : each.fence == asked[i].fence;
    });
    if (!held) continue;
    held->watch->end();
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
    with.handle.sync(nodes.folder_of(asked.front().resource), round.slot(asked.size()));
    for (std::size_t i = 0; i != asked.size(); ++i) with.handle.list(nodes.folder_of(asked[i].resource), round.slot(i));
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
    const auto held =
        with.session->held(asked[i].resource, [&](const held_node& each) { return each.nonce == asked[i].nonce; });
    const auto prefix = nodes.prefix_of(asked[i]);
    const auto before = ours.size();
    if (held) held->watch->end();
    for (const auto& each : listed[i].names) {
      if ((held && held->name == each) || each.starts_with(prefix)) ours.push_back({i, each});
    }
    if (held && ours.size() == before) with.session->drop(asked[i].resource, held->name);
    if (ours.size() == before) with.session->orphans().add(nodes.folder_of(asked[i].resource), prefix);
  }
  const auto removed = remove(nodes, with, asked, ours);
  for (std::size_t i = 0; i != ours.size(); ++i) {
    auto& answer = results[ours[i].request];
    if (removed[i].code != ZOK && removed[i].code != ZNONODE) {
      answer = not_done(removed[i], "cancel");
      continue;
    }
    with.session->drop(asked[ours[i].request].resource, ours[i].name);
    if (removed[i].code == ZOK) answer.result = outcome::yes;
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
    case verb::cancel: cancel(nodes, with, asked, results); break;
    default: std::fill(results.begin(), results.end(), reply{.result = outcome::no, .statements = 0}); break;
  }
}

}  // namespace dlock::stores::zookeeper
