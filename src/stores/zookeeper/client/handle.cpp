// SPDX-License-Identifier: GPL-2.0-or-later
#include "stores/zookeeper/client/handle.hpp"

#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace dlock::stores::zookeeper {

namespace {

/// The library's own threads get none of the application's signals.
class no_signals {
 public:
  no_signals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  no_signals(const no_signals&) = delete;
  no_signals& operator=(const no_signals&) = delete;

 private:
  sigset_t before_{};
};

/// What the library has to say is no business of the application's standard error.
void say_nothing(const char*) {}

/// No exception passes through the library, whose threads call this.
void tell(const void* about, answer told) noexcept {
  const std::unique_ptr<const on_answer> owned(static_cast<const on_answer*>(about));
  try {
    (*owned)(std::move(told));
  } catch (const std::exception&) {
    // Without memory nobody is told: as if there had been no answer.
  }
}

std::uint64_t created(const Stat* stat) noexcept {
  return stat == nullptr ? 0 : static_cast<std::uint64_t>(stat->czxid);
}

void on_created(int code, const char* path, const Stat* stat, const void* about) {
  tell(about, {.code = code, .text = path == nullptr ? "" : path, .created = created(stat)});
}
void on_done(int code, const void* about) { tell(about, {.code = code}); }
void on_text(int code, const char*, const void* about) { tell(about, {.code = code}); }
void on_data(int code, const char* data, int size, const Stat* stat, const void* about) {
  std::string text;
  if (data != nullptr && size > 0) text.assign(data, static_cast<std::size_t>(size));
  tell(about, {.code = code, .text = std::move(text), .created = created(stat)});
}
void on_names(int code, const String_vector* names, const void* about) {
  answer told{.code = code};
  if (names != nullptr) told.names.assign(names->data, names->data + names->count);
  tell(about, std::move(told));
}

}  // namespace

zookeeper_handle::zookeeper_handle(const zookeeper_settings& settings, std::chrono::milliseconds session_timeout)
    : process_(::getpid()), rights_(settings.digest.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL) {
  constexpr long longest = std::numeric_limits<int>::max() / 2;
  const auto asked = static_cast<int>(std::min<long>(session_timeout.count(), longest));
  const no_signals here;
  const std::unique_lock lock(closing_);  // events come when it is known
  native_ = ::zookeeper_init2(settings.ensemble.c_str(), on_event, asked, nullptr, this, 0, say_nothing);
  if (native_ == nullptr) {
    throw std::runtime_error(fmt::format("{}: {}", settings.ensemble, std::strerror(errno)));
  }
  if (!settings.digest.empty()) {
    ::zoo_add_auth(native_, "digest", settings.digest.data(), static_cast<int>(settings.digest.size()), nullptr,
                   nullptr);
  }
}

bool zookeeper_handle::close() noexcept {
  zhandle_t* closed = nullptr;
  {
    const std::unique_lock lock(closing_);
    closed = std::exchange(native_, nullptr);
  }
  if (closed == nullptr) return true;
  // In a child of fork() neither the library's threads exist nor is the session ours to end.
  if (::getpid() != process_) return false;
  const bool reached = connected();
  turn(state::over, ZCLOSING);
  return ::zookeeper_close(closed) == ZOK && reached;
}

// ---- what the library tells -----------------------------------------------------------------------------------------

void zookeeper_handle::on_event(zhandle_t*, int type, int now, const char*, void* about) {
  if (type != ZOO_SESSION_EVENT) return;
  auto& mine = *static_cast<zookeeper_handle*>(about);
  if (now == ZOO_CONNECTED_STATE) {
    mine.turn(state::connected, ZOK);
  } else if (now == ZOO_EXPIRED_SESSION_STATE || now == ZOO_AUTH_FAILED_STATE) {
    mine.turn(state::over, now == ZOO_AUTH_FAILED_STATE ? ZAUTHFAILED : ZSESSIONEXPIRED);
  } else {
    mine.turn(state::connecting, ZOK);
  }
}

