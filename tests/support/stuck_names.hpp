// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Names that can't be looked up. This program's own getaddrinfo() takes the place of the system's: a name that ends in
/// ".test" is this host, or is stuck. For one source of a program.

#include <dlfcn.h>
#include <netdb.h>

#include <atomic>
#include <chrono>
#include <string_view>
#include <thread>

namespace dlock::test {

std::atomic<bool> names_stuck{false};
std::atomic<int> names_waiting{0};

}  // namespace dlock::test

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found) {
  using namespace dlock::test;
  using function = int (*)(const char*, const char*, const addrinfo*, addrinfo**);
  static const auto real = reinterpret_cast<function>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  const std::string_view name = node == nullptr ? "" : node;
  if (!name.ends_with(".test")) return real(node, service, hints, found);
  if (hints != nullptr && (hints->ai_flags & AI_NUMERICHOST) != 0) return EAI_NONAME;
  ++names_waiting;
  while (names_stuck) std::this_thread::sleep_for(std::chrono::milliseconds{1});
  --names_waiting;
  return real("127.0.0.1", service, hints, found);
}
