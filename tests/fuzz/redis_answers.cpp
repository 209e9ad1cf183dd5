// SPDX-License-Identifier: BSL-1.0
// What a Redis server sends: the protocol, the text of INFO, and values of other programs.

#include <string>

#include "fuzz/fuzz.hpp"
#include "stores/redis/client/protocol.hpp"
#include "stores/redis/client/server.hpp"
#include "stores/redis/client/settings.hpp"
#include "stores/redis/setnx/values.hpp"

namespace redis = dlock::stores::redis;

namespace {

std::size_t walk(const redis::answer& from, int depth = 0) {
  std::size_t parts = 1 + from.text().size() + static_cast<std::size_t>(from.number() != 0);
  if (depth == 8) return parts;
  for (std::size_t i = 0; i < from.size(); ++i) parts += walk(from[i], depth + 1);
  return parts;
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = fuzz::text_of(data, size);
  redis::answer_reader reader;
  // In two pieces, as a network may deliver them.
  const auto first = size / 2;
  for (const auto piece : {text.substr(0, first), text.substr(first)}) {
    if (!reader.feed(piece.data(), piece.size())) return 0;
    while (const auto got = reader.next()) {
      static_cast<void>(walk(got));
      if (got.is_error()) static_cast<void>(redis::fault_of_error(got.text(), "fuzzing"));
      static_cast<void>(redis::config_value(got, "maxmemory-policy"));
      static_cast<void>(redis::server_facts::read(got.text(), got));
    }
    if (reader.broken()) return 0;
  }
  static_cast<void>(redis::server_facts::read(text, redis::answer{}));
  const auto holder = redis::setnx::holder_in(text);
  fuzz::require(redis::setnx::is_ours(text) || holder.holder == redis::setnx::foreign_holder(),
                "a value that is not ours has a foreign holder");
  return 0;
}
