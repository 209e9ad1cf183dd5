// SPDX-License-Identifier: BSL-1.0
// Event logs, which `dlock timeline` reads.

#include <sstream>
#include <string>

#include "event_story.hpp"
#include "exit_code.hpp"
#include "fuzz/fuzz.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream log{std::string(fuzz::text_of(data, size))};
  dlock::command::event_story story;
  try {
    story.read(log, "fuzz");
    story.finish();
  } catch (const dlock::command::failure& refused) {
    fuzz::require(*refused.what() != '\0', "a refusal has a text");
    return 0;
  }
  for (const auto& hold : story.holds()) fuzz::require(hold.holder < story.holders().size(), "a hold has a holder");
  return 0;
}
