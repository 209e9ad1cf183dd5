// SPDX-License-Identifier: BSL-1.0
// Which grants stand in the books of the sessions while one of these ends.
#include "engine/background/session_keeper.hpp"

#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "unit/engine/executor_fixture.hpp"

using namespace dlock;
using namespace dlock::test;
using engine::session_keeper;

namespace {

/// Nobody else opens a session here, so nobody is told.
class no_waiter final : public engine::opening_waiter {
 public:
  void wake() noexcept override {}
};

class keeper_fixture : public executor_fixture {
 protected:
  std::shared_ptr<engine::grant> held(const std::string& key, lease_kind kind) {
    auto grant = std::make_shared<engine::grant>(nullptr, lock_key(key));
    grant->kind = kind;
    engine::session_opening open;
    no_waiter nobody;
    grant->pin = keeper.pin(30s, clock.now(), open, nobody);
    if (open) {
      sent_statement asked;
      open.ask(asked);
      asked.queue_deadline = clock.now() + 2s;
      at->run(asked);
      fault why;
      grant->pin = open.answered(asked, why);
    }
    REQUIRE(grant->pin);
    REQUIRE(keeper.link(*grant));
    return grant;
  }
  std::vector<std::string> books() {
    std::vector<std::string> found;
    keeper.for_each_grant([&](const engine::grant& each) { found.emplace_back(each.key.view()); });
    return found;
  }

  engine::service_context shared{service_options{.time = &clock}};
  run_executor at{store, clock, 2};
  engine::notifier news{shared, [] {}, [] {}};
  std::function<void()> at_loss{};  // called for each grant that is lost
  session_keeper keeper{shared,
                        *at,
                        news,
                        {.lost = [this](const auto&, auto, auto) { at_loss(); },
                         .over = [](const auto&, const auto&, auto, auto) {},
                         .sooner = [](auto) {}}};
};

}  // namespace

TEST_CASE_METHOD(keeper_fixture,
                 "session_keeper: while a session's losses are told, its leases with an expiry of their own are in the "
                 "books, and can end",
                 "[session_keeper]") {
  const auto stays = held("stays", lease_kind::expiring);
  auto ends = held("ends", lease_kind::expiring);
  const auto lost = held("lost", lease_kind::session);
  std::vector<std::string> while_notified;
  at_loss = [&] {
    while_notified = books();
    keeper.unlink(*ends);
    ends.reset();
  };
  keeper.retire(lost->pin.get(), loss_reason::expired, clock.now());
  CHECK(while_notified == std::vector<std::string>{"stays", "ends"});
  CHECK(books() == std::vector<std::string>{"stays"});
  keeper.unlink(*stays);
  CHECK(books().empty());
}

TEST_CASE_METHOD(keeper_fixture,
                 "session_keeper: one that another thread opens while a loss is told is used, and stays",
                 "[session_keeper]") {
  const auto before = held("before", lease_kind::session);
  clock.advance(31s);
  std::shared_ptr<engine::grant> meanwhile;
  at_loss = [&] { meanwhile = held("meanwhile", lease_kind::session); };
  engine::session_opening open;
  no_waiter nobody;
  const auto pin = keeper.pin(30s, clock.now(), open, nobody);
  CHECK_FALSE(open);
  REQUIRE(pin);
  REQUIRE(meanwhile);
  CHECK(pin->id == meanwhile->pin->id);
  CHECK(books() == std::vector<std::string>{"meanwhile"});
}

TEST_CASE_METHOD(keeper_fixture, "session_keeper: one that was opened while the server changed is not used",
                 "[session_keeper][T59]") {
  keeper.connected({.server = "a"}, clock.now());
  engine::session_opening open;
  no_waiter nobody;
  static_cast<void>(keeper.pin(30s, clock.now(), open, nobody));
  REQUIRE(open);
  sent_statement asked;
  open.ask(asked);
  asked.queue_deadline = clock.now() + 2s;
  at->run(asked);
  REQUIRE(asked.answer.result == outcome::yes);
  keeper.connected({.server = "a"}, clock.now());
  CHECK_FALSE(open.elsewhere());
  keeper.connected({.server = "b"}, clock.now());
  fault why;
  CHECK_FALSE(open.answered(asked, why));
  CHECK(why.transient);
  CHECK(open.elsewhere());
}
