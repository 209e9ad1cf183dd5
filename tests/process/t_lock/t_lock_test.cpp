// SPDX-License-Identifier: BSL-1.0

/// Processes that lock by dlock and by the published protocol, in one table; all are killed at random. Half of what
/// they do is for requests that all of them serve, which may be inside together.

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "contract/backends/mysql/schemes.hpp"
#include "support/program_output.hpp"

namespace dlock::test {

namespace {

/// How often each line stands in the logs, by its first two words.
std::map<std::string, int> lines_of(const std::vector<std::string>& logs) {
  std::map<std::string, int> lines;
  for (const auto& log : logs) {
    std::ifstream in(log);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string first, second;
      words >> first >> second;
      ++lines[first + (second.empty() ? "" : " " + second)];
      if (first == "error" || first == "overlap") UNSCOPED_INFO(line);
    }
  }
  return lines;
}

}  // namespace

TEST_CASE("t_lock: dlock and programs of the published protocol exclude each other, all killed at random",
          "[T48][T91]") {
  const t_lock_fixture fixture;
  const auto owner = mysql_setting("DLOCK_TEST_MYSQL_OWNER_URL");
  const auto url = store_url::parse(owner);
  raw_mysql client(owner);
  const auto witness = fixture.table() + "_witness";
  client.run(
      "CREATE TABLE " + witness +
      " (k VARCHAR(32) PRIMARY KEY, holder VARCHAR(64) NOT NULL, until_us BIGINT NOT NULL, inside INT NOT NULL)");
  client.run("INSERT INTO " + witness + " VALUES ('k0', '', 0, 0), ('k1', '', 0, 0)");
  // A row made beforehand: two first users of a key in the published protocol get an error.
  client.run("INSERT INTO " + fixture.table() + " (lock_key) VALUES ('k0'), ('k1')");

  const auto jdbc = fmt::format("jdbc:mariadb://{}:{}/{}", url.hosts.at(0).host, url.hosts.at(0).port, url.path);
  const std::vector<std::string> java{"java",
                                      "-Xshare:auto",
                                      "-XX:TieredStopAtLevel=1",
                                      "-XX:+UseSerialGC",
                                      "-Xmx64m",
                                      "-cp",
                                      DLOCK_TEST_JAVA_CLASSES ":" DLOCK_TEST_MARIADB_JAR,
                                      "Neighbour",
                                      jdbc,
                                      url.user,
                                      url.password,
                                      fixture.table(),
                                      witness,
                                      "request-1",
                                      "request-2"};
  const std::vector<std::string> ours{
      DLOCK_TEST_T_LOCK_WORKER, fixture.url(), owner, witness, "request-1", "request-2"};
  std::vector<std::string> logs;
  const auto log = [&] {
    logs.push_back(fmt::format("t_lock_{}.log", id128::random().hex()));
    return logs.back();
  };
  const std::array kinds{"visit java", "visit dlock", "visit java-shared", "visit dlock-shared"};
  {
    std::vector<std::unique_ptr<child_process>> children;
    for (const auto& command : {java, ours, java, ours})
      children.push_back(std::make_unique<child_process>(command, log()));
    std::mt19937 random{20};
    // For half a minute, and on a slow machine until everybody has been inside often enough.
    const auto begun = std::chrono::steady_clock::now();
    const auto enough = [&] {
      const auto time = std::chrono::steady_clock::now() - begun;
      if (time < 30s) return false;
      const auto seen = lines_of(logs);
      return time > 240s || std::all_of(kinds.begin(), kinds.end(),
                                        [&](const char* each) { return seen.contains(each) && seen.at(each) > 50; });
    };
    while (!enough()) {
      std::this_thread::sleep_for(std::chrono::milliseconds{500 + random() % 1500});
      auto& victim = *children[random() % children.size()];
      victim.kill();
      victim.start();
    }
  }
  const auto lines = lines_of(logs);
  const auto count = [&](const char* line) { return lines.contains(line) ? lines.at(line) : 0; };
  UNSCOPED_INFO("visits: java " << count("visit java") << ", dlock " << count("visit dlock")
                                << "; of requests that both "
                                << "serve: " << count("visit java-shared") << ", " << count("visit dlock-shared"));
  CHECK(count("overlap java") == 0);
  CHECK(count("overlap dlock") == 0);
  for (const auto* each : kinds) CHECK(count(each) > 50);
  for (const auto& [line, times] : lines) CHECK_FALSE(line.starts_with("error"));
  for (const auto& each : logs) ::unlink(each.c_str());
  // Everybody is dead: both keys can be had once the last leases have ended.
  auto store = open_store(fixture.url());
  client.run("DROP TABLE " + witness);
}

}  // namespace dlock::test
