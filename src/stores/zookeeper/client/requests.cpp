// SPDX-License-Identifier: BSL-1.0

/// What a handle sends, and how the library hands in the answers.

#include <algorithm>
#include <exception>
#include <memory>
#include <utility>

#include "stores/zookeeper/client/handle.hpp"

namespace dlock::stores::zookeeper {

namespace {

/// `fill(answer)` copies the parts. No exception passes through the library, whose threads call this.
template <class Fill>
void tell(const void* about, int code, Fill&& fill) noexcept {
  const std::unique_ptr<const on_answer> owned(static_cast<const on_answer*>(about));
  try {
    answer response{.code = code};
    fill(response);
    (*owned)(std::move(response));
  } catch (const std::exception&) {
    // Without memory no caller is notified, as if there had been no answer.
  }
}

std::uint64_t created(const Stat* stat) noexcept {
  return stat == nullptr ? 0 : static_cast<std::uint64_t>(stat->czxid);
}

void on_created(int code, const char* path, const Stat* stat, const void* about) {
  tell(about, code, [&](answer& response) {
    if (path != nullptr) response.text = path;
    response.created = created(stat);
  });
}
void on_done(int code, const void* about) {
  tell(about, code, [](answer&) {});
}
void on_text(int code, const char*, const void* about) { on_done(code, about); }
void on_data(int code, const char* data, int size, const Stat* stat, const void* about) {
  tell(about, code, [&](answer& response) {
    if (data != nullptr && size > 0) response.text.assign(data, static_cast<std::size_t>(size));
    response.created = created(stat);
  });
}
void on_names(int code, const String_vector* names, const void* about) {
  tell(about, code, [&](answer& response) {
    if (names != nullptr) response.names.assign(names->data, names->data + names->count);
  });
}

}  // namespace

template <class Call>
void zookeeper_handle::send(on_answer done, Call&& call) {
  auto owned = std::make_unique<on_answer>(std::move(done));
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

void zookeeper_handle::create(const std::string& path, const std::string& data, int mode, on_answer done) {
  send(std::move(done), [&](zhandle_t* on, const void* about) {
    return ::zoo_acreate2(on, path.c_str(), data.data(), static_cast<int>(data.size()), rights_, mode, on_created,
                          about);
  });
}

void zookeeper_handle::remove(const std::string& path, on_answer done) {
  send(std::move(done),
       [&](zhandle_t* on, const void* about) { return ::zoo_adelete(on, path.c_str(), -1, on_done, about); });
}

void zookeeper_handle::list(const std::string& path, on_answer done) {
  send(std::move(done),
       [&](zhandle_t* on, const void* about) { return ::zoo_aget_children(on, path.c_str(), 0, on_names, about); });
}

void zookeeper_handle::read(const std::string& path, on_answer done) {
  send(std::move(done),
       [&](zhandle_t* on, const void* about) { return ::zoo_aget(on, path.c_str(), 0, on_data, about); });
}

void zookeeper_handle::read_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener,
                                      on_answer done) {
  {
    const base::lock_guard lock(mutex_);
    auto& listeners = watched_[path];
    // Waiters that have gone: many wait for a node that is held for long, one after the other.
    std::erase_if(listeners, [&](const auto& each) { return each.expired() || each.lock() == listener; });
    listeners.push_back(listener);
  }
  const auto known = [this, path, listener, done = std::move(done)](answer read) {
    if (read.code != ZOK) forget(path, listener);  // nothing is watched
    done(std::move(read));
  };
  send(known, [&](zhandle_t* on, const void* about) {
    return ::zoo_awget(on, path.c_str(), on_change, this, on_data, about);
  });
}

void zookeeper_handle::sync(const std::string& path, on_answer done) {
  send(std::move(done),
       [&](zhandle_t* on, const void* about) { return ::zoo_async(on, path.c_str(), on_text, about); });
}

}  // namespace dlock::stores::zookeeper
