// SPDX-License-Identifier: BSL-1.0
// What renews leases that their own expiry keeps, once it has been stopped.
#include "engine/background/row_renewer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <vector>

#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;
using engine::row_renewer;

namespace {

class renewer_fixture : public executor_fixture {
 protected:
  /// A lease that is renewed, and is due next 10 s from now.
  std::shared_ptr<engine::grant> held(const std::string& key) {
    auto grant = std::make_shared<engine::grant>(nullptr, lock_key(key));
    grant->kind = lease_kind::column;
    grant->ttl = 30s;
    grant->state = engine::grant_state::held;
    grant->own_end.extend(clock.now() + 28s);
    row_renewer::make_room(*grant);
    renewer.add(grant, clock.now());
    return grant;
  }

  engine::service_context shared{service_options{.time = &clock}};
  run_executor at{store, clock, 2};
  engine::notifier news{shared, [] {}, [] {}};
  engine::held_locks grants{};
  std::vector<instant> wanted{};  // when a tick was asked for
  row_renewer renewer{
      shared,
      *at,
      grants,
      news,
      {.lost = [](const auto&, auto, auto) {}, .sooner = [this](instant when) { wanted.push_back(when); }}};
};

}  // namespace

TEST_CASE_METHOD(renewer_fixture, "row_renewer: a renewal is due after a third of the ttl", "[row_renewer]") {
  const auto one = held("a");
  CHECK(wanted == std::vector<instant>{clock.now() + 10s});
  CHECK(renewer.tick(clock.now()) == clock.now() + 10s);
  renewer.remove(*one);
  CHECK(renewer.tick(clock.now()) == instant::max());
}

TEST_CASE_METHOD(renewer_fixture, "row_renewer: once stopped it asks for no tick, though a renewal is due",
                 "[row_renewer]") {
  const auto one = held("a");
  renewer.stop();
  clock.advance(10s);
  CHECK(renewer.tick(clock.now()) == instant::max());  // else the caller would come back at once, again and again
  CHECK(at->statements() == 0);
  renewer.remove(*one);
}
