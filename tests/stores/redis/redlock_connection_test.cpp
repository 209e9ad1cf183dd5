// SPDX-License-Identifier: BSL-1.0

/// What the store of five masters tells the engine, and does on its own, when masters break in the middle of something.

#include <fmt/format.h>

#include "stores/redis/redis_fixtures.hpp"
#include "stores/redis/redlock/connection.hpp"

namespace dlock::test {

using stores::redis::redlock::quorum_connection;

namespace {

int copies(redis_masters& masters, const std::string& key = "k") {
  int found = 0;
  for (auto& each : masters) found += each.ask({"EXISTS", key}) == "1" ? 1 : 0;
  return found;
}

const quorum_connection& links(const std::unique_ptr<connection>& of) {
  return static_cast<const quorum_connection&>(*of);
}

}  // namespace

// Its keys are still being deleted on the connections that they were sent on. On others the same value would be planted
// again before that, and deleted as if it were the first.
TEST_CASE("redlock: an attempt that was sent and failed is not sent once more under its number") {
  redis_masters masters;
  url_fixture fixture(masters.url("&restart_delay=0&master_timeout=5000"));
  actor a(fixture);
  for (const std::size_t which : {0U, 1U, 2U}) masters[which].kill();
  const auto sent = a.take("k");  // to the two that are left
  CHECK(sent.result == outcome::failed);
  CHECK(sent.why.transient);
  CHECK_FALSE(sent.why.connection);
  const auto unsent = a.take("k");
  CHECK(unsent.result == outcome::failed);
  CHECK(unsent.why.transient);
  CHECK(unsent.why.connection);
}

TEST_CASE("redlock: one server with two names is refused also if another master breaks at that moment") {
  redis_masters masters{4};
  const auto port = [&](std::size_t which) { return masters[which].port(); };
  masters[0].stop();
  const auto store =
      open_store(fmt::format("redlock://127.0.0.1:{0},localhost:{0},127.0.0.1:{1},127.0.0.1:{2},127.0.0.1:{3}/"
                             "0?restart_delay=0&connect_timeout=20000&master_timeout=100",
                             port(0), port(1), port(2), port(3)));
  const auto connection = connect(*store, 20s);
  CHECK(links(connection).answering() == 3);
  masters[1].kill();
  masters[2].kill();
  masters[0].go_on();
  // It answers in the order in which it was asked: by now it has answered both of its names.
  for (int i = 0; i < 3; ++i) masters[0].ask({"PING"});
  CHECK(links(connection).refusal().empty());
  static_cast<void>(connection->alive());
  CHECK(links(connection).refusal().find("are one server") != std::string::npos);
}

TEST_CASE("redlock: what a master refuses to take back keeps others out, and so leaves the attempt in doubt") {
  redis_masters masters{4};
  url_fixture fixture(masters.url("&restart_delay=0&master_timeout=5000"));
  actor a(fixture);
  for (const std::size_t which : {0U, 1U}) masters[which].ask({"SET", "k", "somebody's"});
  for (const std::size_t which : {2U, 3U}) masters[which].ask({"ACL", "SETUSER", "default", "-eval"});
  CHECK(a.take("k").result == outcome::unknown);
  CHECK(masters[2].ask({"EXISTS", "k"}) == "1");
  for (const std::size_t which : {2U, 3U}) masters[which].ask({"ACL", "SETUSER", "default", "+eval"});
  CHECK(a.take("k").result == outcome::no);  // its own rest is one of the holders
}

TEST_CASE("redlock: a renewal gives a key back only to a master that had none twice") {
  redis_masters masters;
  url_fixture fixture(masters.url("&restart_delay=0&master_timeout=5000"));
  actor a(fixture);
  const auto fence = a.acquire("k", 20s);
  const auto lose = [&](std::size_t which) { masters[which].ask({"DEL", "k"}); };
  lose(3);  // as a release does that the renewal meets on its way
  CHECK(answer(a.extend("k", fence, 20s)) == outcome::yes);
  CHECK(copies(masters) == 4);
  lose(4);
  CHECK(answer(a.extend("k", fence, 20s)) == outcome::yes);
  CHECK(copies(masters) == 4);
  CHECK(masters[3].ask({"EXISTS", "k"}) == "1");
  CHECK(answer(a.extend("k", fence, 20s)) == outcome::yes);
  CHECK(copies(masters) == 5);
  lose(3);  // it had it in between
  CHECK(answer(a.extend("k", fence, 20s)) == outcome::yes);
  CHECK(copies(masters) == 4);
  CHECK(answer(a.release("k", fence)) == outcome::yes);
  CHECK(copies(masters) == 0);
}

TEST_CASE("redlock: a connection that has a majority ends when the name of a lost master should be looked up again") {
  redis_masters masters{3};
  const auto store =
      open_store(fmt::format("redlock://localhost:{},127.0.0.1:{},127.0.0.1:{}/0?restart_delay=0&connect_timeout=100",
                             masters[0].port(), masters[1].port(), masters[2].port()));
  fault why;
  const auto connected = [&] {  // to all of them: the limit is short
    std::unique_ptr<connection> made;
    REQUIRE(eventually([&] {
      made = store->connect(5s, why);
      return made && links(made).answering() == 3;
    }));
    return made;
  };
  const auto one = connected(), other = connected();
  CHECK(one->alive());
  masters[0].kill();
  CHECK(eventually([&] { return !one->alive(); }));
  CHECK(links(one).answering() == 2);
  CHECK(other->alive());  // one of them is enough
  CHECK(eventually([&] { return store->connect(5s, why) != nullptr; }));
  CHECK(eventually([&] { return !other->alive(); }));
}

}  // namespace dlock::test
