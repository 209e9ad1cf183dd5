// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <cstddef>

#include "engine/statements/statement.hpp"

namespace dlock::engine {

/// Statements that wait, first in, first out. Links through the statements: it allocates nothing.
class statement_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  statement* front() const noexcept { return first_; }

  /// The last `queue_deadline` of them; instant::min() if there is none.
  instant last_limit() const noexcept {
    auto found = instant::min();
    for_each([&](const statement& asked) { found = std::max(found, asked.queue_deadline); });
    return found;
  }
  template <class Use>
  void for_each(Use&& use) const {
    for (const auto* at = first_; at != nullptr; at = at->next) use(*at);
  }
  /// The first for which `wanted` says so; null: none.
  template <class Wanted>
  statement* find(Wanted&& wanted) const {
    auto* at = first_;
    while (at != nullptr && !wanted(*at)) at = at->next;
    return at;
  }

  void push_back(statement& asked) noexcept {
    asked.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &asked;
    last_ = &asked;
    ++size_;
  }
  void push_front(statement& asked) noexcept {
    asked.next = first_;
    first_ = &asked;
    if (last_ == nullptr) last_ = &asked;
    ++size_;
  }
  statement* pop_front() noexcept {
    statement* const asked = first_;
    unlink(nullptr, *asked);
    return asked;
  }
  /// Takes out those for which `wanted` says so, in order, and hands them to `use`; stops when `use` says false.
  template <class Wanted, class Use>
  void extract(Wanted&& wanted, Use&& use) {
    statement* before = nullptr;
    for (statement* at = first_; at != nullptr;) {
      statement* const after = at->next;
      if (wanted(*at)) {
        unlink(before, *at);
        if (!use(*at)) return;
      } else {
        before = at;
      }
      at = after;
    }
  }

 private:
  void unlink(statement* before, statement& asked) noexcept {
    (before == nullptr ? first_ : before->next) = asked.next;
    if (last_ == &asked) last_ = before;
    asked.next = nullptr;
    --size_;
  }

  statement* first_ = nullptr;
  statement* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace dlock::engine
