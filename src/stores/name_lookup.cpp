// SPDX-License-Identifier: BSL-1.0
#include "stores/name_lookup.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <condition_variable>
#include <map>

#include "base/mutex.hpp"
#include "base/signals.hpp"

namespace dlock::stores {

namespace {

/// Whether the name is known. With AI_NUMERICHOST in `flags` only addresses are.
bool look_up(const std::string& host, int flags) noexcept {
  addrinfo hints{};
  hints.ai_flags = flags;
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  ::freeaddrinfo(found);
  return true;
}

}  // namespace

bool is_address(const std::string& host) noexcept {
  std::array<unsigned char, sizeof(in6_addr)> room{};
  return ::inet_pton(AF_INET, host.c_str(), room.data()) == 1 || ::inet_pton(AF_INET6, host.c_str(), room.data()) == 1;
}

struct name_lookup::state {
  base::mutex mutex{};
  std::condition_variable_any changed{};
  std::map<std::string, unsigned> begun DLOCK_GUARDED_BY(mutex){};  // the numbers of the look-ups in progress
  unsigned last DLOCK_GUARDED_BY(mutex) = 0;

  bool runs(const std::string& host, unsigned number) const DLOCK_REQUIRES(mutex) {
    const auto found = begun.find(host);
    return found != begun.end() && found->second == number;
  }
};

name_lookup::name_lookup() : state_(std::make_shared<state>()) {}

bool name_lookup::answers(const std::string& host, clock::time_point end, const std::stop_token& cancel) {
  if (look_up(host, AI_NUMERICHOST)) return true;
  base::unique_lock lock(state_->mutex);
  auto found = state_->begun.find(host);
  if (found == state_->begun.end()) {
    found = state_->begun.emplace(host, ++state_->last).first;
    try {
      base::start_thread([all = state_, host] {
        look_up(host, 0);
        const base::lock_guard done(all->mutex);
        all->begun.erase(host);
        all->changed.notify_all();
      }).detach();
    } catch (...) {
      state_->begun.erase(found);
      throw;
    }
  }
  const auto mine = found->second;
  return state_->changed.wait_until(lock.native(), cancel, end, [&] {
    state_->mutex.assert_held();
    return !state_->runs(host, mine);
  });
}

}  // namespace dlock::stores
