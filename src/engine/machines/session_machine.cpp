// SPDX-License-Identifier: BSL-1.0
#include "engine/machines/session_machine.hpp"

#include <algorithm>

namespace dlock::engine {

using std::chrono::microseconds;
using namespace std::chrono_literals;

session_machine::session_machine(microseconds ttl, microseconds margin, instant opened_sent) noexcept
    : ttl_(ttl), margin_(margin), due_(opened_sent + ttl / 3), deadline_(opened_sent + ttl - margin) {}

session_machine::verdict session_machine::renewed(outcome answer, instant sent, instant now) noexcept {
  // Rule 4: a reply after the deadline revives nothing. Rule 3: a refusal ends it at once.
  if (at(now) == verdict::over) return verdict::over;
  if (answer == outcome::yes) {
    deadline_ = std::max(deadline_, sent + ttl_ - margin_);
    due_ = sent + ttl_ / 3;
    return verdict::live;
  }
  if (answer == outcome::unknown || answer == outcome::failed) {
    due_ = now + std::clamp<microseconds>(ttl_ / 20, 20ms, 1s);
    return verdict::late;
  }
  over_ = true;
  return verdict::over;
}

void session_machine::hurry(instant now) noexcept { due_ = std::min(due_, now); }

session_machine::verdict session_machine::at(instant now) noexcept {
  if (now >= deadline_) over_ = true;
  return over_ ? verdict::over : verdict::live;
}

microseconds margin_for(microseconds ttl, microseconds set) noexcept {
  if (set.count() > 0) return std::min(set, ttl / 4);
  return std::max<microseconds>(std::min<microseconds>(50ms, ttl / 4), ttl / 20);
}

}  // namespace dlock::engine
