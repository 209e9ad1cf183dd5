// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "dlock/lock_service.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/stopped_process.hpp"
#include "support/test.hpp"

namespace dlock::test {

/// The command dlock as a process, with what it prints. Killed when destroyed.
class dlock_program {
 public:
  using variables = std::map<std::string, std::string>;

  /// `more`: of its environment. DLOCK_URL and DLOCK_CONFIG are those given here or none. TEST_USER: the user that it
  /// runs as.
  explicit dlock_program(std::vector<std::string> arguments, const variables& more = {})
      : words_(std::move(arguments)), out_(folder_ / "out"), error_(folder_ / "error") {
    words_.insert(words_.begin(), DLOCK_TEST_COMMAND);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    redirect(out_, 1);
    redirect(error_, 2);
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    ::dup2(nothing, 0);
    // As of cron: no terminal, whatever the test has.
    ::setsid();
    if (const auto user = more.find("TEST_USER"); user != more.end()) {
      if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 ||
          ::setuid(static_cast<uid_t>(std::stoul(user->second))) != 0)
        ::_exit(98);
    }
    ::unsetenv("DLOCK_URL");
    ::unsetenv("DLOCK_CONFIG");
    ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
    for (const auto& [name, value] : more) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> all;
    for (auto& each : words_) all.push_back(each.data());
    all.push_back(nullptr);
    ::execv(all[0], all.data());
    ::_exit(99);
  }
  dlock_program(const dlock_program&) = delete;
  dlock_program& operator=(const dlock_program&) = delete;
  ~dlock_program() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::kill(pid_, SIGCONT);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const noexcept { return pid_; }
  /// SIGSTOP; returns when it stands still.
  void stop() const { stop_process(pid_); }
  void signal(int number) const { REQUIRE(::kill(pid_, number) == 0); }
  /// Its exit code; 1000 + the signal that ended it. Waits for it.
  int code() {
    if (pid_ > 0) {
      int status = 0;
      REQUIRE(::waitpid(pid_, &status, 0) == pid_);
      pid_ = -1;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    }
    return code_;
  }
  bool ended() {
    if (pid_ <= 0) return true;
    siginfo_t info{};
    REQUIRE(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0);
    return info.si_pid != 0;
  }
  std::string out() const { return read(out_); }
  std::string error() const { return read(error_); }
  nlohmann::json json() const { return nlohmann::json::parse(out()); }
  /// The same, at its end.
  nlohmann::json answer() {
    code();
    INFO(error());
    return json();
  }

  static std::string read(const std::string& path) {
    std::ifstream in(path);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
  static void redirect(const std::string& path, int to) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(file, to);
  }

  scratch_folder folder_{};
  std::vector<std::string> words_;
  const std::string out_;
  const std::string error_;
  pid_t pid_ = -1;
  int code_ = -1;
};

/// What it says when it is done.
struct command_result {
  int code = 0;
  std::string out{};
  std::string error{};
};

inline command_result dlock_does(std::vector<std::string> arguments, const dlock_program::variables& more = {}) {
  dlock_program program(std::move(arguments), more);
  command_result result;
  result.code = program.code();
  result.out = program.out();
  result.error = program.error();
  return result;
}

/// The command on one store.
struct url_scene {
  std::string url;

  dlock_program::variables environment() const { return {{"DLOCK_URL", url}}; }
  command_result does(std::vector<std::string> arguments) const {
    return dlock_does(std::move(arguments), environment());
  }
  nlohmann::json json(std::vector<std::string> arguments) const {
    arguments.push_back("--json");
    const auto result = does(std::move(arguments));
    INFO(result.error);
    CHECK(result.error.empty());
    return nlohmann::json::parse(result.out);
  }
  /// What doctor says of it; null: nothing.
  nlohmann::json check(const std::string& name) const {
    const auto all = json({"doctor"});
    for (const auto& each : all.at("checks")) {
      if (each.at("check") == name) return each;
    }
    return {};
  }
};

using strings = std::vector<std::string>;

