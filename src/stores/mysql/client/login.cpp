// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/login.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>

#include "base/mutex.hpp"
#include "stores/mysql/client/errors.hpp"
#include "stores/mysql/client/io_bound.hpp"

namespace dlock::stores::mysql {

using namespace std::chrono_literals;
using login_clock = std::chrono::steady_clock;

namespace {

constexpr auto final_for = 10s;

/// Whether the login was refused: access denied, or an expired password, or a locked or blocked account.
bool is_refused_login(int code) noexcept {
  constexpr std::array codes{1044, 1045, 1698, 1862, 3118, 3955, 4151};
  return std::find(codes.begin(), codes.end(), code) != codes.end();
}

fault with_pause(fault why, login_clock::duration pause) {
  why.text +=
      fmt::format("; dlock tries this login again in {} s", std::chrono::ceil<std::chrono::seconds>(pause).count());
  return why;
}

}  // namespace

/// Guarded by the book's mutex.
struct login_attempt::state {
  unsigned tries = 0;
  login_clock::time_point trusted_until{};
  login_clock::time_point refused_until{};
  fault why{};
};

struct login_attempt::book {
  const pid_t process = ::getpid();
  base::mutex mutex{};
  std::condition_variable changed{};
  std::map<std::string, std::shared_ptr<state>> states DLOCK_GUARDED_BY(mutex){};

  std::shared_ptr<state> find(const std::string& account) {
    const base::lock_guard lock(mutex);
    const auto now = login_clock::now();
    std::erase_if(states, [&](const auto& each) {
      return each.second.use_count() == 1 && each.second->trusted_until < now && each.second->refused_until < now;
    });
    auto& found = states[account];
    if (found == nullptr) found = std::make_shared<state>();
    return found;
  }
};

/// Not the parent's in a child of fork(), where its mutex may be locked and its threads are missing. Never destroyed.
login_attempt::book& login_attempt::present() {
  static std::atomic<book*> latest{nullptr};
  auto* found = latest.load();
  while (found == nullptr || found->process != ::getpid()) {
    auto made = std::make_unique<book>();
    if (latest.compare_exchange_strong(found, made.get())) return *made.release();
  }
  return *found;
}

login_attempt::login_attempt(const std::string& account) : of_(present().find(account)) {
  auto& in = present();
  base::unique_lock lock(in.mutex);
  for (;;) {
    const auto now = login_clock::now();
    if (now < of_->refused_until) {
      refusal_ = std::make_unique<const fault>(with_pause(of_->why, of_->refused_until - now));
      return;
    }
    if (of_->tries == 0 || now < of_->trusted_until) break;
    if (mysql_io_bound::over()) {
      refusal_ = std::make_unique<const fault>(
          make_own_fault("connecting: another thread's login has had no answer yet", true, true));
      return;
    }
    in.changed.wait_for(lock.native(), 20ms);
  }
  ++of_->tries;
  counts_ = true;
}

login_attempt::~login_attempt() {
  if (!counts_) return;
  auto& in = present();
  const base::lock_guard lock(in.mutex);
  --of_->tries;
  in.changed.notify_all();
}

void login_attempt::accepted() noexcept {
  const base::lock_guard lock(present().mutex);
  of_->trusted_until = login_clock::now() + final_for;
  of_->refused_until = {};
}

void login_attempt::failed(fault& why) {
  if (!is_refused_login(why.native)) return;
  const base::lock_guard lock(present().mutex);
  of_->trusted_until = {};
  of_->why = why;
  of_->refused_until = login_clock::now() + final_for;
  why = with_pause(std::move(why), final_for);
}

}  // namespace dlock::stores::mysql
