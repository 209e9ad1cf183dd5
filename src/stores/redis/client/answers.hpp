// SPDX-License-Identifier: BSL-1.0
#pragma once

/// What any answer to a verb means.

#include <string>

#include "dlock/store_interface/store_types.hpp"
#include "stores/redis/client/answer.hpp"
#include "stores/redis/client/errors.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis {

/// It was sent, or may have been.
inline reply unanswered(const char* doing) {
  return {.result = outcome::unknown, .why = lost_connection(std::string(doing) + ": no answer")};
}

inline reply refused(const answer& error, const char* doing) {
  return {.result = outcome::failed, .why = fault_of_error(error.text(), doing)};
}

inline reply yes_or_no(const answer& response, const char* doing) {
  if (!response) return unanswered(doing);
  if (response.is_error()) return refused(response, doing);
  return {.result = response.number() == 1 ? outcome::yes : outcome::no};
}

}  // namespace dlock::stores::redis
