// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>

#include "engine/context.hpp"
#include "engine/grant.hpp"

namespace dlock::detail {

/// Tells holders that their lease is lost, and the observer what happened in the background. A thread of its
/// own, because users' callbacks may block or call back: neither renewals nor the alarm may wait for them.
class herald {
 public:
  /// An event that owns what it says.
  struct notice {
    event::kind what{};
    std::string key{};
    std::uint64_t fence = 0;
    microseconds held{0};
    unsigned attempts = 0;
    loss_reason reason = loss_reason::none;
    std::string text{};
  };

  /// `told`: called once the holder of a lost lease has been told.
  herald(context& shared, std::function<void()> told) : shared_(shared), told_(std::move(told)) {}
  /// Without memory told at once, on this thread.
  void post(std::shared_ptr<grant> lost) noexcept;
  /// Counted at once. Not told while very many wait to be told.
  void post(notice what);
  void run();
  /// Ends run() once everything posted has been told.
  void stop() noexcept;

 private:
  using item = std::variant<std::shared_ptr<grant>, notice>;
  void tell(grant& lost) noexcept;
  void tell(const notice& what) noexcept;

  context& shared_;
  const std::function<void()> told_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<item> posted_;
  std::size_t notices_ = 0;  // of them
  bool stop_ = false;
};

}  // namespace dlock::detail
