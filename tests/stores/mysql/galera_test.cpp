// SPDX-License-Identifier: BSL-1.0

/// A Galera cluster, whose nodes apply what another one has committed a little later.

#include <dlock/dlock.hpp>
#include <dlock/odb/claim.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/lock_row.hpp>
#include <dlock/odb/verify.hpp>

#include <cstdlib>
#include <odb/exceptions.hxx>
#include <random>

#include "contract/backends/mysql/schemes.hpp"
#include "contract/store/store_contract.hpp"
#include "odb/verify/bank.hpp"
#include "odb/verify/recording_tracer.hpp"
#include "support/calls.hpp"
#include "support/recording_observer.hpp"
#include "support/tcp_proxy.hpp"
#include "wallet-odb.hxx"

namespace dlock::test {

namespace {

std::vector<std::uint16_t> node_ports() {
  const char* const list = std::getenv("DLOCK_TEST_GALERA_PORTS");
  if (list == nullptr && std::getenv("DLOCK_TEST_REQUIRE_MYSQL") != nullptr) FAIL("DLOCK_TEST_GALERA_PORTS is not set");
  if (list == nullptr) SKIP("DLOCK_TEST_GALERA_PORTS is not set: there is no cluster to test with");
  std::istringstream in(list);
  std::vector<std::uint16_t> ports;
  for (std::uint16_t port = 0; in >> port;) ports.push_back(port);
  REQUIRE(ports.size() >= 2);
  return ports;
}

/// Changes so many rows at the first node that the others are busy with applying them for some 100 ms. What the first
/// node commits after that is not seen at the others until then.
class busy_cluster {
 public:
  busy_cluster() {
    first_.run("CREATE TABLE IF NOT EXISTS app.ballast (id INT PRIMARY KEY, v INT) ENGINE=InnoDB");
    first_.run("INSERT IGNORE INTO app.ballast SELECT seq, 0 FROM seq_1_to_60000");
    first_.run("CREATE TABLE IF NOT EXISTS app.marker (id INT PRIMARY KEY, v INT) ENGINE=InnoDB");
    first_.run("REPLACE INTO app.marker VALUES (1, 0)");
    wait();
  }

  std::uint16_t first() const { return ports_[0]; }
  std::uint16_t second() const { return ports_[1]; }
  const std::vector<std::uint16_t>& ports() const { return ports_; }

  static std::string locks(std::uint16_t port, const std::string& terms = "prefix=galera_") {
    return "mysql://dlock_owner:owner-pw@127.0.0.1:" + std::to_string(port) + "/locks?" + terms;
  }
  static std::string bank(std::uint16_t port) {
    return "mysql://dlock_app:app-pw@127.0.0.1:" + std::to_string(port) + "/app";
  }

  void begin_lag() {
    first_.run("UPDATE app.ballast SET v = v + 1");
    first_.run("UPDATE app.marker SET v = v + 1");
  }
  /// Whether the second node has not seen yet what the first one committed before begin_lag() returned.
  bool lags() { return second_.one("SELECT v FROM app.marker") != first_.one("SELECT v FROM app.marker"); }
  /// Until all have seen it.
  void wait() {
    for (const auto port : ports_) raw_mysql(locks(port)).run("SET STATEMENT wsrep_sync_wait=7 FOR SELECT 1");
  }

 private:
  const std::vector<std::uint16_t> ports_ = node_ports();
  raw_mysql first_{locks(ports_[0])};
  raw_mysql second_{locks(ports_[1])};
};

/// The same lock tables by two nodes.
struct node_fixture final : url_fixture {
  explicit node_fixture(std::uint16_t port, const std::string& terms = "prefix=galera_")
      : url_fixture(busy_cluster::locks(port, terms)) {}
};

/// `then` runs while the second node lags, again until it was really so.
template <class Then>
void while_second_lags(busy_cluster& nodes, Then then) {
  for (int tries = 0;; ++tries) {
    REQUIRE(tries < 10);
    nodes.wait();
    nodes.begin_lag();
    if (then()) return;
  }
}

struct two_nodes {
  busy_cluster nodes;
  node_fixture first_fixture{nodes.first()};
  actor first{first_fixture};
  node_fixture second_fixture{nodes.second()};
  actor second{second_fixture};

