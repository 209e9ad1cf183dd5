// SPDX-License-Identifier: BSL-1.0
#include "engine/books/owner_state.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

#include "base/mutex.hpp"
#include "engine/books/fork_guard.hpp"

namespace dlock::engine {

namespace {

class request_owners {
 public:
  std::shared_ptr<owner_state> find(std::string_view id) {
    const base::lock_guard lock(mutex_);
    const auto at = known_.find(id);
    if (at != known_.end()) {
      if (auto known = at->second.lock()) return known;
    }
    auto made = std::make_shared<owner_state>(std::string(id));
    if (at != known_.end()) {
      at->second = made;
    } else {
      forget_gone();
      known_.emplace(id, made);
    }
    return made;
  }

 private:
  /// Costs each new one as much as a look at two others.
  void forget_gone() DLOCK_REQUIRES(mutex_) {
    if (known_.size() < enough_) return;
    std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
    enough_ = std::max<std::size_t>(64, 2 * known_.size());
  }

  base::mutex mutex_;
  std::map<std::string, std::weak_ptr<owner_state>, std::less<>> known_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t enough_ DLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace

std::shared_ptr<owner_state> owner_of_request(std::string_view id) {
  return one_per_process<request_owners>().find(id);
}

}  // namespace dlock::engine
