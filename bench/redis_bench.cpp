// SPDX-License-Identifier: BSL-1.0
// Acquire and release on Redis beside the same two scripts by hand, and beside the pair that most programs use: SET NX
// PX, and a script that deletes what is still theirs. On a server that writes nothing to a disk, so that the commands
// are what costs. And how long a key takes from one process to another that waits for it, where other programs may lock
// the same keys.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/dlock.hpp"
#include "hand_over.hpp"
#include "harness.hpp"
#include "placement.hpp"
#include "redis_by_hand.hpp"
#include "stores/redis/leases/scripts.hpp"
#include "support/redis_server.hpp"

namespace {

using dlock::bench::placed;
using dlock::bench::placement;
using dlock::bench::raw_connection;
using dlock::bench::set_nx;

class scripts_by_hand : raw_connection {
 public:
  explicit scripts_by_hand(const std::string& socket) : raw_connection(socket) { ask({"HSET", lock, "fence", epoch}); }

  void operator()() {
    const auto fence = ask({"EVALSHA", take_, "2", lock, index, session, next(), "", epoch, "1", "4711"});
    if (fence.empty()) throw std::runtime_error("not granted");
    if (ask({"EVALSHA", release_, "2", lock, index, session, fence, free_stays_ms, "4711", "0"}) != "1")
      throw std::runtime_error("not freed");
  }

 private:
  using script = dlock::stores::redis::leases::script;
  std::string load(script which) {
    return raw_connection::load(dlock::stores::redis::leases::scripts()[static_cast<std::size_t>(which)]);
  }

  static constexpr const char* lock = "raw:lock:4711";
  static constexpr const char* index = "raw:locks";
  static constexpr const char* free_stays_ms = "600000";
  static constexpr const char* session = "0123456789abcdef";
  static constexpr const char* epoch = "1763757575757575";
  const std::string take_ = load(script::take), release_ = load(script::release);
};

void compare(const dlock::test::redis_server& server, placement where) {
  const placed here(where, server.socket());
  dlock::lock_service locks{server.url("&persistence=none")};
  const dlock::lock_options options;
  const dlock::lock_key our_key("our:4711");
  set_nx raw(server.socket());
  scripts_by_hand scripts(server.socket());
  const auto ours = [&] { const dlock::lease held = locks.acquire(our_key, options); };
  const auto name = std::string("Redis: acquire+release, ") + text_of(where);
  const bool each = where == placement::a_processor_each;
  dlock::bench::compare(name + ", same scripts", 41, 2'000, [&] { scripts(); }, ours, {.at_least = each ? 0.8 : 0.65});
  dlock::bench::compare(name, 41, 2'000, [&] { raw.pair("raw:4711"); }, ours, {.at_least = each ? 0.75 : 0.5});
  dlock::bench::compare(
      name + ", both by hand", 41, 2'000, [&] { raw.pair("raw:4711"); }, [&] { scripts(); });
}

/// Beside the least that tells a waiter: a message, and one more SET NX.
void hand_over_by_hand(const dlock::test::redis_server& server) {
  using namespace std::chrono_literals;
  using namespace dlock::bench;
  std::vector<double> ours, setnx, by_hand;
  for (int round = 0; round != 3; ++round) {
    append(ours, by_dlock(server.url("&persistence=none"), 100ms, 8s));
    append(by_hand, by_hands(100ms, 8s, [&](int me) {
             return std::make_unique<published_set_nx>(server.socket(), std::to_string(me));
           }));
    append(setnx, by_dlock(server.url("&scheme=setnx&persistence=none"), 100ms, 8s));
  }
  compare_hand_overs("redis:", ours, by_hand);
  compare_hand_overs("setnx", setnx, by_hand);
}

void hand_over(const std::string& name, const std::string& url) {
  using namespace std::chrono_literals;
  const auto woken = dlock::bench::by_dlock(url, 100ms, 8s);
  const auto polled = dlock::bench::by_dlock(url + "&wake=off", 100ms, 8s);
  for (const double share : {0.5, 0.99}) {
    const auto at = fmt::format("p{:g}", 100 * share);
    const auto ours = dlock::bench::percentile(woken, share);
    fmt::print("hand-over, {} {}: {:6.0f} us ({} times)   wake=off {:6.0f} us\n", name, at, ours, woken.size(),
               dlock::bench::percentile(polled, share));
    dlock::bench::figures::add("hand-over between two processes, " + name + ", " + at, "us", {ours});
  }
}

}  // namespace

int main() {
  const dlock::test::redis_server server({"--appendonly", "no"});
  compare(server, placement::a_processor_each);
  compare(server, placement::one_processor);
  hand_over_by_hand(server);
  hand_over("setnx", server.url("&scheme=setnx&persistence=none"));
  const dlock::test::redis_masters masters(3);
  hand_over("redlock", masters.url("&restart_delay=0"));
  return dlock::bench::figures::exit_code();
}
