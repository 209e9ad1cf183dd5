// SPDX-License-Identifier: GPL-2.0-or-later

/// Nodes that dlock's user may not read or write.

#include <array>
#include <future>
#include <vector>

#include "dlock/error.hpp"
#include "dlock/lease.hpp"
#include "dlock/lock_service.hpp"
#include "stores/zookeeper/zookeeper_places.hpp"

namespace dlock::test {

using stores::zookeeper::on_answer;
using stores::zookeeper::zookeeper_handle;

namespace {

/// Another user, whose nodes are for itself alone. Returns the new node's path.
std::string make_node(zookeeper_handle& stranger, const std::string& path, int mode) {
  const auto made = ask([&](on_answer told) { stranger.create(path, "", mode, std::move(told)); });
  CHECK(made.code == ZOK);
  return made.text;
}

std::string url_of_stranger(const zookeeper_server& server) { return "zookeeper://user:secret@" + server.address(); }

}  // namespace

TEST_CASE("zookeeper: a holder that must not be read is a stranger, and other keys are told as they are",
          "[zookeeper]") {
  const zookeeper_server server;
  zookeeper_place place(server.url());
  actor a(place), b(place);
  zookeeper_handle stranger(settings_of(url_of_stranger(server)), 10s);
  REQUIRE(connects(stranger));
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  const auto fence = b.acquire("other");
  make_node(stranger, "/dlock/k/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  make_node(stranger, "/dlock/queue", ZOO_CONTAINER);  // must not be listed, either
  make_node(stranger, "/dlock/queue/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  const std::array<request, 3> asked{request{.action = verb::look, .resource = "k"},
                                     request{.action = verb::look, .resource = "other"},
                                     request{.action = verb::look, .resource = "queue"}};
  std::array<reply, 3> told;
  a.store->execute(*a.connection, asked, told);
  for (const auto& each : told) CHECK(answer(each) == outcome::yes);
  CHECK(told[0].holder.holder != id128{});
  CHECK(told[0].holder.fence == 0);
  CHECK(told[0].holder.who.empty());
  CHECK(told[1].holder.holder == b.id);
  CHECK(told[1].holder.fence == fence);
  CHECK(told[2].holder.holder == told[0].holder.holder);
  std::vector<holder_info> found;
  REQUIRE(answer(a.store->admin()->list(*a.connection, "", 10, found)) == outcome::yes);
  REQUIRE(found.size() == 3);
  CHECK(found[0].key == "k");
  CHECK(found[0].session == id128{});
  CHECK(found[1].session == b.id);
  CHECK(found[2].key == "queue");
}

TEST_CASE("zookeeper: a key whose holder must not be read is busy, and waited for", "[zookeeper]") {
  const zookeeper_server server;
  lock_service locks(server.url());
  locks.acquire("k").release();
  zookeeper_handle stranger(settings_of(url_of_stranger(server)), 10s);
  REQUIRE(connects(stranger));
  const auto node = make_node(stranger, "/dlock/k/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  CHECK_FALSE(locks.try_acquire("k"));
  const auto before = locks.statements();
  auto waiting = std::async(std::launch::async, [&] { return locks.acquire("k", {.wait = 60s}).fencing_token(); });
  const auto over = [&] { return waiting.wait_for(0ms) == std::future_status::ready; };
  REQUIRE(eventually([&] { return locks.statements() >= before + 6 || over(); }));  // it has looked
  CHECK_FALSE(over());
  CHECK(ask([&](on_answer told) { stranger.remove(node, std::move(told)); }).code == ZOK);
  CHECK_NOTHROW(waiting.get());
}

}  // namespace dlock::test
