// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "dlock/error.hpp"

namespace dlock::stores::redis {

namespace {

struct kind_of_error {
  std::string_view begins;
  bool transient;
  bool elsewhere;  ///< this server can't do it; another one may
  bool full = false;
};

/// The first word of an error's text is its kind. Kinds that are not listed last.
constexpr std::array kinds{
    kind_of_error{"READONLY", true, true},     // it has become a replica
    kind_of_error{"MASTERDOWN", true, true},   //
    kind_of_error{"LOADING", true, true},      // it has just been started
    kind_of_error{"NOREPLICAS", true, false},  // min-replicas-to-write
    kind_of_error{"MISCONF", true, false},     // it can't save, and so accepts no writes
    kind_of_error{"OOM", true, false},         // maxmemory
    kind_of_error{"BUSY", true, false},        // a script runs for long
    kind_of_error{"TRYAGAIN", true, false},    //
    // No kind of its own.
    kind_of_error{"-ERR max number", true, false, true},
    kind_of_error{"ERR max number of clients", true, false, true},
};

/// Null for an error that lasts.
const kind_of_error* find_kind(std::string_view error) noexcept {
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [error](const auto& each) { return error.starts_with(each.begins); });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace

bool is_elsewhere(std::string_view error) noexcept {
  const auto* const kind = find_kind(error);
  return kind != nullptr && kind->elsewhere;
}

bool is_unknown_script(std::string_view error) noexcept { return error.starts_with("NOSCRIPT"); }

fault fault_of_error(std::string_view error, const char* doing) {
  fault why;
  if (const auto* const kind = find_kind(error)) {
    why.transient = kind->transient;
    why.connection = kind->elsewhere;
    why.full = kind->full;
  }
  why.text = fmt::format("{}: {}", doing, detail::printable_text(error.substr(0, 300)));
  return why;
}

fault lost_connection(const std::string& text) {
  fault why;
  why.transient = why.connection = true;
  why.text = text;
  return why;
}

void fail(const std::string& store, const fault& why) {
  throw store_error(why.transient ? errc::store_unreachable : errc::store_failed,
                    fmt::format("{}: {}", store, why.text), why.native, why.sqlstate, why.transient);
}

reply failure(const answer& response, const char* doing) {
  if (response) return {.result = outcome::failed, .why = fault_of_error(response.text(), doing)};
  return {.result = outcome::unknown, .why = lost_connection(fmt::format("{}: no answer", doing))};
}

reply yes_or_no(const answer& response, const char* doing) {
  if (!response.is_result()) return failure(response, doing);
  return {.result = response.number() == 1 ? outcome::yes : outcome::no};
}

}  // namespace dlock::stores::redis
