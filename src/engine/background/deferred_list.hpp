// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <utility>

#include "engine/books/grant.hpp"

namespace dlock::engine {

/// Grants that are still to be freed, first in, first out. Links through them: it allocates nothing.
class deferred_list {
 public:
  deferred_list() = default;
  deferred_list(const deferred_list&) = delete;
  deferred_list& operator=(const deferred_list&) = delete;
  ~deferred_list() {
    while (first_ != nullptr) pop_front();  // not by recursion
  }

  bool empty() const noexcept { return first_ == nullptr; }
  grant& front() const noexcept { return *first_; }
  bool has_attempt(const id128& session, std::uint64_t nonce) const noexcept {
    for (const auto* at = first_.get(); at != nullptr; at = at->next_deferred.get()) {
      if (at->is_attempt(session, nonce)) return true;
    }
    return false;
  }
  void push_back(std::shared_ptr<grant> grant) noexcept {
    auto* const last = grant.get();
    (last_ == nullptr ? first_ : last_->next_deferred) = std::move(grant);
    last_ = last;
  }
  /// Before the first that is to be freed later; at the end, if they come in order.
  void insert_by_earliest(std::shared_ptr<grant> grant) noexcept {
    if (last_ == nullptr || last_->earliest <= grant->earliest) return push_back(std::move(grant));
    auto* at = &first_;
    while ((*at)->earliest <= grant->earliest) at = &(*at)->next_deferred;
    grant->next_deferred = std::move(*at);
    *at = std::move(grant);
  }
  std::shared_ptr<grant> pop_front() noexcept {
    auto grant = std::move(first_);
    first_ = std::move(grant->next_deferred);
    if (first_ == nullptr) last_ = nullptr;
    return grant;
  }

 private:
  std::shared_ptr<grant> first_{};
  grant* last_ = nullptr;
};

}  // namespace dlock::engine
