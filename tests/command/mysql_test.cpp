// SPDX-License-Identifier: BSL-1.0

/// The command dlock on MariaDB and MySQL.

#include <fmt/format.h>

#include "command/program.hpp"
#include "support/mysql_global_setting.hpp"
#include "support/tcp_proxy.hpp"

namespace dlock::test {

namespace {

struct mysql_scene : url_scene {
  mysql_scene() {
    url = fixture.url();
    fixture.open();
  }
  mysql_fixture fixture{};
};

}  // namespace

TEST_CASE("dlock on MySQL: run, list, show, force, gc") {
  const mysql_scene s;
  CHECK(s.does({"run", "idle", "--", "sh", "-c", "echo $DLOCK_FENCE"}).out == "1\n");
  {
    lock_service locks{s.url, {.label = "holder"}};
    const auto held = locks.acquire("order:1");
    CHECK(s.json({"show", "order:1"}).at("holder").at("label") == "holder");
    CHECK(s.json({"force", "order:1"}).at("forced") == true);
    CHECK(s.json({"show", "order:1"}).at("holder").at("state") == "revoked");
    CHECK(s.json({"gc", "--idle", "1ms"}).at("deleted") == 1);
  }
  check_verbs(s);
}

TEST_CASE("dlock on MySQL: gc deletes marks of work whose time is over, and no others") {
  check_gc_of_marks(mysql_scene());
}

TEST_CASE("dlock on MySQL: rows of a table in another database") {
  const mysql_scene s;
  raw_mysql app(mysql_setting("DLOCK_TEST_MYSQL_APP_URL"));
  const auto table =
      store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_APP_URL")).path + "." + s.fixture.prefix() + "orders";
  app.run("CREATE TABLE " + table + " (id BIGINT NOT NULL PRIMARY KEY, version INT NOT NULL DEFAULT 0) ENGINE=InnoDB");
  app.run("INSERT INTO " + table + " (id) VALUES (42), (43)");
  check_row_verbs(s, table, [&](const std::string& sql) { app.run(sql); });
  const auto wrong = s.does({"show", "fortytwo", "--table", table});
  CHECK(wrong.code == 64);
  CHECK(wrong.error.find("fortytwo") != std::string::npos);
  app.run("DROP TABLE " + table);
}

TEST_CASE("dlock on MySQL: waiters shows the connections that wait for a named lock, and for a row") {
  const mysql_fixture fixture;
  const auto url = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const std::string separator = url.find('?') == std::string::npos ? "?" : "&";
  check_waiters(url + separator + "scheme=named_lock&prefix=" + fixture.prefix());
  const auto table = fixture.prefix() + "waited";
  raw_mysql owner(url);
  const auto schema = dlock_program({"schema", "--json", "--database", "mysql", "--scheme", "for_update", "--table",
                                     table, "--name", store_url::parse(url).path})
                          .answer();
  for (const auto& statement : schema.at("statements")) owner.run(statement.get<std::string>());
  owner.run("INSERT INTO `" + table + "` (resource) VALUES ('waited'), ('other')");
  check_waiters(url + separator + "scheme=for_update&table=" + table);
  owner.run("DROP TABLE `" + table + "`");
}

TEST_CASE("dlock on MySQL: top needs four statements for a refresh") {
  const mysql_scene s;
  lock_service locks{s.url};
  const auto held = locks.acquire("k");
  auto root = raw_mysql::root();
  // What the server counted meanwhile; what the program's start takes is the same both times.
  const auto selects = [&](const std::string& refreshes) {
    const auto count = [&] {
      return std::stol(root.rows("SHOW GLOBAL STATUS LIKE 'Com_select'").at(0).at(1).value_or("0"));
    };
    const auto before = count();
    const auto result = s.does({"top", "--refreshes", refreshes, "--interval", "1ms", "--json"});
    CHECK(result.code == 0);
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
      const auto report = nlohmann::json::parse(line);
      CHECK(report.at("statements") == 4);
      CHECK(report.at("held") == 1);
    }
    return count() - before;
  };
  // Measured again where the service above connected meanwhile, because that takes a SELECT too.
  CHECK(eventually([&] {
    const auto one = selects("1");
    return selects("21") - one == 80;
  }));
}

