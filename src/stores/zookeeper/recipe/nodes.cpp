// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/recipe/nodes.hpp"

#include <algorithm>
#include <utility>

namespace dlock::stores::zookeeper {

namespace {

bool is_there(const answer& response) { return response.code == ZOK || response.code == ZNODEEXISTS; }

/// A user without the right to make a node is refused even if the node exists, as an operator may have made it.
bool was_made(zookeeper_connection& on, zookeeper_handle& handle, const std::string& path) {
  const auto response = on.ask([&](on_answer done) { handle.read(path, std::move(done)); });
  return response.code == ZOK || response.code == ZNOAUTH;
}

}  // namespace

reply lock_nodes::make_base(zookeeper_connection& on, zookeeper_handle& handle) const {
  std::vector<std::string> paths;
  for (auto at = base_.find('/', 1);; at = base_.find('/', at + 1)) {
    if (!base_.empty()) paths.push_back(base_.substr(0, at));
    if (at == std::string::npos) break;
  }
  paths.push_back(sessions_path());
  const auto made = on.ask(paths.size(), [&](request_round& round) {
    for (std::size_t i = 0; i != paths.size(); ++i) handle.create(paths[i], "", ZOO_PERSISTENT, round.slot(i));
  });
  for (std::size_t i = 0; i != paths.size(); ++i) {
    if (is_there(made[i]) || (made[i].code == ZNOAUTH && was_made(on, handle, paths[i]))) continue;
    return not_done(made[i], ("create " + paths[i]).c_str());
  }
  return {.result = outcome::yes};
}

reply lock_nodes::make_folder(zookeeper_connection& on, zookeeper_handle& handle, const std::string& path) const {
  // The servers delete a container some time after its last child. Those before 3.5 have no containers.
  int mode = ZOO_CONTAINER;
  answer made;
  for (int attempts = 0; attempts != 3; ++attempts) {
    made = on.ask([&](on_answer done) { handle.create(path, "", mode, std::move(done)); });
    if (is_there(made)) return {.result = outcome::yes};
    if (made.code == ZUNIMPLEMENTED) {
      mode = ZOO_PERSISTENT;
    } else if (made.code == ZNONODE) {
      const auto above = path.substr(0, path.rfind('/'));
      const auto base = above == base_ ? make_base(on, handle) : make_folder(on, handle, above);
      if (base.result != outcome::yes) return base;
    } else {
      break;
    }
  }
  return not_done(made, ("create " + path).c_str());
}

std::vector<shown_nodes> lock_nodes::find_nodes(const execution& with, const std::vector<std::string>& keys,
                                                const choose_nodes& choose) const {
  std::vector<shown_nodes> found(keys.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i != keys.size(); ++i) open.push_back(i);
  constexpr int rounds = 5;  // a holder may leave between the two requests
  for (int round = 0; round != rounds && !open.empty(); ++round) {
    const auto listed = with.on.ask(open.size(), [&](request_round& all) {
      for (std::size_t i = 0; i != open.size(); ++i) with.handle.list(folder_of(keys[open[i]]), all.slot(i));
    });
    std::vector<std::pair<std::size_t, std::string>> chosen;  // key and name
    for (std::size_t i = 0; i != open.size(); ++i) {
      auto& of = found[open[i]];
      if (listed[i].code == ZNOAUTH) {
        of.nodes.emplace_back();
      } else if (listed[i].code != ZOK && listed[i].code != ZNONODE) {
        of.code = listed[i].code;
      } else {
        const lock_queue queue(names_, listed[i].names);
        of.foreign = queue.foreign();
        of.contenders = queue.size();
        for (auto& name : choose(open[i], queue)) chosen.emplace_back(open[i], std::move(name));
      }
    }
    const auto read = with.on.ask(chosen.size(), [&](request_round& all) {
      for (std::size_t i = 0; i != chosen.size(); ++i) {
        with.handle.read(folder_of(keys[chosen[i].first]) + "/" + chosen[i].second, all.slot(i));
      }
    });
    open.clear();
    for (std::size_t i = 0; i != chosen.size(); ++i) {
      auto& [key, name] = chosen[i];
      auto& of = found[key];
      if (read[i].code == ZOK) {
        of.nodes.push_back({std::move(name), read[i].text, read[i].created});
      } else if (read[i].code == ZNOAUTH) {
        of.nodes.push_back({.name = std::move(name)});
      } else if (read[i].code != ZNONODE) {
        of.code = read[i].code;
      }
      const bool last = i + 1 == chosen.size() || chosen[i + 1].first != key;
      if (!last || !of.nodes.empty() || of.code != ZOK) continue;
      of = {};
      open.push_back(key);
    }
  }
  return found;
}

reply lock_nodes::find_waiters(const execution& with, std::string_view key, std::size_t limit, std::uint64_t& count,
                               std::vector<std::string>& data) const {
  const auto path = counts() ? lock_of(key) : folder_of(key);
  const auto listed = with.on.ask([&](on_answer done) { with.handle.list(path, std::move(done)); });
  count = 0;
  if (listed.code == ZNONODE) return {.result = outcome::yes};
  if (listed.code != ZOK) return not_done(listed, "list waiters");
  const lock_queue queue(counts() ? node_names::curator : names_, listed.names);
  auto names = queue.contenders();
  if (!counts()) names.erase(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(queue.holders().size()));
  count = names.size();
  names.resize(std::min(limit, names.size()));
  const auto read = with.on.ask(names.size(), [&](request_round& all) {
    for (std::size_t i = 0; i != names.size(); ++i) with.handle.read(path + "/" + names[i], all.slot(i));
  });
  for (const auto& each : read) {
    if (each.code == ZOK) {
      data.push_back(each.text);
    } else if (each.code != ZNONODE) {
      return not_done(each, "read a waiter");
    }
  }
  return {.result = outcome::yes};
}

reply lock_nodes::keys_after(const execution& with, std::string_view after, std::vector<std::string>& keys) const {
  const auto path = base_.empty() ? std::string("/") : base_;
  const auto listed = with.on.ask([&](on_answer done) { with.handle.list(path, std::move(done)); });
  if (listed.code != ZOK && listed.code != ZNONODE) return not_done(listed, "list");
  for (const auto& name : listed.names) {
    const auto key = key_of_name(name);
    if (key && *key > after && name_of_key(*key, base_.empty()) == name) keys.push_back(*key);
  }
  std::sort(keys.begin(), keys.end());
  return {.result = outcome::yes};
}

}  // namespace dlock::stores::zookeeper
