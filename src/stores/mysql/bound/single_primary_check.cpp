// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/bound/single_primary_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>

#include "base/text.hpp"
#include "stores/mysql/client/check.hpp"
#include "stores/mysql/client/text.hpp"

namespace dlock::stores::mysql {

namespace {

bool is_on(const std::optional<std::string>& value) { return value && *value != "0" && *value != "OFF"; }

}  // namespace

server_facts read_facts(mysql_connection& connection, const mysql_server& server, const std::string& store) {
  server_facts facts;
  facts.cluster = server.id.starts_with("galera|");
  facts.proxy = server.node == "proxy";
  const auto ask = [&](const std::string& sql) { return read_rows(connection, store, sql, "checking the server"); };
  const auto row = ask("SELECT CONNECTION_ID(), CONCAT(@@version, ' ', @@version_comment)").at(0);
  facts.first = row.at(0).value_or("");
  facts.version = row.at(1).value_or("");
  facts.several_primaries =
      !ask("SHOW GLOBAL VARIABLES WHERE Variable_name='group_replication_single_primary_mode' AND Value='OFF'").empty();
  facts.second = ask("SELECT CONNECTION_ID()").at(0).at(0).value_or("");
  return facts;
}

std::string refusal(const server_facts& facts, const std::string& locks) {
  const auto of_its_own = [&](const char* what) {
    return fmt::format("this server is {}: each has separate {}, and two of them would grant one key twice", what,
                       locks);
  };
  if (facts.cluster) return of_its_own("a node of a Galera cluster");
  if (facts.several_primaries) return of_its_own("one of several primaries of a replication group");
  const auto version = base::lower_case(facts.version);
  constexpr std::array<std::string_view, 2> names{"proxysql", "maxscale"};
  const bool named =
      std::any_of(names.begin(), names.end(), [&](auto name) { return version.find(name) != std::string::npos; });
  if (!facts.proxy && !named && facts.first == facts.second) return {};
  return fmt::format(
      "there is a proxy in between ({}): it may run the statements of one connection on several connections to the "
      "server, and "
      "{} belong to one of these",
      facts.version, locks);
}

void check_lone_host(const mysql_settings& settings, const std::string& scheme) {
  if (settings.hosts.size() == 1) return;
  throw std::invalid_argument(
      fmt::format("dlock: mysql URL: scheme={} goes with one host, not with {}: each server has separate locks", scheme,
                  settings.hosts.size()));
}

bool is_no_primary(const mysql_rows& answer) { return is_on(answer.at(0).at(0)) || is_on(answer.at(0).at(1)); }

std::int64_t silence_for(microseconds ttl) noexcept {
  constexpr std::int64_t longest = 31'536'000;  // of wait_timeout
  return std::clamp<std::int64_t>(std::chrono::ceil<std::chrono::seconds>(ttl).count(), 1, longest);
}

}  // namespace dlock::stores::mysql