/// `first`, then `second` wait for "k", which `holder` has. `meanwhile`: while both do.
template <class Meanwhile>
void check_who_waits(const url_scene& s, const lock_options& defaults, Meanwhile&& meanwhile) {
  lock_service holder{s.url, {.defaults = defaults}}, first{s.url, {.label = "first", .defaults = defaults}},
      second{s.url, {.label = "second", .defaults = defaults}};
  auto held = holder.acquire("k");
  const auto waiters = [&] { return s.json({"waiters", "k"}).at("waiters"); };
  auto one = std::async(std::launch::async, [&] { first.acquire("k", {.wait = std::chrono::minutes{5}}).release(); });
  CHECK(eventually([&] { return waiters().size() == 1; }));
  auto two = std::async(std::launch::async, [&] { second.acquire("k", {.wait = std::chrono::minutes{5}}).release(); });
  CHECK(eventually([&] { return waiters().size() == 2; }));
  const auto all = waiters();
  CHECK(all.at(0).at("label") == "first");
  CHECK(all.at(0).at("pid") == ::getpid());
  CHECK(all.at(1).at("label") == "second");
  CHECK(s.json({"waiters", "k", "--limit", "1"}).at("waiters").size() == 1);
  CHECK(s.json({"waiters", "k", "--limit", "1"}).at("count") == 2);
  meanwhile(all);
  held.release();
  one.get();  // whoever is first has let go
  two.get();
}

/// The keys of what a verb lists.
inline strings names(const nlohmann::json& holders) {
  strings all;
  for (const auto& each : holders) all.push_back(each.at("key"));
  return all;
}

/// `dlock waiters` finds the thread of another service that waits for a key, and no longer when it has the key.
inline void check_waiters(const std::string& url) {
  using namespace std::chrono_literals;
  const dlock_program::variables environment{{"DLOCK_URL", url}};
  const auto count = [&](const std::string& key) {
    return dlock_program({"waiters", key, "--json"}, environment).answer().at("count").get<std::uint64_t>();
  };
  lock_service holder{url, {.label = "holder", .defaults = {.ttl = 10s}}};
  lock_service other{url, {.label = "other", .defaults = {.ttl = 10s}}};
  auto held = holder.acquire("waited");
  CHECK(count("waited") == 0);
  CHECK(dlock_does({"waiters", "waited"}, environment).code == 1);
  auto waits = std::async(std::launch::async, [&] { return other.acquire("waited", {.wait = 5min}); });
  CHECK(eventually([&] { return count("waited") == 1; }));
  CHECK(dlock_does({"waiters", "waited"}, environment).out.starts_with("1 process waits for 'waited'\n"));
  CHECK(count("other") == 0);
  held.release();
  const auto got = waits.get();
  CHECK(eventually([&] { return count("waited") == 0; }));
}

/// `dlock list` counts the processes that wait for each key.
inline void check_counted_waiters(const url_scene& s) {
  using namespace std::chrono_literals;
  lock_service holder{s.url, {.defaults = {.ttl = 10s}}}, other{s.url, {.defaults = {.ttl = 10s}}};
  auto free = holder.acquire("a"), waited = holder.acquire("b");
  const auto counts = [&] {
    std::vector<std::uint64_t> all;
    const auto listed = s.json({"list"});
    for (const auto& each : listed.at("keys")) all.push_back(each.at("waiters").get<std::uint64_t>());
    return all;
  };
  CHECK(counts() == std::vector<std::uint64_t>{0, 0});
  auto waits = std::async(std::launch::async, [&] { return other.acquire("b", {.wait = 5min}); });
  CHECK(eventually([&] { return counts() == std::vector<std::uint64_t>{0, 1}; }));
  waited.release();
  waits.get().release();
}

/// What works on every store.
inline void check_verbs(const url_scene& s) {
  const auto ran = s.does({"run", "job", "--ttl", "10s", "--", "sh", "-c", "echo $DLOCK_KEY; exit 4"});
  CHECK(ran.error.empty());
  CHECK(ran.out == "job\n");
  CHECK(ran.code == 4);
  lock_service locks{s.url, {.label = "holder", .defaults = {.ttl = std::chrono::seconds{10}}}};
  const auto b = locks.acquire("b"), a = locks.acquire("a");
  CHECK(s.does({"run", "a", "--ttl", "10s", "--on-busy", "fail", "--", "true"}).code == 75);
  CHECK(names(s.json({"list"}).at("keys")) == strings{"a", "b"});
  CHECK(s.json({"list"}).at("rows").empty());
  CHECK(s.json({"show", "a"}).at("held") == true);
  CHECK(s.does({"show", "c"}).code == 1);
  CHECK(s.does({"show", "1", "--table", "orders"}).code != 0);
  const auto top = s.json({"top"});
  CHECK(top.at("held") == 2);
  CHECK(top.at("longest").size() == 2);
  CHECK(s.does({"doctor"}).code == 0);
  const auto forced = s.does({"force", "a"});
  CHECK(forced.code == 0);
  CHECK(s.does({"watch", "c", "--until", "free"}).code == 0);
  CHECK(s.does({"gc", "--idle", "1ms"}).code == 0);
}

