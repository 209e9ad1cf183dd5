// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "stores/mysql/bound/lock_holding_connection.hpp"

namespace dlock::stores::mysql::for_update {

/// A connection that can have a row locked by its open transaction. It commits nothing by itself.
struct row_lock_connection {
  row_lock_connection(std::unique_ptr<mysql_connection> connection, std::chrono::milliseconds timeout)
      : link(std::move(connection), timeout) {}

  lock_holding_connection link;
  key_statement* take = nullptr;
  // Guarded by the exclusive use:
  bool found = false;         ///< the last take has found a row
  std::uint64_t noticed = 0;  ///< the watch for its end, while it holds a row
};

/// The connections of a store, each for one held lock, and what they hold. Thread safety: all functions from any
/// thread; no I/O but the end of a connection.
class link_pool {
 public:
  explicit link_pool(std::size_t most) : most_(most) {}

  struct held {
    id128 session{};
    std::uint64_t nonce = 0;
    std::shared_ptr<row_lock_connection> link{};
  };

  /// A connection in use, or the right to make one (`link` is null). It is of no more use once this ends, unless it was
  /// put back, or holds a row.
  class borrowed {
   public:
    borrowed(link_pool& from, std::shared_ptr<row_lock_connection> which) noexcept
        : link(std::move(which)), from_(&from) {}
    borrowed(borrowed&& from) noexcept : link(std::move(from.link)), from_(std::exchange(from.from_, nullptr)) {}
    borrowed& operator=(borrowed&&) = delete;
    ~borrowed();
    void put_back();
    /// Enters into the books what it holds. False: the key is held here already.
    bool hold(std::string_view key, const id128& session, std::uint64_t nonce);

    std::shared_ptr<row_lock_connection> link;

   private:
    link_pool* from_;
  };

  /// Nothing: all are in use.
  std::optional<borrowed> borrow();
  std::optional<held> find(std::string_view key) const;
  /// Out of the books, if it is that grant.
  std::optional<borrowed> remove(std::string_view key, const held& grant);
  /// Keys greater than `after`, in byte order.
  std::vector<std::pair<std::string, id128>> list(std::string_view after, std::size_t limit) const;

 private:
  const std::size_t most_;
  mutable base::mutex mutex_;
  std::size_t count_ DLOCK_GUARDED_BY(mutex_) = 0;  // idle, held, and borrowed
  std::vector<std::shared_ptr<row_lock_connection>> idle_ DLOCK_GUARDED_BY(mutex_){};
  std::map<std::string, held, std::less<>> held_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::mysql::for_update