TEST_CASE("dlock on MySQL: doctor names what a crash may lose, with what to do") {
  const mysql_scene s;
  {
    const global_setting safe("innodb_flush_log_at_trx_commit", "1");
    CHECK(s.check("durability").at("level") == "ok");
    CHECK(s.does({"doctor"}).code == 0);
  }
  {
    const global_setting unsafe("innodb_flush_log_at_trx_commit", "2");
    const auto found = s.check("durability");
    CHECK(found.at("level") == "warning");
    CHECK(found.at("value").get<std::string>().find("= 2") != std::string::npos);
    CHECK(found.at("advice").get<std::string>().find("= 1") != std::string::npos);
    CHECK(s.does({"doctor"}).code == 0);
    CHECK(s.does({"doctor", "--strict"}).code == 1);
  }
  CHECK(s.check("tables").at("level") == "ok");
  CHECK(s.check("dead holders").at("level") == "ok");
  CHECK(s.check("connections").contains("value"));
}

TEST_CASE("dlock on MySQL: doctor finds a proxy that does not pass on the timeouts of dlock's connections") {
  mysql_scene s;
  const auto direct = s.check("timeouts");
  CHECK(direct.at("level") == "ok");
  CHECK(direct.at("value").get<std::string>().find("row locks 1 s") == 0);
  auto url = store_url::parse(s.url);
  tcp_proxy proxy(url.hosts.at(0).port);
  proxy.rewrite_requests("innodb_lock_wait_timeout=1", "innodb_lock_wait_timeout=9");
  s.url.replace(s.url.find(fmt::format(":{}/", url.hosts.at(0).port)), fmt::format(":{}", url.hosts.at(0).port).size(),
                fmt::format(":{}", proxy.port()));
  s.url += "&tls=off";  // the proxy could not rewrite what is sent in TLS
  const auto found = s.check("timeouts");
  CHECK(found.at("level") == "warning");
  CHECK(found.at("value").get<std::string>().find("row locks 9 s") == 0);
  CHECK_FALSE(found.at("advice").get<std::string>().empty());
}