/// `dlock gc` deletes marks of work whose time is over, although this command has used no mark.
inline void check_gc_of_marks(const url_scene& s) {
  using namespace std::chrono_literals;
  lock_service locks{s.url};
  locks.once("ever", [] {});
  locks.once("a day", {.valid = 24h}, [] {});
  for (const auto* const key : {"a second", "another"}) locks.once(key, {.valid = 1s}, [] {});
  CHECK(s.json({"gc"}).at("deleted") == 0);
  CHECK(eventually([&] { return !locks.done("a second") && !locks.done("another"); }));
  CHECK(s.json({"gc"}).at("deleted") == 2);
  CHECK(s.json({"gc"}).at("deleted") == 0);
  CHECK(locks.done("ever"));
  CHECK(locks.done("a day"));
}

/// What works on the rows of a table with the ids 42 and 43, which `run`, the application, gives lock columns.
inline void check_row_verbs(const url_scene& s, const std::string& table,
                            const std::function<void(const std::string&)>& run) {
  const auto columns = s.json({"schema", "--rows", table});
  for (const auto& each : columns.at("statements")) {
    if (const auto statement = each.get<std::string>(); statement.starts_with("ALTER")) run(statement);
  }
  const auto label = table.substr(table.find('.') + 1);
  const auto described = std::make_shared<row_table>(row_table{.table = table,
                                                               .label = label,
                                                               .id = {"id"},
                                                               .owner = "lock_owner",
                                                               .expires_at = "lock_expires_at_us",
                                                               .fence = "lock_fence",
                                                               .version = "version"});
  lock_service locks{s.url, {.label = "rows"}};
  const auto held = locks.acquire(lock_key::of_row(described, {std::int64_t{42}}));
  const auto found = s.json({"list"});
  CHECK(found.at("keys").empty());
  if (label == table) CHECK(names(found.at("rows")) == strings{label + ":42"});  // in the database of the locks
  CHECK(names(s.json({"list", "--table", table}).at("rows")) == strings{label + ":42"});
  CHECK(s.json({"list", "--no-rows"}).at("rows").empty());
  const auto shown = s.json({"show", "42", "--table", table});
  CHECK(shown.at("held") == true);
  CHECK(shown.at("holder").at("label") == "rows");
  CHECK(s.does({"show", "43", "--table", table}).code == 1);
  CHECK(s.does({"show", "42", "--table", "customers"}).code == 69);
  CHECK(s.json({"force", "42", "--table", table}).at("forced") == true);
  CHECK(s.json({"show", "42", "--table", table}).at("holder").at("state") == "revoked");
}

/// Process ids that a script wrote into a file, one in each line.
inline std::vector<pid_t> pids_in(const std::string& path) {
  std::ifstream in(path);
  std::vector<pid_t> all;
  for (pid_t each = 0; in >> each;) all.push_back(each);
  return all;
}

/// A zombie is gone, because it runs no more, unless it has other threads.
inline bool process_gone(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(in, text)) return true;
  const auto end = text.rfind(')');
  if (end == std::string::npos || end + 2 >= text.size()) return false;
  if (text[end + 2] == 'X') return true;
  std::error_code ignored;
  const auto tasks = std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", ignored);
  return text[end + 2] == 'Z' && std::distance(begin(tasks), std::filesystem::directory_iterator{}) < 2;
}

inline bool all_gone(const std::vector<pid_t>& pids) {
  for (const pid_t each : pids) {
    if (!process_gone(each)) return false;
  }
  return true;
}

}  // namespace dlock::test
