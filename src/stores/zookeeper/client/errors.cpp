// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/zookeeper/client/errors.hpp"

#include <fmt/format.h>

namespace dlock::stores::zookeeper {

fault fault_of(int code, const std::string& doing) {
  fault why{.native = code, .text = fmt::format("{}: {}", doing, ::zerror(code))};
  switch (code) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZCLOSING:
      why.text = doing + ": no answer";
      why.transient = why.connection = true;
      break;
    // What the servers have ended the engine ends at its next renewal.
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZINVALIDSTATE:
    case ZTHROTTLEDOP: why.transient = true; break;
    default: break;
  }
  return why;
}

reply not_done(const answer& told, const char* doing) {
  return {.result = told.lost() ? outcome::unknown : outcome::failed, .why = fault_of(told.code, doing)};
}

}  // namespace dlock::stores::zookeeper