void zookeeper_handle::turn(state to, int code) noexcept {
  try {
    std::vector<on_answer> told;
    {
      const base::lock_guard lock(mutex_);
      if (state_ == state::over) return;
      state_ = to;
      if (to != state::connecting) told.swap(waiting_);
    }
    for (auto& each : told) each({.code = code});
  } catch (const std::exception&) {
    // As if there had been no answer.
  }
}

void zookeeper_handle::on_change(zhandle_t*, int type, int, const char*, void* about) {
  // Told of each change of the connection too: it goes on watching through that.
  if (type == ZOO_SESSION_EVENT) return;
  auto& entry = *static_cast<watched*>(about);
  auto& mine = *entry.owner;
  std::unique_ptr<watched> found;
  {
    const base::lock_guard lock(mine.mutex_);
    const auto at = mine.watched_.find(entry.path);
    if (at == mine.watched_.end() || at->second.get() != &entry) return;
    found = std::move(at->second);
    mine.watched_.erase(at);
  }
  for (const auto& each : found->listeners) {
    try {
      if (const auto listener = each.lock()) listener->changed();
    } catch (const std::exception&) {
      // Without memory it is not told; who waits looks from time to time.
    }
  }
}

// ---- requests -------------------------------------------------------------------------------------------------------

void zookeeper_handle::when_connected(on_answer told) {
  {
    const base::lock_guard lock(mutex_);
    if (state_ == state::connecting) {
      waiting_.push_back(std::move(told));
      return;
    }
  }
  told({.code = over() ? ZSESSIONEXPIRED : ZOK});
}

std::chrono::milliseconds zookeeper_handle::timeout() {
  const std::shared_lock lock(closing_);
  return std::chrono::milliseconds{native_ == nullptr ? 0 : ::zoo_recv_timeout(native_)};
}

template <class Call>
void zookeeper_handle::send(on_answer told, Call&& call) {
  auto owned = std::make_unique<on_answer>(std::move(told));
  int code = ZCLOSING;
  {
    const std::shared_lock lock(closing_);
    if (native_ != nullptr) code = call(native_, owned.get());
  }
  if (code == ZOK) {
    static_cast<void>(owned.release());  // tell() has it
  } else {
    (*owned)({.code = code});
  }
}

void zookeeper_handle::create(const std::string& path, const std::string& data, int mode, on_answer told) {
  send(std::move(told), [&](zhandle_t* on, const void* about) {
    return ::zoo_acreate2(on, path.c_str(), data.data(), static_cast<int>(data.size()), rights_, mode, on_created,
                          about);
  });
}

void zookeeper_handle::remove(const std::string& path, on_answer told) {
  send(std::move(told),
       [&](zhandle_t* on, const void* about) { return ::zoo_adelete(on, path.c_str(), -1, on_done, about); });
}

void zookeeper_handle::list(const std::string& path, on_answer told) {
  send(std::move(told),
       [&](zhandle_t* on, const void* about) { return ::zoo_aget_children(on, path.c_str(), 0, on_names, about); });
}

void zookeeper_handle::read(const std::string& path, on_answer told) {
  send(std::move(told),
       [&](zhandle_t* on, const void* about) { return ::zoo_aget(on, path.c_str(), 0, on_data, about); });
}

void zookeeper_handle::read_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener,
                                      on_answer told) {
  watched* entry = nullptr;
  {
    const base::lock_guard lock(mutex_);
    auto& slot = watched_[path];
    if (slot == nullptr) slot = std::make_unique<watched>(watched{this, path, {}});
    // Those who have gone: a node that is held for long is waited for by many, one after the other.
    std::erase_if(slot->listeners, [](const auto& each) { return each.expired(); });
    slot->listeners.push_back(listener);
    entry = slot.get();
  }
  send(std::move(told), [&](zhandle_t* on, const void* about) {
    return ::zoo_awget(on, path.c_str(), on_change, entry, on_data, about);
  });
}

void zookeeper_handle::sync(const std::string& path, on_answer told) {
  send(std::move(told),
       [&](zhandle_t* on, const void* about) { return ::zoo_async(on, path.c_str(), on_text, about); });
}

}  // namespace dlock::stores::zookeeper