  two_nodes() { second.id = first.id; }
  template <class Then>
  void while_second_lags(Then then) {
    test::while_second_lags(nodes, then);
  }
};

}  // namespace

TEST_CASE("galera: a node that has not seen a grant yet frees it all the same") {
  two_nodes with;
  with.first.release("galera:one", with.first.acquire("galera:one"));
  SECTION("release") {
    with.while_second_lags([&] {
      const auto fence = with.first.acquire("galera:one");
      const bool lagged = with.nodes.lags();
      CHECK(answer(with.second.release("galera:one", fence)) == outcome::yes);
      return lagged;
    });
  }
  SECTION("cancel") {
    with.while_second_lags([&] {
      with.first.acquire("galera:one");
      const bool lagged = with.nodes.lags();
      CHECK(answer(with.second.cancel("galera:one", with.first.nonce)) == outcome::yes);
      return lagged;
    });
  }
  SECTION("extend") {
    with.while_second_lags([&] {
      const auto fence = with.first.acquire("galera:one", 1h);
      const bool lagged = with.nodes.lags();
      CHECK(answer(with.second.extend("galera:one", fence, 2h)) == outcome::yes);
      CHECK(answer(with.second.release("galera:one", fence)) == outcome::yes);
      return lagged;
    });
  }
  SECTION("renewal of a session") {
    with.while_second_lags([&] {
      const auto fresh = id128::random();
      REQUIRE(with.first.session(session_verb::open, fresh, 1h) == outcome::yes);
      const bool lagged = with.nodes.lags();
      CHECK(with.second.session(session_verb::renew, fresh, 1h) == outcome::yes);
      return lagged;
    });
  }
}

TEST_CASE("galera: of a batch a node frees also the grants that it has not seen yet") {
  two_nodes with;
  const std::vector<std::string> keys{"galera:a", "galera:b", "galera:c", "galera:d"};
  for (const auto& key : keys) with.first.release(key, with.first.acquire(key));
  with.while_second_lags([&] {
    std::vector<std::uint64_t> fences;
    for (const auto& key : keys) fences.push_back(with.first.acquire(key));
    std::vector<request> asked;
    for (std::size_t i = 0; i != keys.size(); ++i) {
      asked.push_back(
          {.action = verb::release, .resource = keys[i], .session = with.first.id, .fence = fences[i], .ttl = 0us});
    }
    const bool lagged = with.nodes.lags();
    const auto replies = with.second.run(asked);
    for (const auto& each : replies) CHECK(answer(each) == outcome::yes);
    return lagged;
  });
}

TEST_CASE("galera: a mark of work is not written under a grant that another node ends at the same moment") {
  two_nodes with;
  const std::string key = "galera:mark";
  const auto first_store = open_store(busy_cluster::locks(with.nodes.first()));
  const auto second_store = open_store(busy_cluster::locks(with.nodes.second()));
  const auto at_first = connect(*first_store, 5s), at_second = connect(*second_store, 5s);
  int marked = 0, ended = 0;
  for (int i = 0; i != 400; ++i) {
    const auto fence = with.first.acquire(key);
    with.nodes.wait();
    const request grant{.action = verb::poll, .resource = key, .session = with.first.id, .fence = fence};
    outcome mark{};
    done_mark found;
    auto seen = outcome::yes;
    {
      std::jthread marks([&] { mark = second_store->marks()->set_mark(*at_second, grant, std::nullopt, "b").result; });
      if (i % 2 != 0) std::this_thread::sleep_for(std::chrono::microseconds{i * 2});
      // It is refused, and repeated, if the mark comes first.
      CHECK(eventually([&] { return with.first.release(key, fence).result == outcome::yes; }));
      // The next holder looks, and does the work if there is no mark.
      seen = first_store->marks()->find_mark(*at_first, key, found).result;
    }
    marked += mark == outcome::yes ? 1 : 0;
    ended += seen == outcome::absent ? 1 : 0;
    CHECK_FALSE((mark == outcome::yes && seen == outcome::absent));
    first_store->marks()->delete_mark(*at_first, key);
    with.nodes.wait();
  }
  CHECK(marked > 0);
  CHECK(ended > 0);
}

TEST_CASE("galera: shared locks and permits are refused at the call, because nodes do not share row locks") {
  lock_service locks(busy_cluster::locks(node_ports().front()));
  const auto before = locks.statements();
  CHECK_THROWS_AS(locks.acquire("k", {.mode = shared}), std::invalid_argument);
  CHECK_THROWS_AS(locks.try_acquire("k", {.mode = one_of(3)}), std::invalid_argument);
  CHECK(locks.statements() == before);
}

TEST_CASE("galera: in a table of other programs too a node frees and extends what it has not seen yet") {
  busy_cluster nodes;
  const auto scheme = GENERATE(as<std::string>{}, "unique_insert", "state_row", "t_lock");
  const auto what = GENERATE(verb::release, verb::cancel, verb::extend);
  const auto if_locked = GENERATE(row_wait::avoid, row_wait::accept);
  CAPTURE(scheme, if_locked);
  const auto table = "galera_" + scheme;
  raw_mysql owner(busy_cluster::locks(nodes.first()));
  owner.run("CREATE OR REPLACE TABLE " + table + " " +
            (scheme == "t_lock"      ? t_lock_fixture::columns
             : scheme == "state_row" ? state_row_fixture::columns
                                     : unique_insert_fixture::columns));
  node_fixture first_fixture(nodes.first(), "scheme=" + scheme + "&table=" + table);
  node_fixture second_fixture(nodes.second(), "scheme=" + scheme + "&table=" + table);
  actor first(first_fixture), second(second_fixture);
  first.release("one", first.acquire("one", 1h));
  while_second_lags(nodes, [&] {
    const auto fence = first.acquire("one", 1h);
    const bool lagged = nodes.lags();
    CHECK(answer(second.run({.action = what,
                             .resource = "one",
                             .session = first.id,
                             .nonce = first.nonce,
                             .fence = fence,
                             .ttl = 2h,
                             .if_locked = if_locked})) == outcome::yes);
    if (what == verb::extend) first.release("one", fence);
    return lagged;
  });
}

TEST_CASE("galera: a row that is locked at one node is loaded at another as it was after the grant") {
  busy_cluster nodes;
  const auto bank = open_bank(busy_cluster::bank(nodes.second()));
  make_bank(*bank, 4, 100);
  lock_service locks(busy_cluster::locks(nodes.first()));
  raw_mysql writer(busy_cluster::bank(nodes.first()));
  bool lagged = false;
  for (std::int64_t balance = 101; !lagged && balance != 111; ++balance) {
    nodes.wait();
    nodes.begin_lag();
    writer.run("UPDATE verify_wallet SET balance = " + std::to_string(balance) + " WHERE id = 2");
    const auto key = row<wallet>(locks, *bank, 2);
    lagged = nodes.lags();
    const auto held = lock_row<wallet>(locks, *bank, 2);
    CHECK(held->balance == balance);
  }
  CHECK(lagged);
}

TEST_CASE("galera: a lease that was granted at one node is verified at another one") {
  busy_cluster nodes;
  const auto bank = open_bank(busy_cluster::bank(nodes.second()));
  make_bank(*bank, 1, 100);
  const auto application = open_database(busy_cluster::bank(nodes.second()));
  lock_service locks(busy_cluster::locks(nodes.first()));
  locks.acquire("galera:verify").release();
  bool lagged = false;
  for (int tries = 0; !lagged && tries != 10; ++tries) {
    nodes.wait();
    nodes.begin_lag();
    auto held = locks.acquire("galera:verify");
    lagged = nodes.lags();
    odb::transaction t(begin_write(*application));
    CHECK_NOTHROW(held.verify(t));
    if (!t.finalized()) t.commit();
  }
  CHECK(lagged);
}

TEST_CASE("galera: behind a balancer that takes the nodes in turn every release frees its key") {
  const auto ports = node_ports();
  tcp_proxy balancer(ports);
  lock_service locks(busy_cluster::locks(balancer.port()), {.connections = 6});
  std::atomic<int> lost{0}, granted{0};
  on_threads(6, [&](int number) {
    for (int i = 0; i != 150; ++i) {
      auto held = locks.try_acquire("galera:turn:" + std::to_string(i % 10 * 6 + number), {.wait = 5s});
      if (!held) continue;
      ++granted;
      try {
        held.release();
      } catch (const lock_lost&) {
        ++lost;
      }
    }
  });
  CHECK(granted == 900);
  CHECK(lost == 0);
  CHECK(locks.count(event::kind::split_brain) == 0);
  CHECK(locks.held_keys(100).empty());
}

// ---- transactions that the cluster rolls back while they read -------------------------------------------------------

namespace {

/// One service and one bank at the first node; at the second another program, which is granted the key and frees it.
struct aborted_scene {
  busy_cluster nodes;
  std::unique_ptr<odb::database> bank = open_bank(busy_cluster::bank(nodes.first()));
  std::shared_ptr<recording_observer> observer = std::make_shared<recording_observer>();
  lock_service locks{busy_cluster::locks(nodes.first()), {.observer = observer}};
  raw_mysql first{busy_cluster::locks(nodes.first())};
  raw_mysql second{busy_cluster::locks(nodes.second())};
  const std::string key = "galera:aborted";

