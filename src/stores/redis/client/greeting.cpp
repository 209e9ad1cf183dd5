// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/greeting.hpp"

#include <fmt/format.h>

#include "stores/redis/client/errors.hpp"

namespace dlock::stores::redis {

namespace {
constexpr std::size_t config = 3;  // behind the login: the one that may be refused
}  // namespace

greeting::greeting(const redis_settings& settings, std::span<const std::string> scripts)
    : logs_in_(settings.password.empty() ? 0 : 1) {
  if (!settings.user.empty()) {
    text_.add({"AUTH", settings.user, settings.password});
  } else if (logs_in_ > 0) {
    text_.add({"AUTH", settings.password});
  }
  text_.add({"SELECT", settings.database});
  text_.add({"CLIENT", "ID"});
  text_.add({"INFO"});
  text_.add({"CONFIG", "GET", "*appendfsync*"});
  for (const auto& script : scripts) text_.add({"SCRIPT", "LOAD", script});
}

bool greeting::judge(std::span<const answer> response, const std::string& where, result& found, fault& why) const {
  const auto at = [&](std::size_t which) -> const answer& { return response[logs_in_ + which]; };
  for (std::size_t i = 0; i < response.size(); ++i) {
    if (!response[i]) {
      why = lost_connection(fmt::format("{}: no answer in time", where));
      return false;
    }
    if (response[i].is_error() && i != logs_in_ + config) {
      why = fault_of_error(response[i].text(), where.c_str());
      why.connection = true;
      return false;
    }
  }
  found.server = server_facts::read(at(2).text(), at(config));
  if (found.server.loading) {
    why = fault_of_error("LOADING the server reads its data after a start", where.c_str());
    return false;
  }
  if (!found.server.primary) {
    why = lost_connection(fmt::format("{}: is a replica, which takes no writes", where));
    return false;
  }
  found.client = static_cast<std::uint64_t>(at(1).number());
  for (std::size_t i = config + 1; logs_in_ + i < response.size(); ++i) found.hashes.emplace_back(at(i).text());
  return true;
}

}  // namespace dlock::stores::redis
