// SPDX-License-Identifier: BSL-1.0
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

fault no_connection(const zookeeper_settings& settings, int code) {
  auto why = fault_of(code, "connect");
  if (!why.connection) return why;
  why.text = fmt::format(
      "no server answers at {} (a server closes each connection of a host that exceeds its maxClientCnxns, which is 60 "
      "unless set)",
      fmt::join(settings.servers, ","));
  return why;
}

reply not_done(const answer& response, const char* doing) {
  return {.result = response.lost() ? outcome::unknown : outcome::failed, .why = fault_of(response.code, doing)};
}

}  // namespace dlock::stores::zookeeper
