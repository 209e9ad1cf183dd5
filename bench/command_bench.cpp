// SPDX-License-Identifier: BSL-1.0
// What the command dlock costs: a command under a lock, and a poll at a hundred thousand held keys.
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dlock/dlock.hpp"
#include "dlock/store_interface/store_admin.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "harness.hpp"
#ifdef DLOCK_BENCH_REDIS
#include "support/redis_server.hpp"
#endif

namespace {

using namespace dlock;
using namespace std::chrono_literals;

double run_ms(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const auto& each : words) all.push_back(const_cast<char*>(each.c_str()));
  all.push_back(nullptr);
  const auto begun = std::chrono::steady_clock::now();
  pid_t pid = 0;
  int status = 0;
  if (::posix_spawn(&pid, all[0], nullptr, nullptr, all.data(), environ) != 0 || ::waitpid(pid, &status, 0) != pid ||
      status != 0) {
    fmt::print(stderr, "{} failed with {}\n", words[0], status);
    std::exit(2);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
}

/// A command alone and under a lock, in turn.
void run_command(const std::string& name, const std::string& url) {
  ::setenv("DLOCK_URL", url.c_str(), 1);
  std::vector<double> alone, locked, added;
  for (int round = 0; round != 41; ++round) {
    const double plain = run_ms({"/bin/true"});
    const double under = run_ms({DLOCK_BENCH_COMMAND, "run", "bench", "--", "/bin/true"});
    if (round == 0) continue;  // it has made the tables
    alone.push_back(plain);
    locked.push_back(under);
    added.push_back(under - plain);
  }
  fmt::print("dlock run, {:<8} {:.1f} ms, of which the command itself {:.1f} ms: {:.1f} ms added\n", name,
             bench::median(locked), bench::median(alone), bench::median(added));
  bench::figures::add("dlock run adds, " + name, "ms", added, {.at_most = 30});
}

/// So many keys, each held by one of a hundred sessions.
void hold_many(store& where, std::size_t many) {
  fault why;
  const auto on = where.connect(5s, why);
  if (on == nullptr) {
    fmt::print(stderr, "{}\n", why.text);
    std::exit(2);
  }
  std::vector<id128> sessions;
  for (int i = 0; i != 100; ++i) {
    sessions.push_back(id128::random());
    where.session(*on, session_verb::open,
                  {.id = sessions.back(), .ttl = 1h, .host = "bench", .pid = i, .label = "many"});
  }
  constexpr std::size_t together = 500;
  for (std::size_t begin = 0; begin < many; begin += together) {
    std::vector<std::string> keys;
    std::vector<request> requests;
    std::vector<reply> replies(together);
    for (std::size_t i = 0; i != together; ++i) keys.push_back(fmt::format("held:{:06}", begin + i));
    for (std::size_t i = 0; i != together; ++i) {
      requests.push_back({.action = verb::insert,
                          .resource = keys[i],
                          .session = sessions[(begin + i) % sessions.size()],
                          .nonce = begin + i + 1});
    }
    where.execute(*on, requests, replies);
    for (const auto& each : replies) {
      if (each.result == outcome::yes) continue;
      fmt::print(stderr, "a key can't be held: {}\n", each.why.text);
      std::exit(2);
    }
  }
}

void top(const std::string& name, const std::string& url) {
  constexpr std::size_t many = 100'000;
  const auto where = open_store(url);
  where->prepare();
  hold_many(*where, many);
  fault why;
  const auto on = where->connect(5s, why);
  std::vector<double> times, statements;
  for (int round = 0; round != 11; ++round) {
    store_overview found;
    reply answer;
    times.push_back(bench::time_us(1, [&] { answer = where->admin()->overview(*on, 500, found); }) / 1000);
    statements.push_back(answer.statements);
    if (answer.result != outcome::yes || found.held != many) {
      fmt::print(stderr, "{}: {} of {} held: {}\n", name, found.held, many, answer.why.text);
      std::exit(2);
    }
  }
  fmt::print("dlock top, {} held keys, {:<8} {:.0f} statements, {:.0f} ms for a refresh\n", many, name,
             bench::median(statements), bench::median(times));
  bench::figures::add("dlock top, statements for a refresh, " + name, "statements", statements, {.at_most = 3});
  bench::figures::add("dlock top, a refresh, " + name, "ms", times);
}

}  // namespace

int main() {
  const bench::sqlite_file file;
  run_command("SQLite", "sqlite:" + file.path);
  const auto mysql = bench::by_socket(store_url::parse(bench::need_env("DLOCK_TEST_MYSQL_OWNER_URL")));
  run_command("MariaDB", mysql + "&prefix=benchr_");
#ifdef DLOCK_BENCH_REDIS
  const test::redis_server redis;
  run_command("Redis", redis.url());
#endif
  top("SQLite", "sqlite:" + file.path + "?prefix=many_");
  top("MariaDB", mysql + fmt::format("&prefix=bench{}_", ::getpid()));
#ifdef DLOCK_BENCH_REDIS
  top("Redis", redis.url());
#endif
  return bench::figures::exit_code();
}
