// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <string>

#include "event_story.hpp"

namespace dlock::command {

struct picture_options {
  std::string key{};      ///< only keys that begin with this
  std::int64_t from = 0;  ///< microseconds since 1970; 0 for the beginning of the log
  std::int64_t to = 0;    ///< 0 for its end
  std::size_t most_keys = 60;
};

/// Draws the story as an SVG picture: a band for each key, with held locks above and waits below.
std::string draw(const event_story& story, const picture_options& options);

}  // namespace dlock::command
