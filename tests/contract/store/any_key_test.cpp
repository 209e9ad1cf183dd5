// SPDX-License-Identifier: BSL-1.0

/// Keys are bytes. Of stores with capabilities::any_key.

#include "contract/store/store_contract.hpp"

namespace dlock::test {

TEST_CASE_METHOD(one_actor, "store: keys that differ in any byte are different locks", "[T56]") {
  const std::string longest(255, 'x');
  const std::vector<std::string> keys = {"a",
                                         "A",
                                         "\xc3\xa4",
                                         "\xc3\x84",
                                         "a ",
                                         "a  ",
                                         " a",
                                         "a\t",
                                         "a\n",
                                         "\xf0\x9f\x94\x92",
                                         "\xff\xfe",
                                         "a'b",
                                         "a\\",
                                         "%",
                                         "_",
                                         "a\"b; -- ",
                                         longest,
                                         longest.substr(0, 254),
                                         "a\x01",
                                         "\x80"
                                         "a",
                                         std::string("a\0", 2),
                                         std::string("a\0b", 3),
                                         std::string("\0", 1),
                                         longest.substr(0, 254) + "X"};
  std::uint64_t n = 0;
  std::vector<std::uint64_t> fences;
  for (const auto& key : keys) {
    INFO("key " << ++n);
    CHECK(answer(a.poll(key)) == outcome::absent);
    fences.push_back(a.acquire(key));
    if (a.counts) CHECK(fences.back() == 1);
  }
  for (std::size_t i = 0; i < keys.size(); ++i) CHECK(answer(a.release(keys[i], fences[i])) == outcome::yes);
}

}  // namespace dlock::test