TEST_CASE("dlock on MySQL: doctor finds tables that are half migrated, and tables that are missing") {
  const mysql_scene s;
  raw_mysql owner(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  owner.run("UPDATE " + s.fixture.table("schema_version") + " SET migration = 1");
  const auto broken = s.does({"doctor"});
  CHECK(broken.code == 1);
  CHECK(broken.out.find("migration") != std::string::npos);
  owner.run("UPDATE " + s.fixture.table("schema_version") + " SET migration = 0");
  CHECK(s.does({"doctor"}).code == 0);
  owner.run("DROP TABLE " + s.fixture.table("floor"));
  const auto missing = s.does({"doctor"});
  CHECK(missing.code == 1);
  CHECK(missing.out.find(s.fixture.prefix() + "floor") != std::string::npos);
}

TEST_CASE("dlock on MySQL: doctor finds a waiter table that is missing or lacks a column, with what to do") {
  const mysql_scene s;
  raw_mysql owner(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  const auto table = s.fixture.table("waiter");
  CHECK(s.check("waiter table").at("level") == "ok");
  owner.run("ALTER TABLE " + table + " DROP COLUMN held");
  const auto lacks = s.check("waiter table");
  CHECK(lacks.at("level") == "warning");
  CHECK(lacks.at("value").get<std::string>().find("'w.held'") != std::string::npos);
  CHECK(s.does({"doctor"}).code == 0);
  CHECK(s.does({"doctor", "--strict"}).code == 1);
  owner.run(lacks.at("advice").get<std::string>());
  CHECK(s.check("waiter table").at("level") == "ok");
  owner.run("DROP TABLE " + table);
  const auto missing = s.check("waiter table");
  CHECK(missing.at("level") == "warning");
  CHECK(missing.at("advice").get<std::string>().find(table) != std::string::npos);
  CHECK(missing.at("advice").get<std::string>().find("dlock schema") != std::string::npos);
  CHECK(dlock_does({"doctor", "--json"}, {{"DLOCK_URL", s.url + "&wake=off"}}).out.find("waiter table") ==
        std::string::npos);
}

TEST_CASE("dlock schema: with what it prints a user may lock, on dlock's tables and on those of each scheme") {
  const mysql_fixture fixture;
  const auto owner_url = store_url::parse(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  raw_mysql owner(mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL"));
  auto root = raw_mysql::root();
  const auto user = fixture.prefix() + "dba";
  root.run(fmt::format("CREATE USER '{}'@'127.0.0.1' IDENTIFIED BY 'pw'", user));
  const auto host = owner_url.hosts.empty() ? std::string("127.0.0.1") : owner_url.hosts[0].host;
  const auto port = owner_url.hosts.empty() ? 0 : owner_url.hosts[0].port;
  for (const std::string scheme :
       {"lease_table", "t_lock", "state_row", "unique_insert", "shedlock", "for_update", "named_lock"}) {
    INFO(scheme);
    const auto table = fixture.prefix() + scheme;
    std::vector<std::string> arguments{"schema", "--json",       "--database", "mysql", "--scheme", scheme,
                                       "--name", owner_url.path, "--user",     user,    "--host",   "127.0.0.1"};
    const bool own = scheme == "lease_table";
    if (own) {
      arguments.insert(arguments.end(), {"--prefix", fixture.prefix()});
    } else {
      arguments.insert(arguments.end(), {"--table", table});
    }
    const bool shared =
        scheme == "t_lock" || scheme == "state_row" || scheme == "unique_insert" || scheme == "shedlock";
    const auto printed = dlock_does(arguments, {{"DLOCK_URL", shared ? "mysql://host/locks?wake=on" : ""}});
    CHECK(printed.code == 0);
    const auto parsed = nlohmann::json::parse(printed.out);
    for (const auto& each : parsed.at("statements")) {
      const auto statement = each.get<std::string>();
      (statement.starts_with("GRANT") ? root : owner).run(statement);
    }
    const auto url = fmt::format("mysql://{}:pw@{}:{}/{}?scheme={}&{}", user, host, port, owner_url.path, scheme,
                                 own                      ? "schema=verify&prefix=" + fixture.prefix()
                                 : scheme == "named_lock" ? "prefix=" + fixture.prefix()
                                 : shared                 ? "wake=on&table=" + table
                                                          : "table=" + table);
    if (scheme == "for_update") owner.run("INSERT INTO `" + table + "` (resource) VALUES ('k')");
    {
      lock_service locks{url};
      auto held = locks.acquire("k");
      CHECK_FALSE(granted(lock_service(url).try_acquire("k")));
      CHECK(dlock_does({"show", "k"}, {{"DLOCK_URL", url}}).code == 0);
      lock_service other{url};
      std::future<bool> waits;
      if (shared) {
        waits = std::async(std::launch::async, [&] { return granted(other.acquire("k", {.wait = 60s})); });
        CHECK(eventually([&] { return locks.waiters("k").count == 1; }));
      }
      held.release();
      CHECK((!shared || waits.get()));
      CHECK(eventually([&] { return locks.waiters("k").count == 0; }));
      CHECK(dlock_does({"doctor"}, {{"DLOCK_URL", url}}).code == 0);
    }
    if (shared) {
      url_scene s;
      s.url = url;
      CHECK(s.check("waiter table").at("level") == "ok");
      owner.run("ALTER TABLE `dlock_waiter_" + table + "` DROP COLUMN session_id");
      CHECK(s.check("waiter table").at("level") == "warning");
      owner.run("DROP TABLE `dlock_waiter_" + table + "`");
      CHECK(s.check("waiter table").at("level") == "warning");
    }
    if (!own && scheme != "named_lock") owner.run("DROP TABLE `" + table + "`");
  }
  root.run(fmt::format("DROP USER '{}'@'127.0.0.1'", user));
}

}  // namespace dlock::test
