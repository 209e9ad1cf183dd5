// SPDX-License-Identifier: BSL-1.0
// Names and contents of nodes, which other recipes make too.

#include <algorithm>
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
    if (end != at) names.emplace_back(text.substr(at, end - at));  // no node has an empty name
    at = end + 1;
  }
  using zookeeper::node_names;
  for (const auto recipe :
       {node_names::curator, node_names::curator_readwrite, node_names::curator_semaphore, node_names::kazoo}) {
    const zookeeper::lock_queue queue(recipe, names);
    const auto all = queue.contenders();
    const auto holders = queue.holders();
    fuzz::require(all.size() == queue.size(), "each contender has a place");
    fuzz::require(holders.empty() == all.empty(), "somebody holds a key that somebody asks for");
    fuzz::require(std::equal(holders.begin(), holders.end(), all.begin()), "the first in the queue hold the key");
    fuzz::require(queue.foreign().empty() == (all.size() == names.size()), "a node that asks for nothing is foreign");
    for (const auto& each : holders) {
      const auto of = zookeeper::contender_of(recipe, each);
      fuzz::require(of.has_value(), "a holder has a number");
      fuzz::require(holders.size() == 1 || of->shares, "only readers share a key");
    }
    for (const auto& each : all) {
      const auto permits = static_cast<std::uint32_t>(all.size());
      fuzz::require(queue.before(each, permits) == "", "nobody waits while there are permits");
    }
    const auto other = queue.before(names.empty() ? std::string{} : names.back());
    fuzz::require(!other || other->empty() || zookeeper::contender_of(recipe, *other).has_value(),
                  "what a contender waits for is another one");
  }
  if (const auto node = zookeeper::node_data::parse(text)) static_cast<void>(node->who());
  return 0;
}
