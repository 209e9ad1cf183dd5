// SPDX-License-Identifier: BSL-1.0

/// What comes after a lost connection, and what operators ask.

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "stores/redis/client/answers.hpp"
#include "stores/redis/redlock/calls.hpp"
#include "stores/redis/redlock/store.hpp"

namespace dlock::stores::redis::redlock {

namespace {

using ask_late = quorum_connection::ask_late;

/// Nobody, if no majority has it.
void add_holder(std::string_view key, const sight& sight, bool ours_only, std::vector<holder_info>& to) {
  if (sight.result != outcome::yes || !sight.held) return;
  const auto holder = setnx::holder_in(sight.value);
  const bool ours = holder.holder != setnx::stranger();
  if (!ours && ours_only) return;
  to.push_back({.key = std::string(key), .session = ours ? holder.holder : id128{}, .label = holder.who});
  to.back().left = sight.left;
}

}  // namespace

bool redlock_store::terminate(connection& on, const connection_identity& lost) noexcept {
  try {
    if (lost.incarnation != group_->here) return false;
    auto& link = static_cast<quorum_connection&>(on);
    const auto open = group_->ends.of(lost.id);
    std::vector<plain_calls> calls(link.size());
    std::vector<std::vector<client_at>> ended(link.size());
    std::vector<bool> unsure(link.size(), false);
    for (const auto& end : open) {
      const auto& master = link.link(end.master);
      if (!master.ready()) {
        unsure[end.master] = true;
      } else if (master.end().run != end.run) {
        group_->ends.remove(lost.id, end);  // it has been started anew
      } else {
        calls[end.master].add({"CLIENT", "KILL", "ID", std::to_string(end.client)});
        ended[end.master].push_back(end);
      }
    }
    std::vector<const command_text*> texts;
    for (std::size_t m = 0; m < link.size(); ++m) texts.push_back(ended[m].empty() ? nullptr : &calls[m].text);
    const auto all = link.ask(texts, clock::now() + group_->settings.master_timeout, ask_late::no);
    for (std::size_t m = 0; m < link.size(); ++m) {
      for (std::size_t at = 0; at < ended[m].size(); ++at) {
        const bool gone =
            at < all[m].told.size() &&
            (!all[m].told[at].is_error() || all[m].told[at].text().find("No such client") != std::string_view::npos);
        if (gone) group_->ends.remove(lost.id, ended[m][at]);
        if (!gone) unsure[m] = true;
      }
    }
    // What may still come to fewer keeps nobody out, and ends by its expiry.
    return !group_->of.blocks(static_cast<std::size_t>(std::count(unsure.begin(), unsure.end(), true)));
  } catch (const std::exception&) {
    return false;
  }
}

// ---- operators ------------------------------------------------------------------------------------------------------

reply redlock_store::inspect(connection& on, const request& key, std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  guarded(on, {&result, 1}, [&] {
    auto& link = static_cast<quorum_connection&>(on);
    const request look{.action = verb::look, .resource = key.resource};
    plain_calls calls;
    setnx::add_request(calls, group_->settings.prefix, look);
    const auto all = link.ask(calls.text, clock::now() + group_->settings.master_timeout, ask_late::no);
    const auto ballots = count({&look, 1}, all);
    const auto sight = look_at(ballots.front(), group_->of);
    if (sight.result == outcome::failed || sight.result == outcome::unknown) {
      result = {.result = sight.result, .why = trouble(link)};
    } else {
      add_holder(key.resource, sight, false, found);
    }
  });
  return result;
}

bool redlock_store::scan(quorum_connection& on, std::size_t master, std::vector<std::string>& keys) const {
  const auto& prefix = group_->settings.prefix;
  std::string cursor = "0";
  do {
    command_text text;
    text.add({"SCAN", cursor, "MATCH", prefix + "*", "COUNT", "1000", "TYPE", "string"});
    std::vector<const command_text*> texts(on.size(), nullptr);
    texts[master] = &text;
    const auto all = on.ask(texts, clock::now() + group_->settings.statement_timeout, ask_late::no);
    if (all[master].told.empty() || all[master].told[0].is_error()) return false;
    const auto& told = all[master].told[0];
    cursor = told[0].text();
    command_text heads;  // a database that others use for more than locks has other strings too
    for (std::size_t i = 0; i < told[1].size(); ++i)
      heads.add({"GETRANGE", told[1][i].text(), "0", setnx::value_head_end});
    if (heads.commands() == 0) continue;
    texts[master] = &heads;
    const auto values = on.ask(texts, clock::now() + group_->settings.statement_timeout, ask_late::no);
    if (values[master].told.size() < heads.commands()) return false;
    for (std::size_t i = 0; i < told[1].size(); ++i) {
      if (values[master].told[i].is_error() || !setnx::is_ours(values[master].told[i].text())) continue;
      keys.emplace_back(told[1][i].text().substr(prefix.size()));
    }
  } while (cursor != "0");
  return true;
}

reply redlock_store::list(connection& on, std::string_view after, std::size_t limit,
                          std::vector<holder_info>& found) noexcept {
  reply result{.result = outcome::yes};
  guarded(on, {&result, 1}, [&] {
    auto& link = static_cast<quorum_connection&>(on);
    std::vector<std::string> keys;
    std::size_t scanned = 0;
    for (std::size_t m = 0; m < link.size(); ++m) scanned += scan(link, m, keys) ? 1 : 0;
    // Of each majority there must have been one among them.
    if (!group_->of.blocks(scanned)) {
      result = {.result = outcome::failed, .why = trouble(link)};
      return;
    }
    std::erase_if(keys, [&](const std::string& key) { return key <= after; });
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    const auto most = found.size() + limit;
    for (auto at = keys.begin(); at != keys.end() && found.size() < most; ++at) {
      std::vector<holder_info> holder;
      result = inspect(on, {.action = verb::look, .resource = *at}, holder);
      if (result.result != outcome::yes) return;
      for (auto& each : holder) {
        if (each.session) found.push_back(std::move(each));
      }
    }
  });
  return result;
}

}  // namespace dlock::stores::redis::redlock