  aborted_scene() {
    make_bank(*bank, 4, 100);
    locks.acquire(key).release();
    first.run("SET SESSION wsrep_sync_wait=7");
    second.run("SET SESSION wsrep_sync_wait=7");
  }
  /// What a take-over does to the row.
  void grant_elsewhere() {
    for (;;) {
      try {
        second.run("UPDATE galera_lock SET fence=fence+1, session_id=NULL WHERE lock_key='" + key + "'");
        return;
      } catch (const std::runtime_error&) {  // a deadlock with what the first node does
      }
    }
  }
  std::uint64_t verifies() {
    return std::stoull(first.one("SELECT verifies FROM galera_lock WHERE lock_key='" + key + "'"));
  }
  std::uint64_t entries(const std::string& transfer) {
    return std::stoull(first.one("SELECT COUNT(*) FROM app.verify_entry WHERE transfer='" + transfer + "'"));
  }
};

}  // namespace

TEST_CASE_METHOD(aborted_scene,
                 "galera: a transaction that reads after it verified is committed with its check, or not at all",
                 "[T71]") {
  std::mt19937 random(std::random_device{}());
  std::chrono::microseconds length{5'000};
  int committed = 0, refused = 0, unproven = 0, torn = 0;
  for (int number = 0; number != 300; ++number) {
    const auto before = verifies();
    const auto transfer = std::to_string(number);
    const int reads = static_cast<int>(random() % 400);
    const std::chrono::microseconds after(random() % static_cast<unsigned long>(length.count() + 1));
    auto held = locks.acquire(key, {.wait = 10s});
    std::promise<void> verified;
    auto other = std::async(std::launch::async, [&, begin = verified.get_future()] {
      begin.wait();
      std::this_thread::sleep_for(after);  // the moment of the abort: any will do
      grant_elsewhere();
    });
    const auto from = std::chrono::steady_clock::now();
    bool done = false;
    try {
      odb::transaction t(bank->begin());
      held.verify(t);
      verified.set_value();
      for (int i = 0; i != reads; ++i) load(*bank, static_cast<std::uint64_t>(i % 4 + 1));
      persist(*bank, {.wallet = 1, .transfer = transfer});
      write(*bank, 1, number);
      t.commit();
      done = true;
    } catch (const lock_lost&) {
    } catch (const store_error& error) {
      CHECK(error.transient());
    } catch (const odb::deadlock&) {
    } catch (const odb::database_exception&) {
    }
    length =
        (7 * length + std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - from)) /
        8;
    other.get();
    ++(done ? committed : refused);
    if (done && verifies() == before) ++unproven;
    if (entries(transfer) != (done ? 1U : 0U)) ++torn;
    try {
      held.release();
    } catch (const error&) {  // it is another's by now
    }
  }
  CAPTURE(committed, refused);
  CHECK(refused > 20);
  CHECK(unproven == 0);
  CHECK(torn == 0);
  CHECK(observer->count(event::kind::unchecked) == 0);
}

TEST_CASE_METHOD(aborted_scene, "galera: tracers of the program's see what they saw, and stay") {
  recording_tracer of_connection, of_transaction;
  auto held = locks.acquire(key);
  const odb::connection_ptr connection(bank->connection());
  connection->tracer(of_connection);
  {
    odb::transaction t(connection->begin());
    t.tracer(of_transaction);
    held.verify(t);
    write(*bank, 1, 7);
    t.commit();
  }
  CHECK(connection->tracer() == &of_connection);
  CHECK(of_connection.times("BEGIN") == 1);
  CHECK(of_connection.times("COMMIT") == 1);
  CHECK(of_transaction.seen.size() == 2);  // the check and the write; the check at the commit belongs to the connection
  CHECK(of_connection.seen.size() == 3);
  {
    odb::transaction t(connection->begin());
    held.verify(t);
    t.rollback();
  }
  CHECK(connection->tracer() == &of_connection);
  connection->tracer(nullptr);
}

TEST_CASE_METHOD(aborted_scene, "galera: a program that replaces the tracer of the connection is told") {
  const auto held = locks.acquire(key);
  check_replaced_tracer(*bank, held, *observer, [&] { return bank->begin(); });
}

TEST_CASE_METHOD(aborted_scene, "galera: after a failed check nothing more can be done in the transaction") {
  auto held = locks.acquire(key);
  odb::transaction t(bank->begin());
  held.verify(t);
  load(*bank, 1);
  grant_elsewhere();
  verifies();  // until the first node has it, and has rolled the transaction back
  CHECK_THROWS(write(*bank, 1, 666));
  CHECK_THROWS(write(*bank, 2, 666));
  CHECK_THROWS(t.commit());
  CHECK(t.finalized());
  CHECK(read(*bank, 1).balance == 100);
  CHECK(read(*bank, 2).balance == 100);
}

TEST_CASE("galera: programs at two nodes that claim and write the same rows need no other node's luck") {
  busy_cluster nodes;
  const auto bank = open_bank(busy_cluster::bank(nodes.first()));
  make_bank(*bank, 4, 0);
  nodes.wait();
  std::array<std::atomic<int>, 5> holders{};
  std::atomic<int> twice{0}, misuse{0}, written{0}, claimed{0};
  std::vector<std::thread> threads;
  for (const auto port : {nodes.first(), nodes.second()}) {
    threads.emplace_back([&, port] {
      const auto here = open_bank(busy_cluster::bank(port));
      lock_service locks(busy_cluster::locks(port));
      using query = odb::query<wallet>;
      for (int i = 0; i != 300; ++i) {
        try {
          for (auto& row : claim<wallet>(locks, *here, query(true) + "ORDER BY" + query::id, 2)) {
            ++claimed;
            const auto id = row->id;
            if (holders[id].fetch_add(1) != 0) ++twice;
            ++row->balance;
            holders[id].fetch_sub(1);
            row.commit();
            ++written;
          }
        } catch (const store_error& error) {
          if (!error.transient()) ++misuse;
        } catch (const lock_lost&) {
        } catch (const odb::exception&) {
        } catch (const std::logic_error& error) {
          ++misuse;
          UNSCOPED_INFO(error.what());
        }
      }
    });
  }
  for (auto& each : threads) each.join();
  nodes.wait();
  std::int64_t sum = 0;
  for (const auto& each : all_wallets(*bank)) sum += each.balance;
  CAPTURE(claimed);
  CHECK(misuse == 0);
  CHECK(twice == 0);
  CHECK(written > 0);
  CHECK(sum == written);
}

}  // namespace dlock::test
