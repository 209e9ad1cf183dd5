// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace dlock::engine {

/// The hash and link of a member: `std::uint64_t T::hash() const`, `T* same_bucket`.
struct linked_by_bucket {
  template <class T>
  static std::uint64_t hash(const T& of) noexcept {
    return of.hash();
  }
  template <class T>
  static T*& next(T& of) noexcept {
    return of.same_bucket;
  }
};

/// A hash table that links through its members. Adding one can't fail: without memory for more buckets, the buckets get
/// longer. It owns nothing. Thread safety: none.
template <class T, class Links = linked_by_bucket>
class linked_table {
 public:
  /// Returns the first member with that hash for which `is` returns true, or null. Of members with one hash, the one
  /// that was added last comes first.
  template <class Is>
  T* find(std::uint64_t hash, Is&& is) const {
    T* at = buckets_[bucket_of(hash)];
    while (at != nullptr && !(Links::hash(*at) == hash && is(*at))) at = Links::next(*at);
    return at;
  }
  template <class Use>
  void for_each(Use&& use) const {
    for (T* each : buckets_) {
      for (; each != nullptr; each = Links::next(*each)) use(*each);
    }
  }
  std::size_t size() const noexcept { return size_; }
  void add(T& member) noexcept {
    if (size_ == buckets_.size()) grow();
    Links::next(member) = std::exchange(buckets_[bucket_of(Links::hash(member))], &member);
    ++size_;
  }
  /// Precondition: it is in the table.
  void remove(T& member) noexcept {
    T** at = &buckets_[bucket_of(Links::hash(member))];
    while (*at != &member) at = &Links::next(**at);
    *at = std::exchange(Links::next(member), nullptr);
    --size_;
  }

 private:
  std::size_t bucket_of(std::uint64_t hash) const noexcept {
    return static_cast<std::size_t>(hash) & (buckets_.size() - 1);
  }

  void grow() noexcept {
    try {
      std::vector<T*> before(buckets_.size() * 2);
      before.swap(buckets_);
      for (T* each : before) {
        T* turned = nullptr;  // reversed twice, a bucket keeps its order
        while (each != nullptr) turned = std::exchange(each, std::exchange(Links::next(*each), turned));
        while (turned != nullptr) {
          T* const after = Links::next(*turned);
          Links::next(*turned) = std::exchange(buckets_[bucket_of(Links::hash(*turned))], turned);
          turned = after;
        }
      }
    } catch (const std::bad_alloc&) {
    }
  }

  std::vector<T*> buckets_ = std::vector<T*>(8);
  std::size_t size_ = 0;
};

}  // namespace dlock::engine
