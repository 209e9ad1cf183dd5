// SPDX-License-Identifier: BSL-1.0
// Redis servers of its own, which are killed, restarted and stopped, also such that forget.

#include "dlock/stores/redis.hpp"
#include "dlock/stores/redlock.hpp"
#include "process/torture/driver.hpp"
#include "support/redis_server.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

void end_connections(const redis_server& at) {
  at.ask({"CLIENT", "KILL", "TYPE", "normal"});
  at.ask({"CLIENT", "KILL", "TYPE", "pubsub"});
}

class redis_torture final : public tortured_fixture {
 public:
  /// `keeps`: what it was told is on the disk before it answers. Else a restart forgets all.
  redis_torture(std::string parameters, bool keeps)
      : server_({"--appendonly", keeps ? "yes" : "no"}),
        parameters_(std::move(parameters) + "&persistence=" + (keeps ? "always" : "none")) {}
  std::string url() const override { return server_.url(parameters_); }
  void cut(dice&) override { end_connections(server_); }
  void restart(dice&, bool orderly) override {
    orderly ? server_.shut_down() : server_.kill();
    server_.start();
  }
  std::vector<std::string> members() override {
    static constexpr auto* all = R"(
local found = {}
for _, key in ipairs(redis.call('KEYS', '*members:*')) do found[#found + 1] = key end
for _, key in ipairs(redis.call('KEYS', '*lock:*')) do
  if redis.call('TYPE', key).ok == 'hash' and redis.call('HGET', key, 'session') == 'dlock:closed:now' then
    found[#found + 1] = key .. ' is closed'
  end
end
return table.concat(found, ', ')
)";
    const auto found = server_.ask({"EVAL", all, "0"});
    return found.empty() ? std::vector<std::string>{} : std::vector{found};
  }

 private:
  redis_server server_;
  const std::string parameters_;
};

/// Five masters that forget all when they are restarted.
class redlock_torture final : public tortured_fixture {
 public:
  /// `together`: so many are restarted at a time.
  redlock_torture(std::string parameters, std::size_t together)
      : parameters_(std::move(parameters)), together_(together) {}
  std::string url() const override { return masters_.url("&master_timeout=50&connect_timeout=20000&" + parameters_); }
  void cut(dice& random) override { end_connections(masters_[random() % masters_.size()]); }
  /// While some are killed or shut down, another one stands still.
  void restart(dice& random, bool orderly) override {
    std::vector<std::size_t> order(masters_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random);
    masters_[order.back()].stop();
    for (std::size_t i = 0; i != together_; ++i) {
      orderly ? masters_[order[i]].shut_down() : masters_[order[i]].kill();
    }
    if (together_ == 1) std::this_thread::sleep_for(std::chrono::milliseconds{random() % 400});
    for (std::size_t i = 0; i != together_; ++i) masters_[order[i]].start();
    masters_[order.back()].go_on();
  }

 private:
  redis_masters masters_{};
  const std::string parameters_;
  const std::size_t together_;
};

}  // namespace

TEST_CASE("torture redis: killed, stopped, cut off and restarted, never two, and fences grow") {
  redis_torture fixture("", true);
  check_torture(fixture, {});
}

TEST_CASE(
    "torture redis: where the server forgets, two for a ttl at most after its restart, and fences grow nevertheless") {
  redis_torture fixture("", false);
  check_torture(fixture, {.doubt_after_restart = 1s, .length = 6s});
}

TEST_CASE("torture readers and permits: killed, stopped, cut off and restarted, never beside an exclusive holder") {
  redis_torture fixture("", true);
  check_torture(fixture, {.shares = true, .length = 12s});
}

TEST_CASE("torture readers and permits: where the server forgets, beside an exclusive holder for a ttl at most") {
  redis_torture fixture("", false);
  check_torture(fixture, {.shares = true, .doubt_after_restart = 1s, .length = 6s});
}

TEST_CASE("torture setnx: killed, stopped, cut off and restarted, never two") {
  redis_torture fixture("&scheme=setnx", true);
  check_torture(fixture, {.fenced = false});
}

TEST_CASE("torture setnx: where the server forgets, two for a ttl at most after its restart") {
  redis_torture fixture("&scheme=setnx", false);
  check_torture(fixture, {.fenced = false, .doubt_after_restart = 1s, .length = 6s});
}

TEST_CASE(
    "torture redlock: masters killed, stopped and restarted empty, never two where these wait before they count") {
  redlock_torture fixture("restart_delay=1000", 1);
  std::this_thread::sleep_for(1200ms);  // until new masters count
  check_torture(fixture, {.fenced = false, .recovery = 9s});
}

TEST_CASE("torture redlock: masters restarted empty that count at once, two for a ttl at most") {
  redlock_torture fixture("restart_delay=0", 4);
  check_torture(fixture, {.fenced = false, .doubt_after_restart = 1s, .recovery = 9s, .length = 6s});
}

}  // namespace dlock::test
