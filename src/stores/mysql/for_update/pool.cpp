// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/for_update/pool.hpp"

#include <utility>

namespace dlock::stores::mysql::for_update {

std::optional<std::shared_ptr<row_lock_connection>> link_pool::get() {
  const base::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    auto found = std::move(idle_.back());
    idle_.pop_back();
    return found;
  }
  if (count_ == most_) return std::nullopt;
  ++count_;
  return std::shared_ptr<row_lock_connection>();
}

void link_pool::drop() {
  const base::lock_guard lock(mutex_);
  --count_;
}

void link_pool::put_back(std::shared_ptr<row_lock_connection> link) {
  const base::lock_guard lock(mutex_);
  idle_.push_back(std::move(link));
}

bool link_pool::hold(const std::string& key, held grant) {
  const base::lock_guard lock(mutex_);
  return held_.emplace(key, std::move(grant)).second;
}

std::optional<link_pool::held> link_pool::find(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

bool link_pool::remove(std::string_view key, const held& grant) {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.link != grant.link) return false;
  held_.erase(found);
  return true;
}

std::vector<std::pair<std::string, id128>> link_pool::list(std::string_view after, std::size_t limit) const {
  std::vector<std::pair<std::string, id128>> found;
  const base::lock_guard lock(mutex_);
  for (auto at = held_.upper_bound(after); at != held_.end() && found.size() != limit; ++at) {
    found.emplace_back(at->first, at->second.session);
  }
  return found;
}

}  // namespace dlock::stores::mysql::for_update
