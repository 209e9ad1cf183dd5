// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/lingering_keys.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "engine/machines/starvation.hpp"

namespace dlock::engine {

bool lingering_keys::keep(const std::shared_ptr<grant>& ended, instant now) noexcept {
  if (ended->linger.count() == 0) return false;
  try {
    if (!enter(ended, now)) return false;
  } catch (const std::exception&) {  // no memory: it is freed as usual
    return false;
  }
  // A session that ends first ends its deadline, and then asks for each of its grants.
  return ended->pin->deadline.remaining(now) > microseconds{0} || !remove(*ended);
}

bool lingering_keys::enter(const std::shared_ptr<grant>& ended, instant now) {
  bool watches = false;
  {
    const base::lock_guard lock(mutex_);
    const auto found = keys_.find(ended->key);
    if (found != keys_.end() && found->second.nonce == ended->nonce) {
      auto& here = found->second;
      if (closed_ || here.wanted || now - here.begun >= longest_tenure) {
        erase(found);
        return false;
      }
      here.idle = ended;
      here.ends = now + ended->linger;
      return true;
    }
    if (closed_ || found != keys_.end() || keys_.size() >= most) return false;
    // It had to wait for the key, so others may wait as well. The release looks for them.
    if (promises_to_look(ended->nonce)) return false;
    watches = !watched_;
    if (!watches) {
      keys_.emplace(ended->key, tenure{.idle = ended,
                                       .nonce = ended->nonce,
                                       .session = ended->pin->id,
                                       .begun = now,
                                       .ends = now + ended->linger});
      size_ = keys_.size();
      used_ = true;
      look_by_ = std::min(look_by_, now + between_looks);
      if (wakes_ != nullptr && (keys_.size() == 1 || look_by_ == now + between_looks)) wakes_->wake();
      return true;
    }
    watched_ = true;
  }
  try {
    watches_();
  } catch (...) {
    const base::lock_guard lock(mutex_);
    watched_ = false;
    throw;
  }
  return enter(ended, now);
}

void lingering_keys::erase(key_map::iterator at) noexcept {
  keys_.erase(at);
  size_ = keys_.size();
}

std::shared_ptr<grant> lingering_keys::take(const lock_key& key) noexcept {
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(key);
  return found != keys_.end() ? std::move(found->second.idle) : nullptr;
}

std::uint64_t lingering_keys::next_range(const lock_key& key) noexcept {
  constexpr std::uint64_t first = 16, longest = 65'536;
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(key);
  if (found == keys_.end()) return first;
  auto& range = found->second.range;
  range = range == 0 ? first : std::min(16 * range, longest);
  return range;
}

bool lingering_keys::remove(const grant& lost) noexcept {
  if (empty()) return false;
  std::shared_ptr<grant> idle;  // destroyed without the lock
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(lost.key);
  if (found == keys_.end() || found->second.idle.get() != &lost) return false;
  idle = std::move(found->second.idle);
  erase(found);
  return true;
}

void lingering_keys::forget(const grant& ended) noexcept {
  if (empty()) return;
  const base::lock_guard lock(mutex_);
  const auto found = keys_.find(ended.key);
  if (found != keys_.end() && found->second.nonce == ended.nonce && found->second.idle == nullptr) erase(found);
}

std::vector<std::shared_ptr<grant>> lingering_keys::close() {
  {
    const base::lock_guard lock(mutex_);
    closed_ = true;
  }
  return give_up([](const lock_key&) { return true; }, instant::max());
}

std::size_t lingering_keys::idle() const noexcept {
  const base::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(keys_.begin(), keys_.end(), [](const auto& each) { return each.second.idle != nullptr; }));
}

void lingering_keys::wake_by(waker* wakes) noexcept {
  const base::lock_guard lock(mutex_);
  wakes_ = wakes;
  watched_ = wakes != nullptr;
}

void lingering_keys::look_now(bool rung) noexcept {
  const base::lock_guard lock(mutex_);
  rung_ = rung_ || rung;
  look_by_ = instant::min();
  if (wakes_ != nullptr) wakes_->wake();
}

instant lingering_keys::next() const noexcept {
  const base::lock_guard lock(mutex_);
  if (keys_.empty()) return instant::max();
  auto next = look_by_;
  for (const auto& [key, here] : keys_) {
    if (here.idle != nullptr) next = std::min(next, here.ends);
  }
  return next;
}

lingering_keys::reason lingering_keys::begin_look(instant now) noexcept {
  const base::lock_guard lock(mutex_);
  if (look_by_ > now) return reason::none;
  look_by_ = instant::max();
  return std::exchange(rung_, false) ? reason::rung : reason::looks;
}

void lingering_keys::look_later(instant when) noexcept {
  const base::lock_guard lock(mutex_);
  if (!keys_.empty()) look_by_ = std::min(look_by_, when);
}

std::vector<lingering_keys::kept_key> lingering_keys::all() const {
  std::vector<kept_key> found;
  {
    const base::lock_guard lock(mutex_);
    found.reserve(keys_.size());
    for (const auto& [key, here] : keys_) found.push_back({key, here.session});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.key.view() < b.key.view(); });
  return found;
}

std::vector<std::shared_ptr<grant>> lingering_keys::give_up(const std::function<bool(const lock_key&)>& wanted,
                                                            instant now) {
  std::vector<std::shared_ptr<grant>> found;
  const base::lock_guard lock(mutex_);
  found.reserve(keys_.size());
  for (auto at = keys_.begin(); at != keys_.end();) {
    auto& here = at->second;
    here.wanted = here.wanted || wanted(at->first);
    const auto next = std::next(at);
    if (here.idle != nullptr && (here.wanted || now >= here.ends)) {
      found.push_back(std::move(here.idle));
      erase(at);
    }
    at = next;
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a->key.view() < b->key.view(); });
  return found;
}

}  // namespace dlock::engine
