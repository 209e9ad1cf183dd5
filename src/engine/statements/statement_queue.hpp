// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "engine/statements/batch.hpp"
#include "engine/statements/blocked_caller.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

/// Waiting statements, first in, first out. It allocates nothing, because it links through the statements.
class statement_queue {
 public:
  bool empty() const noexcept { return first_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  statement* front() const noexcept { return first_; }

  /// The last `queue_deadline` of them, or instant::min() if it is empty.
  instant last_limit() const noexcept {
    auto found = instant::min();
    for_each([&](const statement& asked) { found = std::max(found, asked.queue_deadline); });
    return found;
  }
  template <class Use>
  void for_each(Use&& use) const {
    for (const auto* at = first_; at != nullptr; at = at->next) use(*at);
  }
  /// The first for which `wanted` returns true, or null.
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
  /// Removes those for which `wanted` returns true, in order, and passes them to `use`; stops when `use` returns false.
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

/// All statements that wait for a connection, and the order of their turns. Guarded by the executor's mutex.
class statement_queues {
 public:
  statement_queue& operator[](priority which) noexcept { return all_[static_cast<std::size_t>(which)]; }
  const statement_queue& operator[](priority which) const noexcept { return all_[static_cast<std::size_t>(which)]; }
  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }

  bool empty() const noexcept { return size() == 0; }
  std::size_t size() const noexcept {
    std::size_t found = 0;
    for (const auto& each : all_) found += each.size();
    return found;
  }
  /// The number of statements of that priority and those after it.
  std::size_t size_from(priority first) const noexcept {
    std::size_t found = 0;
    for (const auto each : priorities) found += each < first ? 0 : (*this)[each].size();
    return found;
  }

  /// Whether fewer statements go before it than there are idle connections. Those that the store can serve together
  /// with it don't count, nor do those for which `waits` returns true.
  template <class Waits>
  bool has_turn(const statement& of, std::size_t idle, instant now, Waits&& waits) const noexcept {
    for (const auto from : without_renewals) {
      const auto* const found = (*this)[from].find([&](const statement& before) {
        if (&before == &of || idle == 0) return true;
        if (executable(before) && !batch::may_share(before, of, now) && !waits(before)) --idle;
        return false;
      });
      if (found != nullptr) break;
    }
    return idle > 0;
  }
  /// Calls `use` with the first statements, one for each idle connection, except those for which `waits` returns true.
  template <class Waits, class Use>
  void for_first(std::size_t idle, Waits&& waits, Use&& use) const {
    for (const auto from : without_renewals) {
      if (idle == 0) return;
      (*this)[from].find([&](const statement& each) {
        if (!executable(each) || waits(each)) return false;
        use(each);
        return --idle == 0;
      });
    }
  }

 private:
  static constexpr std::array without_renewals{priority::frees, priority::extends, priority::takes};

  static bool executable(const statement& of) noexcept { return of.caller == nullptr || !of.caller->combining; }

  std::array<statement_queue, priorities.size()> all_{};
};

}  // namespace dlock::engine
