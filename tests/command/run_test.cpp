// SPDX-License-Identifier: BSL-1.0

/// dlock run: a command under a lock, and what becomes of it when something dies. On an SQLite file; shells are the
/// commands.

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include "command/program.hpp"

namespace dlock::test {

namespace {

class run_scene {
 public:
  const scratch_folder folder{};
  const std::string url = "sqlite:" + (folder / "locks.db");
  const dlock_program::variables environment{{"DLOCK_URL", url}, {"SCENE", folder / ""}};

  /// dlock run with these options, and a shell script as the command. "$SCENE" is the folder there.
  std::vector<std::string> arguments(std::vector<std::string> options, const std::string& script) const {
    std::vector<std::string> all{"run", "job"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  command_result run(std::vector<std::string> options, const std::string& script) const {
    return dlock_does(arguments(std::move(options), script), environment);
  }
  bool there(const std::string& name) const { return ::access((folder / name).c_str(), F_OK) == 0; }
  std::string text(const std::string& name) const { return dlock_program::read(folder / name); }
  bool free() const {
    lock_service locks{url};
    return !locks.holder("job");
  }
};

/// It writes its own pid and those of its children, one of which is in a session apart; none of them obeys
/// SIGTERM.
constexpr const char* family = R"(
trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >>"$SCENE/pids"; for i in 1 2 3; do sleep 100; done' &
sh -c 'trap "" TERM; echo $$ >>"$SCENE/pids"; for i in 1 2 3; do sleep 100; done' &
echo $$ >>"$SCENE/pids"
for i in 1 2 3; do sleep 100; done)";

pid_t guard_of(pid_t program) {
  pid_t found = 0;
  const auto polls = [&] {
    std::ifstream in("/proc/" + std::to_string(program) + "/task/" + std::to_string(program) + "/children");
    in >> found;
    return found > 0;
  };
  REQUIRE(eventually(polls));
  return found;
}

}  // namespace

TEST_CASE_METHOD(run_scene,
                 "dlock run: the command finds key, fencing token and deadline, and its exit code is returned") {
  const auto first = run({}, "echo \"$DLOCK_KEY $DLOCK_FENCE\"; echo $DLOCK_DEADLINE; date +%s; exit 7");
  CHECK(first.error.empty());
  CHECK(first.code == 7);
  std::istringstream lines(first.out);
  std::string key, fence;
  long deadline = 0, now = 0;
  lines >> key >> fence >> deadline >> now;
  CHECK(key == "job");
  CHECK(fence == "1");
  CHECK(deadline > now);
  CHECK(deadline <= now + 30);
  CHECK(run({}, "echo $DLOCK_FENCE").out == "2\n");
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run: a command that a signal ended is 128 and its number") {
  CHECK(run({}, "kill -9 $$").code == 128 + SIGKILL);
  CHECK(run({}, "kill -TERM $$").code == 128 + SIGTERM);
}

TEST_CASE_METHOD(run_scene, "dlock run: what can't be executed is 126, what is not there 127") {
  const auto missing = dlock_does({"run", "job", "--", "no-such-program-anywhere"}, environment);
  CHECK(missing.code == 127);
  CHECK(missing.error.find("no-such-program-anywhere") != std::string::npos);
  CHECK(dlock_does({"run", "job", "--", "/etc/passwd"}, environment).code == 126);
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run: while another one runs, fail is 75, skip is 0, and neither runs its command") {
  dlock_program first(arguments({}, "touch \"$SCENE/begun\"; until [ -e \"$SCENE/go\" ]; do sleep 0.05; done"),
                      environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  const auto failed = run({"--on-busy", "fail"}, "touch \"$SCENE/ran\"");
  CHECK(failed.code == 75);
  CHECK(failed.error.find("job") != std::string::npos);
  const auto skipped = run({"--on-busy", "skip"}, "touch \"$SCENE/ran\"");
  CHECK(skipped.code == 0);
  CHECK(skipped.error.empty());
  const auto waited = run({"--wait", "100ms"}, "touch \"$SCENE/ran\"");
  CHECK(waited.code == 75);
  CHECK_FALSE(there("ran"));
  std::ofstream(folder / "go").flush();
  CHECK(first.code() == 0);
}

TEST_CASE_METHOD(run_scene, "dlock run: one that waits gets the key when the other one ends") {
  dlock_program first(arguments({},
                                "touch \"$SCENE/begun\"; until [ -e \"$SCENE/go\" ]; do sleep 0.05; done; "
                                "echo 1 >>\"$SCENE/order\""),
                      environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  dlock_program second(arguments({"--wait", "60s"}, "echo 2 >>\"$SCENE/order\""), environment);
  std::ofstream(folder / "go").flush();
  CHECK(first.code() == 0);
  CHECK(second.code() == 0);
  CHECK(text("order") == "1\n2\n");
}

TEST_CASE_METHOD(run_scene, "dlock run: min-hold keeps the key after a command that was quick") {
  CHECK(run({"--min-hold", "1h"}, "true").code == 0);
  CHECK(run({"--on-busy", "fail"}, "true").code == 75);
}

TEST_CASE_METHOD(run_scene, "dlock run: signals reach the command, and its answer is returned") {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    const auto name = "begun" + std::to_string(number);
    const auto script = "trap 'exit " + std::to_string(40 + number) + "' " + std::to_string(number) +
                        "; touch \"$SCENE/" + name + "\"; while :; do sleep 0.05; done";
    dlock_program program(arguments({}, script), environment);
    REQUIRE(eventually([&] { return there(name); }));
    program.signal(number);
    CHECK(program.code() == 40 + number);
  }
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run: a signal ends the wait for a busy key") {
  lock_service locks{url};
  const auto held = locks.acquire("job");
  dlock_program program(arguments({"--label", "waiter"}, "touch \"$SCENE/ran\""), environment);
  // It waits: there is its guard, and it has begun to ask for the key.
  guard_of(program.pid());
  program.signal(SIGTERM);
  CHECK(program.code() == 128 + SIGTERM);
  CHECK_FALSE(there("ran"));
}

TEST_CASE_METHOD(run_scene, "dlock run: killed, it leaves nothing of the command behind, wherever that is") {
  dlock_program program(arguments({"--kill-after", "200ms"}, family), environment);
  REQUIRE(eventually([&] { return pids_in(folder / "pids").size() == 3; }));
  const auto pids = pids_in(folder / "pids");
  const auto guard = guard_of(program.pid());
  program.signal(SIGKILL);
  CHECK(program.code() == 1000 + SIGKILL);
  CHECK(eventually([&] { return all_gone(pids); }));
  CHECK(eventually([&] { return process_gone(guard); }));
}

TEST_CASE_METHOD(run_scene,
                 "dlock run: if its guard is killed, nothing of the command is left, and the exit code says so") {
  dlock_program program(arguments({}, family), environment);
  REQUIRE(eventually([&] { return pids_in(folder / "pids").size() == 3; }));
  const auto pids = pids_in(folder / "pids");
  REQUIRE(::kill(guard_of(program.pid()), SIGKILL) == 0);
  CHECK(program.code() == 70);
  CHECK(all_gone(pids));
  CHECK(program.error().find("guard") != std::string::npos);
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run: if it and its guard are killed at once, the command itself dies") {
  dlock_program program(arguments({}, "trap '' TERM; echo $$ >\"$SCENE/pids\"; for i in 1 2 3; do sleep 100; done"),
                        environment);
  REQUIRE(eventually([&] { return pids_in(folder / "pids").size() == 1; }));
  const auto guard = guard_of(program.pid());
  program.stop();
  REQUIRE(::kill(guard, SIGKILL) == 0);
  program.signal(SIGKILL);
  program.code();
  CHECK(eventually([&] { return all_gone(pids_in(folder / "pids")); }));
}

TEST_CASE_METHOD(run_scene, "dlock run: a lock that is taken away ends the command and all that it started, with 79") {
  dlock_program program(arguments({"--ttl", "1s"}, family), environment);
  REQUIRE(eventually([&] { return pids_in(folder / "pids").size() == 3; }));
  const auto forced = dlock_does({"force", "job"}, environment);
  CHECK(forced.code == 0);
  CHECK(program.code() == 79);
  CHECK(all_gone(pids_in(folder / "pids")));
  CHECK(program.error().find("ended") != std::string::npos);
}

TEST_CASE_METHOD(run_scene, "dlock run: a command that heeds SIGTERM when the lock is lost may end by itself") {
  dlock_program program(arguments({"--ttl", "2s", "--json"},
                                  "trap 'echo bye; exit 5' TERM; touch \"$SCENE/begun\"; while :; do sleep 0.02; done"),
                        environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  CHECK(dlock_does({"force", "job"}, environment).code == 0);
  CHECK(program.code() == 79);
  CHECK(program.out() == "bye\n");
  // A shell may say before that its child was ended.
  const auto said = program.error();
  const auto report = nlohmann::json::parse(said.substr(said.rfind("{\"key\"")));
  CHECK(report.at("result") == "lost");
  CHECK(report.at("command_exit_code") == 5);
  CHECK(report.at("exit_code") == 79);
}

TEST_CASE_METHOD(run_scene,
                 "dlock run: while it stands still the guard ends the command, before the key can be another's") {
  dlock_program program(arguments({"--ttl", "5s"}, family), environment);
  REQUIRE(eventually([&] { return pids_in(folder / "pids").size() == 3; }));
  const auto pids = pids_in(folder / "pids");
  program.stop();
  lock_service locks{url};
  // Nobody can have got the key when the command's last process was gone.
  REQUIRE(eventually([&] { return all_gone(pids); }));
  CHECK(locks.holder("job"));
  program.signal(SIGCONT);
  CHECK(program.code() == 79);
}

TEST_CASE_METHOD(run_scene, "dlock run: what the command leaves behind is ended, or with --leave-children left alone") {
  constexpr auto script =
      "setsid sh -c 'echo $$ >\"$SCENE/left\"; exec sleep 300' & until [ -s \"$SCENE/left\" ]; do "
      "sleep 0.02; done; exit 3";
  CHECK(run({}, script).code == 3);
  CHECK(all_gone(pids_in(folder / "left")));
  ::unlink((folder / "left").c_str());
  CHECK(run({"--leave-children"}, script).code == 3);
  const auto left = pids_in(folder / "left");
  REQUIRE(left.size() == 1);
  CHECK_FALSE(process_gone(left[0]));
  ::kill(left[0], SIGKILL);
}

TEST_CASE_METHOD(run_scene, "dlock run: a process whose main thread has ended is ended like any other") {
  dlock_program program(
      arguments({"--ttl", "1s"}, "\"" DLOCK_TEST_THREADS_ONLY "\" \"$SCENE/pids\" & touch \"$SCENE/begun\"; wait"),
      environment);
  const auto zombie = [&] {
    const auto pids = pids_in(folder / "pids");
    if (pids.empty()) return false;
    return dlock_program::read("/proc/" + std::to_string(pids.front()) + "/stat").find(") Z ") != std::string::npos;
  };
  REQUIRE(eventually([&] { return there("begun") && zombie(); }));
  const auto pid = pids_in(folder / "pids").front();
  CHECK(dlock_does({"force", "job"}, environment).code == 0);
  CHECK(program.code() == 79);
  CHECK(process_gone(pid));
  ::kill(pid, SIGKILL);
}

TEST_CASE_METHOD(run_scene,
                 "dlock run: a process of another user is named at once, and in the end has an exit code of its own") {
  if (::geteuid() != 0) SKIP("only root can run dlock as another user than its command");
  // dlock as "nobody", whose command becomes root by a program with the setuid bit, as sudo is one.
  const auto setpriv = folder / "setpriv";
  std::filesystem::copy_file("/usr/bin/setpriv", setpriv);
  REQUIRE(::chmod(setpriv.c_str(), 04755) == 0);
  REQUIRE(::chmod((folder / "").c_str(), 0777) == 0);
  auto as_nobody = environment;
  as_nobody["TEST_USER"] = "65534";
  const std::string script =
      "\"$SCENE/setpriv\" --reuid 0 sh -c 'echo $$ >\"$SCENE/root\"; exec sleep 300' & touch "
      "\"$SCENE/begun\"; wait";
  dlock_program program(arguments({"--ttl", "1s"}, script), as_nobody);
  REQUIRE(eventually([&] { return program.ended() || pids_in(folder / "root").size() == 1; }));
  if (program.ended()) SKIP("nobody may not execute dlock here, or the tests' folder allows no setuid programs");
  const auto pid = pids_in(folder / "root").front();
  const auto named = std::to_string(pid) + " sleep (root)";
  REQUIRE(eventually([&] { return dlock_program::read("/proc/" + std::to_string(pid) + "/comm") == "sleep\n"; }));
  CHECK(dlock_does({"force", "job"}, environment).code == 0);
  CHECK(program.code() == 80);
  CHECK_FALSE(process_gone(pid));
  CHECK(program.error().find("SIGTERM does not reach " + named) != std::string::npos);
  CHECK(program.error().find("could not end " + named) != std::string::npos);
  CHECK(program.error().find("ended the command") == std::string::npos);
  CHECK(::kill(pid, SIGKILL) == 0);
  // The same in JSON, where it is the command's end that leaves the process behind.
  ::unlink((folder / "root").c_str());
  dlock_program second(
      arguments({"--json", "--kill-after", "10ms"}, script.substr(0, script.find("& touch")) +
                                                        "& until [ -s \"$SCENE/root\" ]; do sleep 0.02; done; exit 3"),
      as_nobody);
  CHECK(second.code() == 80);
  const auto report = nlohmann::json::parse(second.error());
  const auto left = pids_in(folder / "root").front();
  CHECK(report.at("result") == "ran");
  CHECK(report.at("command_exit_code") == 3);
  CHECK(report.at("exit_code") == 80);
  REQUIRE(report.at("left").size() == 1);
  CHECK(report.at("left").at(0).at("pid") == left);
  CHECK(report.at("left").at(0).at("user") == "root");
  CHECK(free());
  CHECK(::kill(left, SIGKILL) == 0);
}

TEST_CASE_METHOD(run_scene, "dlock run: each end of the ranges in its help works") {
  for (const std::vector<std::string>& each : std::vector<std::vector<std::string>>{
           {"--ttl", "1s"},
           {"--ttl", "31s"},
           {"--ttl", "1m"},
           {"--ttl", "24h"},
           {"--wait", "1ms"},
           {"--wait", "365d"},
           {"--on-busy", "fail", "--wait", "0"},
           {"--min-hold", "0"},
           {"--max-hold", "0"},
           {"--max-hold", "365d"},
           {"--min-hold", "30d", "--max-hold", "30d", "--free-on-failure"},
           {"--kill-after", "0"},
           {"--ttl", "24h", "--kill-after", "15m"},
       }) {
    CAPTURE(each);
    const bool keeps = each.front() == "--min-hold" && each.at(1) != "0";
    const auto result = run(each, keeps ? "exit 7" : "true");
    CHECK(result.error.empty());
    CHECK(result.code == (keeps ? 7 : 0));
  }
  const auto wrong = run({"--ttl", "25h"}, "true");
  CHECK(wrong.code == 64);
  CHECK(wrong.error.find("--ttl: 25h must be 1s to 1d") != std::string::npos);
}

TEST_CASE_METHOD(run_scene, "dlock run: shared beside readers, and one of so many permits") {
  const std::string dlock = DLOCK_TEST_COMMAND;
  const std::string within = "env -u DLOCK_KEY " + dlock + " run --on-busy fail ";
  CHECK(run({"--shared"}, within + "--shared job -- true").code == 0);
  CHECK(run({"--shared"}, within + "job -- true").code == 75);
  CHECK(run({}, within + "--shared job -- true").code == 75);
  CHECK(run({"--permits", "2"}, within + "--permits 2 job -- true").code == 0);
  CHECK(run({"--permits", "1"}, within + "--permits 1 job -- true").code == 75);
  CHECK(free());
  for (const std::vector<std::string>& each : std::vector<std::vector<std::string>>{{"--shared", "--permits", "2"},
                                                                                    {"--shared", "--lead"},
                                                                                    {"--permits", "2", "--once"},
                                                                                    {"--shared", "--min-hold", "1s"}}) {
    CHECK(run(each, "true").code == 64);
  }
}

TEST_CASE_METHOD(run_scene, "dlock run: with free-on-failure a min-hold counts after a success alone") {
  CHECK(run({"--min-hold", "1h", "--free-on-failure"}, "exit 3").code == 3);
  CHECK(free());
  CHECK(run({"--min-hold", "1h", "--free-on-failure"}, "true").code == 0);
  CHECK(run({"--on-busy", "fail"}, "true").code == 75);
  const auto list = dlock_does({"list"}, environment).out;
  CHECK(list.find("(ended)") != std::string::npos);
  CHECK(run({"--free-on-failure"}, "true").code == 64);
}

TEST_CASE_METHOD(run_scene, "dlock run: within a dlock run of the same key it says so, and does not wait") {
  const std::string dlock = DLOCK_TEST_COMMAND;
  for (const auto& script : {dlock + " run job -- true", dlock + " run other -- " + dlock + " run job -- true"}) {
    CAPTURE(script);
    const auto result = run({}, script);
    CHECK(result.code == 64);
    CHECK(result.error.find("'job' is held by") != std::string::npos);
    CHECK(result.error.find("would never end") != std::string::npos);
  }
  CHECK(run({}, dlock + " run job --on-busy skip -- true").code == 0);
}

TEST_CASE_METHOD(run_scene, "dlock run: with -v it says that it waits, and for whom") {
  lock_service locks{url, {.label = "worker"}};
  const auto held = locks.acquire("job");
  dlock_program program(arguments({"-v"}, "true"), environment);
  CHECK(eventually([&] { return program.error().find("waiting for 'job', held by ") != std::string::npos; }));
  CHECK(program.error().find(std::to_string(::getpid()) + " worker") != std::string::npos);
  CHECK(run({"--wait", "1ms"}, "true").error.find("waiting for") == std::string::npos);
}

TEST_CASE_METHOD(run_scene, "dlock run: the command finds DLOCK_URL, with --hide-url it does not") {
  CHECK(run({}, "echo \"$DLOCK_URL\"").out == url + "\n");
  CHECK(run({"--hide-url"}, "echo \"$DLOCK_URL\"").out == "\n");
}

TEST_CASE_METHOD(run_scene, "dlock run: a missing key, a missing -- and a wrong option are named") {
  const auto says = [&](strings arguments, const std::string& text) {
    CAPTURE(arguments);
    const auto result = dlock_does(std::move(arguments), environment);
    CHECK(result.code == 64);
    CAPTURE(result.error);
    CHECK(result.error.find(text) != std::string::npos);
  };
  says({"run", "--", "make"}, "the key is missing before --");
  says({"run", "--", "make", "deploy"}, "the key is missing before --");
  says({"run", "job", "make", "-x"}, "-- is missing between the key and the command");
  says({"run", "job", "make", "-v"}, "-- is missing between the key and the command");
  says({"run", "job", "--"}, "there is no command after --");
  says({"run", "job", "make", "--", "x"}, "'make' stands between the key and --");
  says({"run", "job", "--onbusy", "skip", "--", "true"}, "no option '--onbusy'; did you mean --on-busy?");
  says({"run", "job", "--min-hold", "2h", "--max-hold", "1h", "--", "true"},
       "--max-hold 1h must not be below --min-hold 2h");
  says({"run", "job", "--label", std::string(65, 'x'), "--", "true"}, "--label has 65 bytes, and may have 64");
  says({"lst"}, "'lst' is not a verb of dlock; did you mean list?");
  says({"show", "a", "b"}, "'b' is one argument too many");
  CHECK_FALSE(there("locks.db"));
  CHECK(dlock_does({"run", "job", "--", "echo", "a", "--", "-v"}, environment).out == "a -- -v\n");
}

TEST_CASE_METHOD(run_scene, "dlock run: max-hold ends the command") {
  const auto ended = run({"--max-hold", "300ms", "--kill-after", "100ms"}, "for i in 1 2 3; do sleep 100; done");
  CHECK(ended.code == 79);
  CHECK(ended.error.find("max hold of 300ms reached: dlock ended the command") != std::string::npos);
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run --lead: after a loss it waits again, and starts the command again") {
  dlock_program program(arguments({"--ttl", "2s", "--lead"},
                                  "mkdir \"$SCENE/leads\" || touch \"$SCENE/two\"; "
                                  "trap 'rmdir \"$SCENE/leads\"; exit 5' TERM; trap '' USR1; "
                                  "echo \"$DLOCK_FENCE\" >>\"$SCENE/terms\"; while :; do sleep 0.02; done"),
                        environment);
  const auto terms = [&] {
    std::istringstream in(there("terms") ? text("terms") : "");
    std::vector<std::uint64_t> all;
    for (std::uint64_t one = 0; in >> one;) all.push_back(one);
    return all;
  };
  REQUIRE(eventually([&] { return terms().size() == 1; }));
  for (const std::size_t next : {2, 3}) {
    CHECK(dlock_does({"force", "job"}, environment).code == 0);
    REQUIRE(eventually([&] { return terms().size() == next; }));
  }
  const auto all = terms();
  CHECK(std::is_sorted(all.begin(), all.end()));
  CHECK(all.front() < all.back());
  CHECK_FALSE(there("two"));
  program.signal(SIGUSR1);
  program.signal(SIGTERM);
  CHECK(program.code() == 5);
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run --lead: it ends with its command, and when a signal ends its wait") {
  CHECK(run({"--lead"}, "exit 79").code == 79);
  CHECK(free());
  lock_service locks{url};
  const auto held = locks.acquire("job");
  dlock_program waits(arguments({"--lead", "-v"}, "true"), environment);
  REQUIRE(eventually([&] { return locks.waiters("job").count == 1; }));
  waits.signal(SIGTERM);
  CHECK(waits.code() == 128 + SIGTERM);
  CHECK(run({"--lead", "--wait", "1s"}, "true").code == 64);
  CHECK(run({"--lead", "--on-busy", "skip"}, "true").code == 64);
}

TEST_CASE_METHOD(run_scene, "dlock run --lead: a signal that came before the loss is not forgotten") {
  dlock_program program(arguments({"--ttl", "2s", "--lead"},
                                  "trap 'touch \"$SCENE/told\"' TERM; touch \"$SCENE/begun\"; "
                                  "while :; do sleep 0.02; done"),
                        environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  program.signal(SIGTERM);
  REQUIRE(eventually([&] { return there("told"); }));
  CHECK(dlock_does({"force", "job"}, environment).code == 0);
  CHECK(program.code() == 79);
}

TEST_CASE_METHOD(run_scene, "dlock run --once: the command that has exited with 0 is not run again") {
  CHECK(dlock_does({"done", "job"}, environment).code != 0);
  CHECK(run({"--once"}, "echo 1 >>\"$SCENE/runs\"; exit 3").code == 3);
  CHECK(dlock_does({"done", "job"}, environment).code == 1);
  CHECK(run({"--once"}, "echo 2 >>\"$SCENE/runs\"").code == 0);
  CHECK(run({"--once", "--on-busy", "fail"}, "echo 3 >>\"$SCENE/runs\"; exit 4").code == 0);
  CHECK(text("runs") == "1\n2\n");
  const auto shown = dlock_does({"done", "job"}, environment);
  CHECK(shown.code == 0);
  CHECK(shown.out.find("done ") != std::string::npos);
  CHECK(shown.out.find("for ever") != std::string::npos);
  const auto report = nlohmann::json::parse(run({"--once", "--json"}, "true").error);
  CHECK(report.at("result") == "done");
  CHECK(dlock_does({"done", "--forget", "job"}, environment).code == 0);
  CHECK(run({"--once", "--valid", "1h"}, "echo 4 >>\"$SCENE/runs\"").code == 0);
  CHECK(text("runs") == "1\n2\n4\n");
  CHECK(nlohmann::json::parse(dlock_does({"--json", "done", "job"}, environment).out).at("remaining_seconds") > 3000);
  CHECK(free());
}

TEST_CASE_METHOD(run_scene, "dlock run --once: who waits runs nothing if it was done meanwhile") {
  dlock_program first(arguments({"--once"}, "touch \"$SCENE/begun\"; until [ -e \"$SCENE/go\" ]; do sleep 0.05; done"),
                      environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  dlock_program second(arguments({"--once"}, "touch \"$SCENE/ran\""), environment);
  lock_service locks{url};
  REQUIRE(eventually([&] { return locks.waiters("job").count == 1; }));
  std::ofstream(folder / "go").flush();
  CHECK(first.code() == 0);
  CHECK(second.code() == 0);
  CHECK_FALSE(there("ran"));
}

TEST_CASE_METHOD(run_scene, "dlock run --once: a command whose lock was lost is not done") {
  dlock_program program(
      arguments({"--ttl", "2s", "--once"}, "trap 'exit 0' TERM; touch \"$SCENE/begun\"; while :; do sleep 0.02; done"),
      environment);
  REQUIRE(eventually([&] { return there("begun"); }));
  CHECK(dlock_does({"force", "job"}, environment).code == 0);
  CHECK(program.code() == 79);
  CHECK(dlock_does({"done", "job"}, environment).code == 1);
  CHECK(run({"--once", "--lead"}, "true").code == 64);
  CHECK(run({"--valid", "1h"}, "true").code == 64);
  CHECK(run({"--once", "--valid", "10ms"}, "true").code == 64);
}

TEST_CASE_METHOD(run_scene, "dlock run --once: a command that was asked to end is not done, also if it exits with 0") {
  const std::string script = "trap 'exit 0' TERM HUP; touch \"$SCENE/begun\"; while :; do sleep 0.02; done";
  for (const int signal : {SIGTERM, SIGHUP}) {
    dlock_program program(arguments({"--once"}, script), environment);
    REQUIRE(eventually([&] { return there("begun"); }));
    program.signal(signal);
    CHECK(program.code() == 128 + signal);
    CHECK(program.error().find("not marked as done") != std::string::npos);
    CHECK(dlock_does({"done", "job"}, environment).code == 1);
    CHECK(free());
    std::filesystem::remove(folder / "begun");
  }
  CHECK(run({"--once", "--max-hold", "500ms"}, script).code == 79);
  CHECK(dlock_does({"done", "job"}, environment).code == 1);
}

TEST_CASE_METHOD(run_scene, "dlock run: with --json it says on the standard error what it did") {
  const auto ran = run({"--json"}, "echo out");
  CHECK(ran.out == "out\n");
  const auto report = nlohmann::json::parse(ran.error);
  CHECK(report.at("key") == "job");
  CHECK(report.at("result") == "ran");
  CHECK(report.at("exit_code") == 0);
  CHECK(report.at("fence") == 1);
  CHECK(report.at("waited_ms").get<double>() >= 0);
  CHECK(report.at("held_ms").get<double>() >= 0);
  lock_service locks{url};
  const auto held = locks.acquire("job");
  const auto busy = nlohmann::json::parse(run({"--json", "--on-busy", "fail"}, "true").error);
  CHECK(busy.at("result") == "busy");
  CHECK(busy.at("exit_code") == 75);
}

TEST_CASE_METHOD(run_scene, "dlock run: wrong options are 64, before anything is locked") {
  CHECK(run({"--ttl", "10ms"}, "true").code == 64);
  CHECK(run({"--ttl", "soon"}, "true").code == 64);
  CHECK(run({"--wait", "0"}, "true").code == 64);
  CHECK(run({"--on-busy", "perhaps"}, "true").code == 64);
  // Longer than the margin: it could run on beside the next holder.
  CHECK(run({"--ttl", "4s", "--kill-after", "2s"}, "true").code == 64);
  CHECK(dlock_does({"run", "job"}, environment).code == 64);
  CHECK(dlock_does({"run", "", "--", "true"}, environment).code == 64);
  CHECK_FALSE(there("locks.db"));
}

TEST_CASE_METHOD(run_scene, "dlock run: the command begins with the signals that dlock began with") {
  // In the place of the shell, which blocks all signals while it starts a program.
  const auto ran = run({}, "exec grep -E '^Sig(Blk|Ign)' /proc/self/status");
  CHECK(ran.code == 0);
  // This process has begun with the same.
  std::ifstream in("/proc/self/status");
  std::string expected;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) expected += line + "\n";
  }
  CHECK(ran.out == expected);
}

TEST_CASE_METHOD(run_scene, "dlock run: the command inherits no file of dlock's") {
  const auto ran = run({}, "ls /proc/$$/fd");
  CHECK(ran.code == 0);
  for (int file = 3; file != 9; ++file) {
    const int flags = ::fcntl(file, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC) == 0) continue;  // this test was started with it, and so is the command
    CAPTURE(file);
    CHECK(ran.out.find("\n" + std::to_string(file) + "\n") == std::string::npos);
  }
}

}  // namespace dlock::test
