// SPDX-License-Identifier: BSL-1.0
#pragma once

/// The application's functions that return the user and password of a new connection. A URL names one by
/// credentials=<name>.

#include <fmt/format.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/mutex.hpp"
#include "dlock/store_interface/store_url.hpp"

namespace dlock::stores {

/// The functions for one kind of store. `Login` has a user and a password.
template <class Login>
class credentials {
 public:
  using ask = std::function<Login()>;

  /// `function` is the name of the public function, for messages. Throws std::invalid_argument.
  static void set(const char* function, std::string name, ask by) {
    if (name.empty()) throw std::invalid_argument(fmt::format("dlock: {}: the name is empty", function));
    if (!by) throw std::invalid_argument(fmt::format("dlock: {}: '{}' has no function", function, name));
    auto& in = registered();
    const base::lock_guard lock(in.mutex);
    in.all[std::move(name)] = std::move(by);
  }
  /// Null if no function has that name.
  static ask find(const std::string& name) {
    auto& in = registered();
    const base::lock_guard lock(in.mutex);
    const auto found = in.all.find(name);
    return found == in.all.end() ? nullptr : found->second;
  }
  /// The name in the URL, empty if it has none. `bad` throws.
  template <class Bad>
  static std::string take(store_url& url, const char* function, const Bad& bad) {
    auto name = url.take_param("credentials");
    if (name.empty()) return name;
    if (!url.user.empty() || !url.password.empty())
      bad("credentials= takes the place of the user and the password, and the URL has one");
    if (!find(name))
      bad(fmt::format("credentials={}: this program has not called {}() with that name", name, function));
    return name;
  }

 private:
  struct registry {
    base::mutex mutex{};
    std::map<std::string, ask> all DLOCK_GUARDED_BY(mutex){};
  };
  /// Never destroyed, because static services may still connect.
  static registry& registered() {
    static auto* const instance = new registry;
    return *instance;
  }
};

}  // namespace dlock::stores
