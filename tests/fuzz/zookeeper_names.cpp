// SPDX-License-Identifier: BSL-1.0
// Names and contents of nodes, which other recipes make too.

#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "stores/zookeeper/recipe/names.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace zookeeper = dlock::stores::zookeeper;
  const auto text = fuzz::text_of(data, size);
  if (const auto key = zookeeper::key_of_name(text)) {
    const bool same = zookeeper::name_of_key(*key, false) == text || zookeeper::name_of_key(*key, true) == text;
    fuzz::require(same, "a name that is read is written as it was");
  }
  const auto name = zookeeper::name_of_key(text, false);
  fuzz::require(zookeeper::key_of_name(name) == std::string(text), "a key that is written is read as it was");
  std::vector<std::string> names;
  for (std::size_t at = 0; at <= text.size();) {
    const auto end = std::min(text.find('\n', at), text.size());
    names.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  static_cast<void>(zookeeper::foreign_in(names));
  static_cast<void>(zookeeper::contenders_in(names));
  static_cast<void>(zookeeper::before(names, names.back()));
  const auto first = zookeeper::first_of(names);
  fuzz::require(first.empty() || zookeeper::number_in(first).has_value(), "the first contender has a number");
  if (const auto node = zookeeper::node_data::parse(text)) static_cast<void>(node->who());
  return 0;
}
