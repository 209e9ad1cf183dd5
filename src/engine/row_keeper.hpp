// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "engine/context.hpp"
#include "engine/grant.hpp"
#include "engine/herald.hpp"

namespace dlock::detail {

/// Renews rows whose own expiry column keeps their lease (row_renewal::column): one statement per row and third of its
/// ttl. Apart from the keeper, because a transaction of the application's that has such a row locked makes its renewal
/// wait (rule 7): sessions must not wait behind it.
class row_keeper {
 public:
  using told = std::function<void(const std::shared_ptr<grant>&)>;

  row_keeper(context& shared, herald& news, told taken_over)
      : shared_(shared), news_(news), taken_over_(std::move(taken_over)) {}

  void add(const std::shared_ptr<grant>& one);

  void run();
  void stop() noexcept;

 private:
  instant renew(const std::shared_ptr<grant>& one);
  bool sending(connection* on) noexcept;  // null: no more. False: stopped

  context& shared_;
  herald& news_;
  const told taken_over_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::multimap<instant, std::weak_ptr<grant>> due_;
  connection* sending_ = nullptr;  // in mid-statement
  bool stop_ = false;
};

}  // namespace dlock::detail
