// SPDX-License-Identifier: GPL-2.0-or-later
// The end of several leases at once.
#include <algorithm>
#include <new>
#include <utility>

#include "engine/engine.hpp"
#include "engine/grouped.hpp"

namespace dlock::detail {

using namespace std::chrono_literals;

namespace {
constexpr microseconds between_tries = 5ms;
}

void engine::stand(const std::vector<lease>& leases, const void* at) noexcept {
  for (const auto& one : leases) stand(one, at);
}

void engine::stand(const lease& one, const void* at) noexcept {
  if (one.first_) one.grant_->anchor.store(at, std::memory_order_relaxed);
}

bool engine::forked(const lease& of) noexcept { return of.grant_->home->forked(); }

void engine::refuse_if_forked(const lease& of) { of.grant_->home->refuse_if_forked(); }

void engine::let_go(std::vector<lease>& leases) noexcept {
  try {
    release(leases);
  } catch (const std::bad_alloc&) {
    while (!leases.empty()) leases.pop_back();
  }
}

std::vector<engine::ended> engine::release(std::vector<lease>& leases) {
  std::vector<ended> all;
  all.reserve(leases.size());
  std::vector<ended*> open;
  open.reserve(leases.size());
  for (auto at = leases.rbegin(); at != leases.rend(); ++at) {
    if (!*at) continue;
    at->reentered_ = false;
    if (std::exchange(at->first_, false)) at->grant_->anchor.store(nullptr, std::memory_order_relaxed);
    auto& one = all.emplace_back(ended{.of = std::exchange(at->grant_, nullptr)});
    auto& home = *one.of->home;
    if (home.leave(*one.of) != ending::last) {
      one.how = one.of->left(home.shared_.now()) > 0us ? freed::inner : freed::lost;
    } else if (home.begin_release(*one.of, one.trusted)) {
      one.begun = true;
      open.push_back(&one);
    } else {
      one.how = freed::lost;
    }
  }
  if (open.empty()) return all;
  const auto home = open.front()->of->home;
  home->send_releases(std::move(open));
  for (auto& each : all) {
    if (each.begun) each.how = home->end_release(*each.of, each.how, each.trusted, each.why);
  }
  return all;
}

/// Without memory the background does it.
void engine::send_releases(std::vector<ended*> open) noexcept {
  const auto begun = shared_.now();
  try {
    try_releases(open, begun + shared_.options.release_limit);
  } catch (const std::bad_alloc&) {
  }
  for (auto* const each : open) {
    each->how = freed::later;
    release_later(*each->of, begun);
  }
}

/// Leaves those that are not certainly done.
void engine::try_releases(std::vector<ended*>& open, instant until) {
  for (;;) {
    std::vector<request> asks;
    for (const auto* each : open) asks.push_back(each->of->ask(verb::release));
    std::vector<reply> answers(asks.size());
    {
      fault why;
      const auto on = shared_.pool.get(until, 0us, why);
      if (!on) {
        for (auto* const each : open) each->why = why;
        break;
      }
      statements_ += execute_grouped(*shared_.where, *on, asks, answers);
    }
    bool soon = true;
    std::size_t left = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      auto& one = *open[i];
      auto& answer = answers[i];
      if (answer.result == outcome::yes || answer.result == outcome::no) {
        // After a try without an answer, "no" may just mean that it had been done.
        one.how = answer.result == outcome::yes || one.maybe ? freed::yes : freed::lost;
        continue;
      }
      one.maybe = one.maybe || answer.result == outcome::unknown;
      one.why = std::move(answer.why);
      soon =
          soon && (answer.result == outcome::unknown || one.why.transient || one.why.contended || one.why.connection);
      open[left++] = &one;
    }
    open.resize(left);
    if (open.empty()) return;
    // Rule 6: they name session and fence, so they may be repeated.
    if (!soon || shared_.now() + between_tries >= until) break;
    std::mutex mutex;
    std::condition_variable never;
    std::unique_lock lock(mutex);
    shared_.time.wait_until(never, lock, shared_.now() + between_tries);
  }
}

}  // namespace dlock::detail
