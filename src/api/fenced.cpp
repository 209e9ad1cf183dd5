// SPDX-License-Identifier: BSL-1.0
#include "dlock/fenced.hpp"
#include "base/mutex.hpp"

#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <map>
#include <stdexcept>

#include "dlock/lock_key.hpp"

namespace dlock {

namespace {

void check_token(std::uint64_t token) {
  if (token == 0) throw std::invalid_argument("dlock: fencing token = 0: that is of an empty lease; grants begin at 1");
}

std::string statement(const fenced_update& update, const std::string& token) {
  const auto check = [](std::string_view field, const std::string& value) {
    if (value.empty()) throw std::invalid_argument(fmt::format("dlock: fenced_update::{} = ''", field));
  };
  check("table", update.table);
  check("condition", update.condition);
  check("column", update.column);
  return fmt::format("UPDATE {} SET {}{}{} = {} WHERE ({}) AND {} <= {}", update.table, update.assignments,
                     update.assignments.empty() ? "" : ", ", update.column, token, update.condition, update.column,
                     token);
}

}  // namespace

struct fence_gate::entry {
  base::mutex mutex{};
  std::atomic<std::uint64_t> seen{0};  // written only while the mutex is locked
};

struct fence_gate::entries {
  base::mutex mutex{};
  std::map<std::string, entry, std::less<>> map DLOCK_GUARDED_BY(mutex){};  // none is ever removed

  entry& named(std::string_view resource) {
    const base::lock_guard lock(mutex);
    const auto found = map.find(resource);
    return found != map.end() ? found->second : map.try_emplace(std::string(resource)).first->second;
  }
};

fence_gate::fence_gate() : entries_(std::make_unique<entries>()) {}

fence_gate::~fence_gate() = default;

fence_gate::passage::passage(fence_gate& gate, std::string_view resource, std::uint64_t token)
    : entry_((check_token(token), gate.entries_->named(resource))) {
  entry_.mutex.lock();
  admitted_ = token >= entry_.seen;
  if (admitted_) entry_.seen = token;
}

fence_gate::passage::~passage() { entry_.mutex.unlock(); }

void fence_gate::passage::refuse(std::string_view resource, std::uint64_t token) const {
  const std::uint64_t seen = entry_.seen;
  throw stale_fence(token, seen,
                    fmt::format("resource '{}': fencing token {} is stale: {} was here",
                                detail::printable_text(resource), token, seen));
}

std::uint64_t fence_gate::seen(std::string_view resource) const {
  const base::lock_guard lock(entries_->mutex);
  const auto found = entries_->map.find(resource);
  return found == entries_->map.end() ? 0 : found->second.seen.load();
}

std::string fenced_update::sql() const { return statement(*this, "?"); }

std::string fenced_update::sql(std::uint64_t token) const {
  check_token(token);
  return statement(*this, std::to_string(token));
}

std::string fenced_update::seen_sql() const {
  static_cast<void>(sql());  // throws if one of the fields that it needs is missing
  return fmt::format("SELECT {} FROM {} WHERE ({}) FOR UPDATE", column, table, condition);
}

fenced_update::verdict fenced_update::judge(std::uint64_t affected, rows counted) noexcept {
  if (affected > 0) return verdict::written;
  return counted == rows::found ? verdict::refused : verdict::ask;
}

}  // namespace dlock
