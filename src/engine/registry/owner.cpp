// SPDX-License-Identifier: BSL-1.0
#include "dlock/owner.hpp"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "base/text.hpp"
#include "dlock/error.hpp"
#include "engine/registry/fork_guard.hpp"
#include "engine/registry/owner_state.hpp"

namespace dlock {

namespace detail {

/// A thread's data about owners. It has no destructor, because destructors of the thread's other objects, and of static
/// objects, may still lock and release after it.
struct thread_owner {
  using state = std::shared_ptr<engine::owner_state>;
  state* own = nullptr;  // on the heap
  owner_scope* innermost = nullptr;
  bool ended = false;  // the thread has ended, and its own objects are being destroyed

  const state& current();
  void abandon(bool main) const noexcept;
  static const state& alive(state& owner);
};

namespace {

constinit thread_local thread_owner of_thread{};
constinit std::atomic<engine::thread_end_call> at_thread_end{nullptr};

/// Runs at the end of a thread, and at the beginning of exit().
struct thread_end {
  bool here = true;
  ~thread_end() {
    const bool main = ::getpid() == static_cast<pid_t>(::syscall(SYS_gettid));
    of_thread.abandon(main);
    // The main thread's owner stays, because static objects may hold locks in its name, and release them later.
    if (!main) delete std::exchange(of_thread.own, nullptr);
    of_thread.ended = true;
  }
};
thread_local thread_end at_end{};

/// A thread may make an owner after its end. The destructor of a POSIX key, which runs after those of all thread_local
/// objects, frees that owner.
void end_again(void* /*unused*/) noexcept {
  of_thread.abandon(false);
  delete std::exchange(of_thread.own, nullptr);
}

void call_end_again() noexcept {
  static pthread_key_t key{};
  static const bool made = ::pthread_key_create(&key, &end_again) == 0;
  // Without the key, 80 bytes are lost for each thread that still locks then.
  if (made) ::pthread_setspecific(key, &of_thread);
}

}  // namespace

/// If exit() was called inside them, calls and scopes still exist.
void thread_owner::abandon(bool main) const noexcept {
  const auto end = at_thread_end.load();
  if (end == nullptr) return;  // there was never a service
  const auto leave = [end](const state& owner, bool all) {
    if (owner->generation == engine::fork_generation()) end(*owner, all);
  };
  for (const auto* scope = innermost; scope != nullptr; scope = scope->before_) leave(scope->who_.state_, false);
  if (own != nullptr) leave(*own, main);
}

const thread_owner::state& thread_owner::current() {
  if (innermost != nullptr) return alive(innermost->who_.state_);
  if (own == nullptr) {
    if (ended) {
      call_end_again();
    } else {
      static_cast<void>(at_end.here);  // makes it
    }
    own = new state(std::make_shared<engine::owner_state>());
  }
  return alive(*own);
}

/// A forked child owns nothing, and does not even touch the memory of what its parent holds.
const thread_owner::state& thread_owner::alive(state& owner) {
  if (owner->generation != engine::fork_generation()) {
    const std::string id = owner->request_id;
    static_cast<void>(new state(std::move(owner)));
    // A request is the same in both processes; the store must report what the parent holds in its name.
    owner = id.empty() ? std::make_shared<engine::owner_state>() : engine::owner_of_request(id);
  }
  return owner;
}

}  // namespace detail

namespace engine {

const std::shared_ptr<owner_state>& current_owner() { return detail::of_thread.current(); }

bool in_owner_scope() noexcept { return detail::of_thread.innermost != nullptr; }

bool is_own_owner(const owner_state& who) noexcept {
  return detail::of_thread.own != nullptr && detail::of_thread.own->get() == &who;
}

void call_at_thread_end(thread_end_call what) noexcept { detail::at_thread_end.store(what); }

namespace {

class request_owners {
 public:
  std::shared_ptr<owner_state> find(std::string_view id) {
    const base::lock_guard lock(mutex_);
    const auto at = known_.find(id);
    if (at != known_.end()) {
      if (auto known = at->second.lock()) return known;
    }
    auto made = std::make_shared<owner_state>(std::string(id));
    if (at != known_.end()) {
      at->second = made;
    } else {
      forget_gone();
      known_.emplace(id, made);
    }
    return made;
  }

 private:
  /// Checks two other entries for each new one.
  void forget_gone() DLOCK_REQUIRES(mutex_) {
    if (known_.size() < enough_) return;
    std::erase_if(known_, [](const auto& each) { return each.second.expired(); });
    enough_ = std::max<std::size_t>(64, 2 * known_.size());
  }

  base::mutex mutex_;
  std::map<std::string, std::weak_ptr<owner_state>, std::less<>> known_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t enough_ DLOCK_GUARDED_BY(mutex_) = 64;
};

}  // namespace

std::shared_ptr<owner_state> owner_of_request(std::string_view id) {
  return one_per_process<request_owners>().find(id);
}

}  // namespace engine

owner::owner() : state_(std::make_shared<engine::owner_state>()) {}

namespace {
constexpr std::size_t longest_request_id = 64;
}  // namespace

owner::owner(std::string_view request_id) {
  const bool plain = std::all_of(request_id.begin(), request_id.end(),
                                 [](char each) { return each > ' ' && each <= '~' && each != '/'; });
  if (request_id.empty() || request_id.size() > longest_request_id || !plain) {
    throw std::invalid_argument(
        fmt::format("dlock::owner: request id '{}': 1 to {} printable ASCII characters without blanks and '/'",
                    detail::printable_text(request_id), longest_request_id));
  }
  state_ = engine::owner_of_request(request_id);
}

owner owner::current() { return owner(engine::current_owner()); }

owner_scope::owner_scope(owner who) noexcept
    : who_(std::move(who)), before_(std::exchange(detail::of_thread.innermost, this)) {
  static_cast<void>(detail::at_end.here);  // makes it
}

owner_scope::~owner_scope() { detail::of_thread.innermost = before_; }

}  // namespace dlock

namespace dlock::engine {

constinit std::atomic<unsigned> forks{0};

namespace {
void in_child() noexcept { forks.fetch_add(1, std::memory_order_relaxed); }
[[maybe_unused]] const bool installed = ::pthread_atfork(nullptr, nullptr, in_child) == 0;
}  // namespace

void throw_forked() {
  throw lock_refused(errc::forked,
                     "dlock: this lock_service was made before a fork, in the parent process; make a new one here");
}

}  // namespace dlock::engine
