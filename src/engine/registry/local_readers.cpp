// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/local_readers.hpp"

#include <new>

#include "engine/registry/grant.hpp"

namespace dlock::engine {

reader_row::~reader_row() {
  if (in_ != nullptr) in_->remove(*this);
}

void local_readers::offer(const grant& first, const std::shared_ptr<reader_row>& row, instant now) noexcept {
  try {
    row->key_ = std::string(first.key.view());
    row->pin_ = first.pin.again();
    if (!row->pin_) return;
    row->nonce_ = first.nonce;
    row->fence_ = first.fence;
    row->ttl_ = first.ttl;
    row->asked_at_ = first.asked_at;
    row->until_ = now + tenure;
    const base::lock_guard lock(mutex_);
    rows_[row->key_] = row;
    row->in_ = this;
  } catch (const std::bad_alloc&) {
    // Each reader has a row of its own.
  }
}

bool local_readers::enter(grant& next, instant now) noexcept {
  std::shared_ptr<reader_row> row;  // outlives the lock, which its destructor takes
  {
    const base::lock_guard lock(mutex_);
    const auto found = rows_.find(next.key.view());
    if (found != rows_.end()) row = found->second.lock();
  }
  if (row == nullptr || now >= row->until_ || row->ttl_ != next.ttl) return false;
  auto pin = row->pin_.again();
  if (!pin || !row->enter()) return false;
  next.pin = std::move(pin);
  next.nonce = row->nonce_;
  next.fence = row->fence_;
  next.asked_at = row->asked_at_;
  next.reader = std::move(row);
  return true;
}

void local_readers::remove(reader_row& row) noexcept {
  const base::lock_guard lock(mutex_);
  // A later row may have taken its place.
  if (const auto found = rows_.find(row.key_); found != rows_.end() && found->second.expired()) rows_.erase(found);
}

}  // namespace dlock::engine
