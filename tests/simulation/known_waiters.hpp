// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "engine/registry/grant.hpp"
#include "simulation/process.hpp"
#include "simulation/server.hpp"

namespace dlock::simulation {

/// What a process was told of the waiters of other processes, and what it must do because of that. A waiter that is
/// forgotten finds the key by polling, so its wait alone does not show it.
class known_waiters {
 public:
  known_waiters(server& at, process& of) : server_(at), process_(of) {}

  /// A service begins. Of several, one does not know what another one was told; then only promises count.
  void service_begins() noexcept { ++services_; }
  /// A thread is about to release that, which it still holds.
  void lets_go(const engine::grant& one);
  /// It has done so.
  void has_let_go(const std::string& key) { keys_[key].let_go = 0; }
  /// It is about to send that. Of a grant whose end waiters rely on, a release looks for them, and so does one of a
  /// process whose last look has found some.
  void sends(const request& what);
  void answered(const request& what, const reply& how);
  /// A call that began then, and could have waited until `deadline`, was granted that. Just after its own process's
  /// release that others have heard, it must not have asked for it, unless one of them had it meanwhile.
  void handed_out(const engine::grant& one, instant begun, instant deadline);

 private:
  struct known_key {
    std::uint64_t let_go = 0;  ///< the nonce of the grant that a thread releases
    instant given_up{};        ///< what is not answered by then is left to the background, which tells nobody
    bool waits = false;        ///< the last look has found a waiter
    moment since = 0;          ///< when that was known
    std::uint64_t fence = 0;   ///< of the grant that was released last
    unsigned heard = 0;        ///< how many heard of that; among them may be this process
    instant released{};
  };
  /// Whether what it was told is known at once to whoever takes a key next.
  bool knows() const noexcept;
  void fail(const request& what, const std::string& why);

  server& server_;
  process& process_;
  unsigned services_ = 0;
  std::map<std::string, known_key, std::less<>> keys_{};
};

}  // namespace dlock::simulation
