// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/for_update/pool.hpp"

namespace dlock::stores::mysql::for_update {

link_pool::borrowed::~borrowed() {
  if (from_ == nullptr) return;
  const base::lock_guard lock(from_->mutex_);
  --from_->count_;
}

void link_pool::borrowed::put_back() {
  const base::lock_guard lock(from_->mutex_);
  from_->idle_.push_back(std::move(link));
  from_ = nullptr;
}

bool link_pool::borrowed::hold(std::string_view key, const id128& session, std::uint64_t nonce) {
  const base::lock_guard lock(from_->mutex_);
  if (!from_->held_.emplace(key, held{session, nonce, link}).second) return false;
  from_ = nullptr;
  return true;
}

std::optional<link_pool::borrowed> link_pool::borrow() {
  const base::lock_guard lock(mutex_);
  if (!idle_.empty()) {
    auto found = std::move(idle_.back());
    idle_.pop_back();
    return borrowed(*this, std::move(found));
  }
  if (count_ == most_) return std::nullopt;
  ++count_;
  return borrowed(*this, nullptr);
}

std::optional<link_pool::held> link_pool::find(std::string_view key) const {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  return found == held_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<link_pool::borrowed> link_pool::remove(std::string_view key, const held& grant) {
  const base::lock_guard lock(mutex_);
  const auto found = held_.find(key);
  if (found == held_.end() || found->second.link != grant.link) return std::nullopt;
  held_.erase(found);
  return borrowed(*this, grant.link);
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
