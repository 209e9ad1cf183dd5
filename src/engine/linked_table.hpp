// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace dlock::engine {

/// A hash table that links through its members, `T* same_bucket` of each, by `std::uint64_t T::hash() const`. Adding one can't
/// fail: without memory for more buckets they get longer. Owns nothing. Thread safety: none.
template <class T>
class linked_table {
 public:
  /// The first with that hash for which `is` says so; null: none.
  template <class Is>
  T* find(std::uint64_t hash, Is&& is) const {
    T* at = buckets_[place(hash)];
    while (at != nullptr && !(at->hash() == hash && is(*at))) at = at->same_bucket;
    return at;
  }
  template <class Use>
  void for_each(Use&& use) const {
    for (T* each : buckets_) {
      for (; each != nullptr; each = each->same_bucket) use(*each);
    }
  }
  void add(T& member) noexcept {
    if (size_ == buckets_.size()) grow();
    member.same_bucket = std::exchange(buckets_[place(member.hash())], &member);
    ++size_;
  }
  /// Precondition: it is in the table.
  void remove(T& member) noexcept {
    T** at = &buckets_[place(member.hash())];
    while (*at != &member) at = &(*at)->same_bucket;
    *at = std::exchange(member.same_bucket, nullptr);
    --size_;
  }

 private:
  std::size_t place(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
  }

  void grow() noexcept {
    try {
      std::vector<T*> before(buckets_.size() * 2);
      before.swap(buckets_);
      for (T* each : before) {
        while (each != nullptr) {
          T* const after = each->same_bucket;
          each->same_bucket = std::exchange(buckets_[place(each->hash())], each);
          each = after;
        }
      }
    } catch (const std::bad_alloc&) {
    }
  }

  std::vector<T*> buckets_ = std::vector<T*>(8);
  std::size_t size_ = 0;
};

}  // namespace dlock::engine
