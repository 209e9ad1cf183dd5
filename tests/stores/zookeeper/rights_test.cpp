// SPDX-License-Identifier: BSL-1.0

/// Nodes that dlock's user may not read or write.

#include "dlock/lock_service.hpp"
#include "stores/zookeeper/zookeeper_fixtures.hpp"

namespace dlock::test {

namespace {

/// Nodes of this user are for that user alone.
std::string foreign_url(const zookeeper_server& server) { return "zookeeper://user:secret@" + server.address(); }

/// What everybody may do with a node from now on.
void allow(const zookeeper_server& server, const std::string& path, int perms) {
  auto* const native =
      ::zookeeper_init2(server.address().c_str(), nullptr, 60'000, nullptr, nullptr, 0, [](const char*) {});
  REQUIRE(native != nullptr);
  char scheme[] = "world", id[] = "anyone";
  ACL right{perms, {scheme, id}};
  ACL_vector rights{1, &right};
  std::promise<int> code;
  const auto done = [](int result, const void* about) {
    static_cast<std::promise<int>*>(const_cast<void*>(about))->set_value(result);
  };
  REQUIRE(eventually([&] { return ::zoo_state(native) == ZOO_CONNECTED_STATE; }));
  REQUIRE(::zoo_aset_acl(native, path.c_str(), -1, &rights, done, &code) == ZOK);
  CHECK(code.get_future().get() == ZOK);
  ::zookeeper_close(native);
}

}  // namespace

TEST_CASE_METHOD(own_zookeeper,
                 "zookeeper: a holder that must not be read is another program, and other keys are told as they are") {
  actor a(fixture), b(fixture);
  other_client foreign(foreign_url(server));
  REQUIRE(answer(a.release("k", a.acquire("k"))) == outcome::yes);
  const auto fence = b.acquire("other");
  foreign.make("/dlock/k/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  foreign.make("/dlock/queue", ZOO_CONTAINER);  // must not be listed, either
  foreign.make("/dlock/queue/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  const std::array<request, 3> asked{request{.action = verb::poll, .resource = "k"},
                                     request{.action = verb::poll, .resource = "other"},
                                     request{.action = verb::poll, .resource = "queue"}};
  std::array<reply, 3> replies;
  a.store->execute(*a.connection, asked, replies);
  for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
  CHECK(replies[0].holder.holder != id128{});
  CHECK(replies[0].holder.fence == 0);
  CHECK(replies[0].holder.who.empty());
  CHECK(replies[1].holder.holder == b.id);
  CHECK(replies[1].holder.fence == fence);
  CHECK(replies[2].holder.holder == replies[0].holder.holder);
  std::vector<holder_info> found;
  REQUIRE(answer(a.store->admin()->list(*a.connection, "", 10, found)) == outcome::yes);
  REQUIRE(found.size() == 3);
  CHECK(found[0].key == "k");
  CHECK(found[0].session == id128{});
  CHECK(found[1].session == b.id);
  CHECK(found[2].key == "queue");
}

TEST_CASE("zookeeper: a key whose holder must not be read is busy, and waited for") {
  const zookeeper_server server;
  lock_service locks(server.url());
  locks.acquire("k").release();
  other_client foreign(foreign_url(server));
  const auto node = foreign.make("/dlock/k/lock-", ZOO_EPHEMERAL_SEQUENTIAL);
  CHECK_FALSE(granted(locks.try_acquire("k")));
  const auto before = locks.statements();
  auto waiting = std::async(std::launch::async, [&] { return locks.acquire("k", {.wait = 60s}).fencing_token(); });
  const auto over = [&] { return waiting.wait_for(0ms) == std::future_status::ready; };
  REQUIRE(eventually([&] { return locks.statements() >= before + 6 || over(); }));  // it has looked
  CHECK_FALSE(over());
  foreign.remove(node);
  CHECK_NOTHROW(waiting.get());
}

TEST_CASE_METHOD(own_zookeeper,
                 "zookeeper: the node of who left the queue goes, although its removal was refused at first") {
  actor holder(fixture), leaving(fixture), other(fixture);
  const auto fence = holder.acquire("k");
  counting_listener listener;
  stand_in_queue(leaving, listener);
  allow(server, "/dlock/k", ZOO_PERM_ALL & ~ZOO_PERM_DELETE);
  leaving.store->unwatch("k", leaving.id, listener);
  // It is answered behind the removal, and more often than a node is looked for that was never found.
  for (int i = 0; i != 4; ++i) REQUIRE(leaving.renew(for_long) == outcome::yes);
  CHECK(nodes_of_key(server) == 2);
  allow(server, "/dlock/k", ZOO_PERM_ALL);
  REQUIRE(answer(holder.release("k", fence)) == outcome::yes);
  REQUIRE(leaving.renew(for_long) == outcome::yes);
  CHECK(eventually([&] { return nodes_of_key(server) == 0; }));
  CHECK(answer(other.take("k")) == outcome::yes);
}

TEST_CASE("zookeeper: nodes above the locks that were made beforehand need not be made") {
  const zookeeper_server server;
  other_client operators(server.url());
  for (const auto* path : {"/app", "/app/locks", "/app/locks.sessions"}) operators.make(path, ZOO_PERSISTENT);
  allow(server, "/app", 0);  // must not even be read
  allow(server, "/app/locks", ZOO_PERM_READ | ZOO_PERM_CREATE);
  allow(server, "/app/locks.sessions", ZOO_PERM_CREATE);
  allow(server, "/", ZOO_PERM_READ);
  lock_service locks(server.url("base=/app/locks")), other(server.url("base=/app/locks"));
  lease held = locks.acquire("k");
  CHECK_FALSE(granted(other.try_acquire("k")));
  CHECK(other.held_keys().size() == 1);
  held.release();
  CHECK(granted(other.try_acquire("k")));
  // What is not there is still missing.
  CHECK_THROWS_MATCHES(lock_service(server.url("base=/other")), store_error,
                       MessageMatches(ContainsSubstring("create /other: not authenticated")));
}

}  // namespace dlock::test
