// SPDX-License-Identifier: BSL-1.0
#include "stores/zookeeper/client/handle.hpp"

#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/signals.hpp"

namespace dlock::stores::zookeeper {
namespace {

constexpr std::uint16_t default_port = 2181;

[[noreturn]] void bad(const std::string& text) {
  throw std::invalid_argument(fmt::format("dlock: zookeeper URL: {}", text));
}

std::chrono::milliseconds take_timeout(store_url& url, const char* name) {
  return std::chrono::milliseconds{url.take_number(name, 5'000, 1, 3'600'000, "milliseconds")};
}

std::vector<std::string> servers_of(const store_url& url) {
  if (url.hosts.empty()) bad("there is no host");
  std::vector<std::string> all;
  for (const auto& host : url.hosts) {
    if (host.host.empty()) bad("a host has no name");
    const auto port = host.port == 0 ? default_port : host.port;
    const bool numbers = host.host.find(':') != std::string::npos;  // IPv6
    all.push_back(fmt::format("{}{}{}:{}", numbers ? "[" : "", host.host, numbers ? "]" : "", port));
  }
  return all;
}

/// Checks a path without a slash at its end: "" or "/a/b".
void check_path(const char* name, std::string_view path) {
  for (auto rest = path; !rest.empty();) {
    const auto part = rest.substr(1, rest.find('/', 1) - 1);
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    const bool plain = std::all_of(part.begin(), part.end(), [](char c) { return c >= ' ' && c <= '~'; });
    if (part.empty() || part == "." || part == ".." || !plain) {
      bad(fmt::format("{}={} is not a path of printable ASCII names", name, path));
    }
  }
  if (path.size() > 200) bad(fmt::format("{} has {} characters, which is more than 200", name, path.size()));
  if (path == "/zookeeper" || path.starts_with("/zookeeper/")) bad("/zookeeper belongs to the server");
}

std::string without_last_slash(std::string path) {
  if (path.ends_with('/')) path.pop_back();
  return path;
}

node_names parse_names(const std::string& text) {
  if (text == "curator") return node_names::curator;
  if (text == "curator-readwrite") return node_names::curator_readwrite;
  if (text == "curator-semaphore") return node_names::curator_semaphore;
  if (text == "kazoo") return node_names::kazoo;
  bad(fmt::format("names={} is not curator, curator-readwrite, curator-semaphore or kazoo", text));
}

}  // namespace

zookeeper_settings zookeeper_settings::parse(store_url url) {
  zookeeper_settings settings;
  settings.name = url.redacted();
  settings.servers = servers_of(url);
  if (url.user.empty() != url.password.empty()) bad("a user and a password need each other");
  if (!url.user.empty()) settings.digest = url.user + ":" + url.password;
  const auto root = without_last_slash(url.path.starts_with('/') ? url.path : "/" + url.path);
  check_path("path", root);
  const auto base = without_last_slash(url.take_param("base", "/dlock"));
  if (!base.empty() && !base.starts_with('/')) bad(fmt::format("base={} does not begin with '/'", base));
  check_path("base", base);
  settings.base = root + base;
  settings.names = parse_names(url.take_param("names", "curator"));
  settings.connect_timeout = take_timeout(url, "connect_timeout");
  settings.statement_timeout = take_timeout(url, "statement_timeout");
  url.expect_no_more_params();
  return settings;
}

namespace {

/// The servers without the one at that address; all, if there are no others or they have names.
std::vector<std::string> without(const std::vector<std::string>& servers, std::string_view one) {
  auto others = servers;
  std::erase(others, one);
  return others.empty() ? servers : others;
}

/// The servers whose names the name service knows in time, in the library's form. The library itself would wait for the
/// name service without a limit.
std::string found(const std::vector<std::string>& servers, const zookeeper_settings& settings) {
  const auto answers = [&](const std::string& server, name_lookup::clock::time_point end) {
    auto host = server.substr(0, server.rfind(':'));
    if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
    return settings.names_of_hosts->answers(host, end, {});
  };
  for (const auto& each : servers) answers(each, {});  // all at the same time
  const auto end = name_lookup::clock::now() + settings.connect_timeout / 2;
  auto known = servers;
  std::erase_if(known, [&](const std::string& each) { return !answers(each, end); });
  return fmt::format("{}", fmt::join(known, ","));
}

/// An address without a server. The library compares addresses without their ports, so with an address that the server
/// may have, such as 127.0.0.1, it would stay.
constexpr const char* nowhere = "127.255.255.254:1";

/// Keeps the library's messages out of the application's standard error.
void say_nothing(const char*) {}

void tell_each(const std::vector<std::weak_ptr<node_listener>>& listeners) noexcept {
  for (const auto& each : listeners) {
    try {
      if (const auto listener = each.lock()) listener->changed();
    } catch (const std::exception&) {
      // Without memory it is not notified; the waiter polls.
    }
  }
}

}  // namespace

zookeeper_handle::zookeeper_handle(const zookeeper_settings& settings, std::chrono::milliseconds session_timeout,
                                   std::function<void()> on_loss)
    : process_(::getpid()),
      settings_(settings),
      asked_ms_(static_cast<int>(std::min<long>(session_timeout.count(), std::numeric_limits<int>::max() / 2))),
      rights_(settings.digest.empty() ? &ZOO_OPEN_ACL_UNSAFE : &ZOO_CREATOR_ALL_ACL),
      on_loss_(std::move(on_loss)) {
  const std::unique_lock lock(closing_);  // events wait until the handle is stored
  native_ = make_native(settings.servers, nullptr);
  if (native_ == nullptr) {
    // The library leaves this errno if the name service knows none of the hosts.
    const char* const reason = errno == ENOENT ? "the name service knows no host of that name" : std::strerror(errno);
    throw std::runtime_error(fmt::format("{}: {}", fmt::join(settings.servers, ","), reason));
  }
}

zhandle_t* zookeeper_handle::make_native(const std::vector<std::string>& servers, const clientid_t* session) {
  const base::no_signals here;  // for the library's own threads, which inherit it
  const auto known = found(servers, settings_);
  if (known.empty()) throw std::runtime_error("the name service does not answer in time");
  auto* const made = ::zookeeper_init2(known.c_str(), on_event, asked_ms_, session, this, 0, say_nothing);
  if (made == nullptr) return nullptr;
  // Otherwise the library would look up all names each time that it does something.
  constexpr int minute = 60'000;
  ::zoo_set_servers_resolution_delay(made, minute);
  const auto& digest = settings_.digest;
  if (!digest.empty()) {
    ::zoo_add_auth(made, "digest", digest.data(), static_cast<int>(digest.size()), nullptr, nullptr);
  }
  return made;
}

zookeeper_handle::~zookeeper_handle() {
  if (ours()) {
    close();
  } else {
    // Their destructors would wait for threads that the child does not have.
    static_cast<void>(new (std::nothrow) std::vector<std::future<void>>(std::move(leaving_)));
  }
}

bool zookeeper_handle::ours() const noexcept { return ::getpid() == process_; }

void zookeeper_handle::reconnect() noexcept {
  if (!ours()) return;
  try {
    const zhandle_t* from = nullptr;
    clientid_t session{};
    std::string current;
    {
      const std::shared_lock lock(closing_);
      if (native_ == nullptr || over()) return;
      from = native_;
      session = *::zoo_client_id(native_);
      if (const auto* const server = ::zoo_get_current_server(native_)) current = server;
    }
    if (session.client_id == 0) return;
    // With the mutex unlocked, because it looks up names.
    auto* const made = make_native(without(settings_.servers, current), &session);
    if (made == nullptr) return;
    zhandle_t* retired = made;
    int now = 0;
    {
      const std::unique_lock lock(closing_);
      if (native_ == from && !over()) {
        retired = std::exchange(native_, made);
        moved_ = true;
        set_state(state::connecting, ZOK);
        now = ::zoo_state(made);  // what it reported before was ignored
      }
    }
    if (now == ZOO_CONNECTED_STATE || now == ZOO_EXPIRED_SESSION_STATE || now == ZOO_AUTH_FAILED_STATE) now_is(now);
    leave(retired);
  } catch (const std::exception&) {
    // If memory runs out, it stays at its server.
  }
}

/// Destroys a handle without ending its session.
void zookeeper_handle::leave(zhandle_t* retired) noexcept {
  try {
    const base::lock_guard lock(mutex_);
    std::erase_if(leaving_,
                  [](auto& each) { return each.wait_for(std::chrono::seconds{0}) == std::future_status::ready; });
    leaving_.reserve(leaving_.size() + 1);
    stuck_.reserve(stuck_.size() + 1);
    // Closing a connected handle would end the session. With other servers to go to, it closes its connection at once.
    const bool left_it = ::zoo_set_servers(retired, nowhere) == ZOK && ::zoo_state(retired) != ZOO_CONNECTED_STATE;
    if (!left_it) return stuck_.push_back(retired);
    try {
      leaving_.push_back(std::async(std::launch::async, [retired] { ::zookeeper_close(retired); }));
    } catch (const std::system_error&) {
      stuck_.push_back(retired);  // threads ran out
    }
  } catch (const std::exception&) {
    // If memory runs out, it is never destroyed.
  }
}

/// Destroys the old handles after the session has ended or is not needed any more.
void zookeeper_handle::end_retired() noexcept {
  std::vector<std::future<void>> leaving;  // its destructor waits
  std::vector<zhandle_t*> stuck;
  {
    const base::lock_guard lock(mutex_);
    leaving_.swap(leaving);
    stuck_.swap(stuck);
  }
  for (auto* const each : stuck) ::zookeeper_close(each);
}

bool zookeeper_handle::close() noexcept {
  // In a child of fork() the library's threads don't exist, and the session belongs to the parent.
  if (!ours()) return false;
  const bool reached = connected();
  set_state(state::over, ZCLOSING);  // before a thread finds the handle closed
  zhandle_t* closed = nullptr;
  {
    const std::unique_lock lock(closing_);
    closed = std::exchange(native_, nullptr);
  }
  const bool acknowledged = closed == nullptr || (::zookeeper_close(closed) == ZOK && reached);
  end_retired();
  watch_again();  // so that remaining listeners learn that it is over
  return acknowledged;
}

// ---- the library's callbacks ----------------------------------------------------------------------------------------

void zookeeper_handle::on_event(zhandle_t* from, int type, int now, const char*, void* about) {
  if (type != ZOO_SESSION_EVENT) return;
  auto& mine = *static_cast<zookeeper_handle*>(about);
  {
    const std::shared_lock lock(mine.closing_);
    if (from != mine.native_) return;  // from a handle that was left
  }
  mine.now_is(now);
}

void zookeeper_handle::now_is(int native_state) {
  if (native_state == ZOO_CONNECTED_STATE) {
    set_state(state::connected, ZOK);
    if (moved_.exchange(false)) watch_again();
  } else if (native_state == ZOO_EXPIRED_SESSION_STATE || native_state == ZOO_AUTH_FAILED_STATE) {
    const auto before = set_state(state::over, native_state == ZOO_AUTH_FAILED_STATE ? ZAUTHFAILED : ZSESSIONEXPIRED);
    watch_again();  // so that a new call learns that it is over
    if (before != state::over && on_loss_) on_loss_();
  } else if (set_state(state::connecting, ZOK) == state::connected && on_loss_) {
    on_loss_();
  }
}

zookeeper_handle::state zookeeper_handle::set_state(state to, int code) noexcept {
  auto before = state::over;
  try {
    std::map<std::uint64_t, on_answer> waiting;
    {
      const base::lock_guard lock(mutex_);
      before = state_;
      if (before == state::over) return before;
      state_ = to;
      if (to != state::connecting) waiting.swap(waiting_);
    }
    for (auto& [number, each] : waiting) each({.code = code});
  } catch (const std::exception&) {
    // As if there had been no answer.
  }
  return before;
}

void zookeeper_handle::on_change(zhandle_t*, int type, int, const char* path, void* about) {
  // The watch is also called for each change of the connection, which it survives.
  if (type == ZOO_SESSION_EVENT) return;
  auto& mine = *static_cast<zookeeper_handle*>(about);
  std::vector<std::weak_ptr<node_listener>> listeners;
  {
    const base::lock_guard lock(mine.mutex_);
    const auto at = mine.watched_.find(std::string_view(path));
    if (at == mine.watched_.end()) return;
    listeners = std::move(at->second);
    mine.watched_.erase(at);
  }
  tell_each(listeners);
}

void zookeeper_handle::watch_again() {
  std::map<std::string, std::vector<std::weak_ptr<node_listener>>, std::less<>> all;
  {
    const base::lock_guard lock(mutex_);
    all.swap(watched_);
  }
  for (const auto& [path, listeners] : all) tell_each(listeners);
}

// ---- what it knows --------------------------------------------------------------------------------------------------

std::uint64_t zookeeper_handle::when_connected(on_answer done) {
  {
    const base::lock_guard lock(mutex_);
    if (state_ == state::connecting) {
      waiting_.emplace(++last_waiting_, std::move(done));
      return last_waiting_;
    }
  }
  done({.code = over() ? ZSESSIONEXPIRED : ZOK});
  return 0;
}

void zookeeper_handle::stop_waiting(std::uint64_t number) noexcept {
  const base::lock_guard lock(mutex_);
  waiting_.erase(number);
}

std::size_t zookeeper_handle::waiting() {
  const base::lock_guard lock(mutex_);
  return waiting_.size();
}

std::chrono::milliseconds zookeeper_handle::timeout() {
  const std::shared_lock lock(closing_);
  return std::chrono::milliseconds{native_ == nullptr ? 0 : ::zoo_recv_timeout(native_)};
}

void zookeeper_handle::forget(const std::string& path, const std::shared_ptr<node_listener>& listener) {
  const base::lock_guard lock(mutex_);
  const auto at = watched_.find(path);
  if (at == watched_.end()) return;
  std::erase_if(at->second, [&](const auto& each) { return each.lock() == listener; });
  if (at->second.empty()) watched_.erase(at);
}

// ---- what it sends, and how the library hands in the answers -------------------------------------------------------

namespace {

/// `fill(answer)` copies the parts. No exception may pass through the library, whose threads call this.
template <class Fill>
void tell(const void* about, int code, Fill&& fill) noexcept {
  const std::unique_ptr<const on_answer> owned(static_cast<const on_answer*>(about));
  try {
    answer response{.code = code};
    fill(response);
    (*owned)(std::move(response));
  } catch (const std::exception&) {
    // If memory runs out, no caller is notified, as if there had been no answer.
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
    static_cast<void>(owned.release());  // tell() owns it
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

on_answer zookeeper_handle::watched(const std::string& path, const std::shared_ptr<node_listener>& listener,
                                    on_answer done) {
  const base::lock_guard lock(mutex_);
  auto& listeners = watched_[path];
  // Removes waiters that have left, because many wait one after the other for a node that is held for long.
  std::erase_if(listeners, [&](const auto& each) { return each.expired() || each.lock() == listener; });
  listeners.push_back(listener);
  return [this, path, listener, done = std::move(done)](answer read) {
    if (read.code != ZOK) forget(path, listener);  // the server set no watch
    done(std::move(read));
  };
}

void zookeeper_handle::read_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener,
                                      on_answer done) {
  send(watched(path, listener, std::move(done)), [&](zhandle_t* on, const void* about) {
    return ::zoo_awget(on, path.c_str(), on_change, this, on_data, about);
  });
}

void zookeeper_handle::list_and_watch(const std::string& path, const std::shared_ptr<node_listener>& listener,
                                      on_answer done) {
  send(watched(path, listener, std::move(done)), [&](zhandle_t* on, const void* about) {
    return ::zoo_awget_children(on, path.c_str(), on_change, this, on_names, about);
  });
}

void zookeeper_handle::sync(const std::string& path, on_answer done) {
  send(std::move(done),
       [&](zhandle_t* on, const void* about) { return ::zoo_async(on, path.c_str(), on_text, about); });
}

void zookeeper_handle::sync_and_list(const std::string& path, on_answer done) {
  sync(path, [this, path, done = std::move(done)](answer synced) {
    if (synced.code != ZOK) return done({.code = synced.code});
    list(path, done);
  });
}

}  // namespace dlock::stores::zookeeper
