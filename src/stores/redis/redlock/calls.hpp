// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What the masters are sent, and what came back, request by request.

#include <fmt/format.h>

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "stores/redis/client/command.hpp"
#include "stores/redis/redlock/connection.hpp"
#include "stores/redis/setnx/values.hpp"

namespace dlock::stores::redis::redlock {

/// Scripts with their text, which no server needs to know before.
struct plain_calls {
  command_text text{};

  void add(std::initializer_list<std::string_view> words) { text.add(words); }
  void add(setnx::script which, std::size_t keys, std::initializer_list<std::string_view> words) {
    text.begin(words.size() + 3);
    text.word("EVAL");
    text.word(setnx::scripts[static_cast<std::size_t>(which)]);
    text.word(fmt::format_int(keys).c_str());
    for (const auto each : words) text.word(each);
  }
};

/// One row for each request: what each master said of it.
inline std::vector<std::vector<ballot>> count(std::span<const request> requests,
                                              const std::vector<quorum_connection::heard>& all) {
  std::vector<std::vector<ballot>> ballots(requests.size(), std::vector<ballot>(all.size()));
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (!all[m].sent) continue;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto& ballot = ballots[i][m];
      ballot.votes = all[m].votes;
      ballot.said = vote::silent;
      if (i < all[m].response.size()) {
        ballot.response = &all[m].response[i];
        ballot.said = vote_of(requests[i].action, all[m].response[i]);
      }
      ballot.remains = ballot.said == vote::silent || ballot.said == vote::yes;
    }
  }
  return ballots;
}

}  // namespace dlock::stores::redis::redlock
