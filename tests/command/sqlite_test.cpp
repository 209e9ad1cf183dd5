// SPDX-License-Identifier: BSL-1.0

/// The verbs of the command dlock that look at locks, on an SQLite file.

#include <poll.h>
#include <pty.h>
#include <sys/stat.h>

#include "command/program.hpp"
#include "dlock/event_log.hpp"
#include "support/raw_sqlite.hpp"

namespace dlock::test {

namespace {

struct file_scene : url_scene {
  file_scene() { url = "sqlite:" + (folder / "locks.db"); }
  const scratch_folder folder{};
};

}  // namespace

TEST_CASE("dlock: the URL comes from --url, else DLOCK_URL, else a configuration file") {
  const scratch_folder folder;
  const auto url = [&](const char* name) { return "sqlite:" + (folder / name); };
  for (const char* const each : {"option.db", "variable.db", "file.db", "home.db"}) {
    lock_service locks{url(each)};
    const auto held = locks.acquire(std::string("of ") + each);
    static_cast<void>(locks.close(0ms));
  }
  const auto write = [](const std::string& path, const std::string& text) { std::ofstream(path) << text; };
  write(folder / "given.conf", "# where the locks are\n\nurl = \"" + url("file.db") + "\"\n");
  write(folder / "dlock.conf", "url=" + url("home.db") + "\n");
  const dlock_program::variables home{{"XDG_CONFIG_HOME", folder / ""}};
  auto with_file = home, with_all = home;
  with_file.emplace("DLOCK_CONFIG", folder / "given.conf");
  with_all = with_file;
  with_all.emplace("DLOCK_URL", url("variable.db"));
  // doctor names the file.
  const auto store = [](strings arguments, const dlock_program::variables& in) {
    arguments.insert(arguments.end(), {"doctor", "--json"});
    return nlohmann::json::parse(dlock_does(arguments, in).out).at("store").get<std::string>();
  };
  CHECK(store({"--url", url("option.db")}, with_all).find("option.db") != std::string::npos);
  CHECK(store({}, with_all).find("variable.db") != std::string::npos);
  CHECK(store({}, with_file).find("file.db") != std::string::npos);
  // What stands on the command line is stronger than the environment.
  CHECK(store({"--config", folder / "given.conf"}, with_all).find("file.db") != std::string::npos);
  CHECK(dlock_does({"--config", folder / "missing.conf", "list"}, with_all).code == 78);
  CHECK(dlock_does({"--url", "", "list"}, with_all).code == 64);
  CHECK(store({"--config", folder / "given.conf"}, home).find("file.db") != std::string::npos);
  CHECK(store({}, home).find("home.db") != std::string::npos);
}

TEST_CASE("dlock: no URL, a wrong one and a wrong file have an exit code each, and a text that says what to do") {
  const scratch_folder folder;
  const auto none = dlock_does({"list"});
  CHECK(none.code == 64);
  CHECK(none.error.find("DLOCK_URL") != std::string::npos);
  CHECK(dlock_does({"list", "--url", "nowhere"}).code == 64);
  CHECK(dlock_does({"list", "--url", "sqlite:x?what=1"}).code == 64);
  CHECK(dlock_does({"list", "--config", folder / "missing"}).code == 78);
  std::ofstream(folder / "wrong.conf") << "url = sqlite:x\npassword = y\n";
  const auto wrong = dlock_does({"list", "--config", folder / "wrong.conf"});
  CHECK(wrong.code == 78);
  CHECK(wrong.error.find("wrong.conf:2") != std::string::npos);
  std::ofstream(folder / "empty.conf") << "# url = sqlite:x\n";
  // A folder can be opened and not be read.
  CHECK(dlock_does({"list", "--config", folder / ""}).error.find("can't be read") != std::string::npos);
  CHECK(dlock_does({"timeline", folder / ""}).code == 65);
  const auto empty = dlock_does({"list", "--config", folder / "empty.conf"});
  CHECK(empty.code == 78);
  CHECK(empty.error.find("has no line 'url = ...'") != std::string::npos);
  // Editors of Windows begin a file with a byte order mark.
  std::ofstream(folder / "marked.conf") << "\xef\xbb\xbfurl = sqlite:" << (folder / "none.db") << "\r\n";
  CHECK(dlock_does({"list", "--config", folder / "marked.conf"}).code == 69);
  // A file that is not there is not made by who only looks.
  const auto missing = dlock_does({"list", "--url", "sqlite:" + (folder / "none.db")});
  CHECK(missing.code == 69);
  CHECK(::access((folder / "none.db").c_str(), F_OK) != 0);
  const auto as_json = dlock_does({"list", "--json", "--url", "sqlite:" + (folder / "none.db")});
  CHECK(nlohmann::json::parse(as_json.error).at("exit_code") == 69);
  CHECK(dlock_does({}).code == 64);
  CHECK(dlock_does({"lst"}).code == 64);
  CHECK(dlock_does({"--help"}).code == 0);
  CHECK(dlock_does({"run", "--help"}).code == 0);
  CHECK(dlock_does({"--version"}).out.find('.') != std::string::npos);
}

TEST_CASE_METHOD(file_scene, "dlock list: shows what is held, by whom, and leaves out what is not asked for") {
  lock_service locks{url, {.label = "lister"}};
  const auto a = locks.acquire("order:1"), b = locks.acquire("order:2"), c = locks.acquire("report:daily");
  const auto own = locks.acquire("throttle", {.ttl = 1h, .renewal = renewal::none});
  { const auto free = locks.acquire("order:3"); }
  const auto all = json({"list"});
  CHECK(names(all.at("keys")) == strings{"order:1", "order:2", "report:daily", "throttle"});
  const auto& first = all.at("keys").at(0);
  CHECK(first.at("fence") == a.fencing_token());
  CHECK(first.at("pid") == ::getpid());
  CHECK(first.at("label") == "lister");
  CHECK(first.at("state") == "held");
  CHECK(first.at("kind") == "session");
  CHECK(all.at("keys").at(3).at("kind") == "expiring");
  CHECK(names(json({"list", "--prefix", "order:"}).at("keys")) == strings{"order:1", "order:2"});
  CHECK(names(json({"list", "--limit", "1"}).at("keys")) == strings{"order:1"});
  CHECK(names(json({"list", "--after", "order:1"}).at("keys")) == strings{"order:2", "report:daily", "throttle"});
  CHECK(does({"list", "--keys", "--prefix", "rep"}).out == "report:daily\n");
  // What is left out is said.
  CHECK(json({"list", "--limit", "4"}).at("complete") == true);
  CHECK(json({"list", "--limit", "3"}).at("complete") == false);
  CHECK(does({"list", "--limit", "4"}).error.empty());
  const auto cut = does({"list", "--limit", "3"});
  CHECK(cut.code == 0);
  CHECK(cut.error.find("more is held") != std::string::npos);
  const auto table = does({"list"}).out;
  CHECK(table.find("KEY") == 0);
  CHECK(table.find("lister") != std::string::npos);
  CHECK(does({"list", "--prefix", "zzz"}).out.empty());
}

TEST_CASE_METHOD(file_scene, "dlock list: pages through more keys than one page has") {
  lock_service locks{url};
  std::vector<lease> held;
  for (int i = 0; i != 1205; ++i) held.push_back(locks.acquire("k" + std::to_string(10'000 + i)));
  CHECK(json({"list", "--limit", "5000"}).at("keys").size() == 1205);
  CHECK(json({"list", "--limit", "5000", "--prefix", "k111"}).at("keys").size() == 100);
}

TEST_CASE_METHOD(file_scene,
                 "dlock list, show, force: a row that is locked in place is named by its table and its id") {
  const auto run = [&](const std::string& sql) { raw_sqlite(folder / "locks.db").run(sql); };
  run("CREATE TABLE orders (id INTEGER PRIMARY KEY, version INTEGER NOT NULL DEFAULT 0)");
  run("INSERT INTO orders (id) VALUES (42), (43)");
  CHECK(json({"schema", "--rows", "orders"}).at("statements").size() == 3);
  check_row_verbs(*this, "orders", run);
}

TEST_CASE_METHOD(file_scene, "dlock show, force: take each key as list and as JSON has it") {
  lock_service locks{url};
  for (const std::string& each :
       {std::string("App\\Jobs\\Send"), std::string("a\xff"), std::string("b\0c", 3), std::string(400, 'x')}) {
    INFO(detail::printable_text(each));
    auto held = locks.acquire(std::string_view(each));
    auto printed = does({"list", "--keys"}).out;
    printed.pop_back();
    CHECK(does({"show", "--escaped", printed}).code == 0);
    const auto listed = json({"list"}).at("keys").at(0);
    if (listed.contains("key_escaped")) {
      CHECK(json({"force", "--escaped", listed.at("key_escaped")}).at("forced") == true);
    } else {
      CHECK(listed.at("key") == held.key());
      CHECK(json({"show", listed.at("key")}).at("key") == held.key());
      CHECK(json({"force", listed.at("key")}).at("forced") == true);
    }
    held = {};
    CHECK(eventually([&] { return does({"list", "--keys"}).out.empty(); }));
  }
}

TEST_CASE_METHOD(file_scene, "dlock show: a held key is 0 and a free one is 1") {
  lock_service locks{url};
  const auto held = locks.acquire("k");
  const auto shown = does({"show", "k"});
  CHECK(shown.code == 0);
  CHECK(shown.out.find(std::to_string(::getpid())) != std::string::npos);
  CHECK(json({"show", "k"}).at("holder").at("fence") == held.fencing_token());
  const auto free = does({"show", "other"});
  CHECK(free.code == 1);
  CHECK(free.out.find("free") != std::string::npos);
  CHECK(json({"show", "other"}).at("held") == false);
}

TEST_CASE_METHOD(file_scene,
                 "dlock force: revokes a session's lease, frees one with its own expiry, and is 1 for a free key") {
  lock_service locks{url};
  const auto kept = locks.acquire("kept", {.ttl = 1h});
  const auto own = locks.acquire("own", {.ttl = 1h, .renewal = renewal::none});
  CHECK(json({"force", "kept"}).at("free") == false);
  CHECK(json({"show", "kept"}).at("holder").at("state") == "revoked");
  CHECK(json({"force", "own"}).at("free") == true);
  CHECK(does({"show", "own"}).code == 1);
  const auto none = does({"force", "unknown-key"});
  CHECK(none.code == 1);
}

TEST_CASE_METHOD(file_scene, "dlock waiters: a store whose waiters poll says that it does not know them") {
  lock_service locks{url};
  const auto held = locks.acquire("k");
  const auto answer = does({"waiters", "k", "--url", url + "?wake=off"});
  CHECK(answer.code == 69);
  CHECK(answer.error.find("dlock_waiting_calls") != std::string::npos);
  CHECK(answer.out.empty());
}

TEST_CASE_METHOD(file_scene, "dlock waiters, list: who waits for a key, in the order of their coming, and how many") {
  lock_service locks{url};
  const auto other = locks.acquire("other");
  {
    const auto held = locks.acquire("k");
    CHECK(does({"waiters", "k"}).code == 1);
    CHECK(json({"list"}).at("keys").at(0).at("waiters") == 0);
  }
  check_who_waits(*this, {}, [&](const nlohmann::json& all) {
    CHECK(all.at(0).at("waited_seconds") > 0);
    const auto keys = json({"list"}).at("keys");
    CHECK(keys.at(0).at("waiters") == 2);
    CHECK(keys.at(1).at("waiters") == 0);
  });
}

TEST_CASE_METHOD(file_scene, "dlock watch: prints grants and releases, and ends when the key is free") {
  lock_service locks{url, {.label = "first"}};
  auto held = locks.acquire("k");
  dlock_program program({"watch", "k", "--interval", "5ms", "--until", "free", "--json"}, environment());
  REQUIRE(eventually([&] { return program.out().find("\"held\"") != std::string::npos; }));
  CHECK_FALSE(program.ended());
  held.release();
  CHECK(program.code() == 0);
  std::istringstream lines(program.out());
  std::vector<std::string> changes;
  for (std::string line; std::getline(lines, line);) changes.push_back(nlohmann::json::parse(line).at("change"));
  CHECK(changes == strings{"held", "released"});
}

TEST_CASE_METHOD(file_scene, "dlock watch: another holder is a grant, and a time that runs out is 1") {
  lock_service locks{url};
  auto held = locks.acquire("k");
  CHECK(does({"watch", "k", "--until", "free", "--for", "50ms", "--interval", "5ms"}).code == 1);
  dlock_program program({"watch", "k", "--interval", "1ms"}, environment());
  REQUIRE(eventually([&] { return program.out().find("held") != std::string::npos; }));
  // Again and again, so that a poll falls on it however slow the machine is.
  REQUIRE(eventually([&] {
    held = {};
    held = locks.acquire("k");
    return program.out().find("granted") != std::string::npos;
  }));
}

TEST_CASE_METHOD(file_scene, "dlock top: numbers, sessions and the keys held longest, as often as asked for") {
  lock_service locks{url, {.label = "holder"}};
  const auto a = locks.acquire("a"), b = locks.acquire("b");
  const auto result = does({"top", "--json", "--refreshes", "3", "--interval", "10ms", "--rows", "1"});
  CHECK(result.code == 0);
  std::istringstream lines(result.out);
  std::vector<nlohmann::json> all;
  for (std::string line; std::getline(lines, line);) all.push_back(nlohmann::json::parse(line));
  REQUIRE(all.size() == 3);
  CHECK(all[0].at("held") == 2);
  CHECK(all[0].at("statements") <= 4);
  CHECK(all[0].at("grants_per_second").is_null());
  CHECK(all[1].at("grants_per_second") == 0.0);
  CHECK(all[1].at("losses_per_second") == 0.0);
  CHECK(names(all[0].at("longest")) == strings{"a"});
  CHECK(all[0].at("sessions").at(0).at("locks") == 2);
  CHECK(all[0].at("sessions").at(0).at("label") == "holder");
  const auto text = does({"top"}).out;
  CHECK(text.find("SESSION OF") != std::string::npos);
  CHECK(text.find("holder") != std::string::npos);
}

namespace {

/// The command on a terminal of its own, as an operator has it.
class on_terminal {
 public:
  on_terminal(strings arguments, const std::string& url) {
    arguments.insert(arguments.begin(), DLOCK_TEST_COMMAND);
    winsize window{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    pid_ = ::forkpty(&terminal_, nullptr, nullptr, &window);
    REQUIRE(pid_ >= 0);
    if (pid_ != 0) return;
    ::setenv("DLOCK_URL", url.c_str(), 1);
    std::vector<char*> all;
    for (auto& each : arguments) all.push_back(each.data());
    all.push_back(nullptr);
    ::execv(all[0], all.data());
    ::_exit(99);
  }
  on_terminal(const on_terminal&) = delete;
  on_terminal& operator=(const on_terminal&) = delete;
  ~on_terminal() {
    ::close(terminal_);
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  void type(char key) const { REQUIRE(::write(terminal_, &key, 1) == 1); }
  /// Reads until the text comes. False: it did not.
  bool shows(const std::string& text) {
    const auto limit = std::chrono::steady_clock::now() + 60s;
    while (std::chrono::steady_clock::now() < limit) {
      if (const auto at = seen_.find(text); at != std::string::npos) {
        seen_.erase(0, at + text.size());
        return true;
      }
      pollfd answer{terminal_, POLLIN, 0};
      char buffer[4096];
      if (::poll(&answer, 1, 60'000) != 1) return false;
      const auto size = ::read(terminal_, buffer, sizeof buffer);
      if (size <= 0) return false;
      seen_.append(buffer, static_cast<std::size_t>(size));
    }
    return false;
  }

 private:
  int terminal_ = -1;
  pid_t pid_ = -1;
  std::string seen_{};
};

}  // namespace

TEST_CASE_METHOD(file_scene,
                 "dlock top: gives the terminal back as it was, also at Ctrl-Z and when it quits with a core") {
  { lock_service locks{url}; }
  const std::string takes = "\x1b[?1049h", gives_back = "\x1b[?1049l";
  on_terminal program({"top", "--interval", "10ms"}, url);
  CHECK(program.shows(takes));
  CHECK(program.shows("keys:"));
  program.type('\x1a');
  CHECK(program.shows(gives_back));
  CHECK(program.shows(takes));  // no shell has stopped it here, because its session has none
  CHECK(program.shows("keys:"));
  program.type('\x1c');
  CHECK(program.shows(gives_back));
}

TEST_CASE_METHOD(file_scene, "dlock doctor: a healthy file is 0, and each finding says what it means and what to do") {
  { lock_service locks{url}; }
  const auto healthy = json({"doctor"});
  CHECK(healthy.at("ok") == true);
  CHECK(does({"doctor"}).code == 0);
  raw_sqlite(folder / "locks.db").run("CREATE TABLE orders (id INTEGER PRIMARY KEY)");
  bool found = false;
  const auto all = json({"doctor"});
  for (const auto& each : all.at("checks")) {
    if (each.at("check") != "other tables") continue;
    found = true;
    CHECK(each.at("level") == "note");
    CHECK(each.at("value") == "orders");
    CHECK(each.contains("meaning"));
    CHECK(each.contains("advice"));
  }
  CHECK(found);
  raw_sqlite(folder / "locks.db").run("UPDATE dlock_schema_version SET migration = 1");
  const auto broken = does({"doctor"});
  CHECK(broken.code == 1);
  CHECK(broken.out.find("PROBLEM") != std::string::npos);
  const auto missing = dlock_does({"doctor", "--url", "sqlite:" + (folder / "none.db"), "--json"});
  CHECK(missing.code == 1);
  CHECK(nlohmann::json::parse(missing.out).at("ok") == false);
}

TEST_CASE_METHOD(file_scene,
                 "dlock doctor: says how missing tables are made, and looks at the rights of the file that it used") {
  std::ofstream(folder / "dlock.conf") << "url = " << url << "\n";
  for (const auto& [mode, warns] : {std::pair{0644, true}, std::pair{0600, false}}) {
    REQUIRE(::chmod((folder / "dlock.conf").c_str(), static_cast<mode_t>(mode)) == 0);
    for (const auto& [arguments, variables] :
         {std::pair<strings, dlock_program::variables>{{"--config", folder / "dlock.conf"}, {}},
          {{}, {{"DLOCK_CONFIG", folder / "dlock.conf"}}},
          {{}, {{"XDG_CONFIG_HOME", folder / ""}}}}) {
      auto words = arguments;
      words.emplace_back("doctor");
      const auto out = dlock_does(words, variables).out;
      CHECK((out.find("can be read by every user") != std::string::npos) == warns);
      CHECK(out.find("dlock schema | sqlite3 FILE") != std::string::npos);
    }
  }
}

TEST_CASE_METHOD(file_scene, "dlock gc: deletes what is idle and nothing else, and only counts with --dry-run") {
  lock_service locks{url};
  const auto held = locks.acquire("held");
  for (int i = 0; i != 250; ++i) const auto idle = locks.acquire("idle " + std::to_string(i));
  const auto counted = json({"gc", "--dry-run", "--idle", "1ms"});
  CHECK(counted.at("deleted") == 0);
  CHECK(counted.at("free") == 250);
  CHECK(json({"gc"}).at("deleted") == 0);  // none of them is a day old
  const auto done = json({"gc", "--idle", "1ms", "--step", "100"});
  CHECK(done.at("deleted") == 250);
  CHECK(done.at("steps") >= 3);
  CHECK(done.at("keys") == 1);
  CHECK(does({"show", "held"}).code == 0);
}

TEST_CASE_METHOD(file_scene, "dlock gc: deletes marks of work whose time is over, and no others") {
  check_gc_of_marks(*this);
}

TEST_CASE_METHOD(file_scene, "dlock run --lead: a command that exits by itself is not started again after a loss") {
  const std::string script =
      "[ -e \"$SCENE/begun\" ] && exit 4; touch \"$SCENE/begun\"; "
      "until [ -e \"$SCENE/go\" ]; do sleep 0.02; done; exit 3";
  dlock_program program({"run", "--lead", "job", "--", "sh", "-c", script},
                        {{"DLOCK_URL", url}, {"SCENE", folder / ""}});
  REQUIRE(eventually([&] { return ::access((folder / "begun").c_str(), F_OK) == 0; }));
  // dlock learns of it by the release, because the next renewal is far away.
  raw_sqlite(folder / "locks.db").run("DELETE FROM dlock_lock");
  std::ofstream(folder / "go").flush();
  CHECK(program.code() == 79);
  CHECK(program.error().find("the command had exited") != std::string::npos);
}

TEST_CASE_METHOD(file_scene, "dlock bench: measures the figures that it names, and leaves no key held") {
  { lock_service locks{url}; }
  const auto all = json({"bench", "--time", "1s"});
  std::vector<std::string> found;
  for (const auto& each : all.at("figures")) {
    found.push_back(each.at("name"));
    CHECK((each.contains("per_second") ? each.at("per_second").get<double>() : each.at("p50_us").get<double>()) > 0);
  }
  CHECK(found == strings{"round trip", "commit", "lock and unlock", "eight threads", "hand-over"});
  CHECK(json({"list"}).at("keys").empty());
}

TEST_CASE_METHOD(file_scene, "dlock schema: an SQLite file made by it is one that programs with schema=verify open") {
  const auto statements = json({"schema", "--prefix", "own_"}).at("statements");
  {
    raw_sqlite raw(folder / "locks.db");
    for (const auto& each : statements) raw.run(each.get<std::string>());
  }
  lock_service locks{url + "?schema=verify&prefix=own_"};
  CHECK(locks.acquire("k").fencing_token() == 1);
  CHECK(does({"schema", "--prefix", "x'; DROP"}).code == 64);
  CHECK(does({"schema", "--database", "oracle"}).code == 64);
}

TEST_CASE_METHOD(file_scene, "dlock timeline: draws what event logs of several services tell") {
  const auto log = folder / "events.jsonl";
  {
    lock_service a{url, {.observer = make_event_log(log, {.service = "a"})}};
    lock_service b{url, {.observer = make_event_log(log, {.service = "b"})}};
    { const auto held = a.acquire("order:<1>"); }
    const auto held = b.acquire("order:<1>");
    CHECK_FALSE(granted(a.try_acquire("order:<1>")));
  }
  const auto picture = folder / "picture.svg";
  const auto report = json({"timeline", log, "--out", picture});
  CHECK(report.at("holds") == 2);
  CHECK(report.at("holders") == 2);
  const auto svg = dlock_program::read(picture);
  CHECK(svg.starts_with("<svg"));
  CHECK(svg.find("order:&lt;1&gt;") != std::string::npos);
  CHECK(svg.find("order:<1>") == std::string::npos);
  CHECK(svg.find("released") != std::string::npos);
  CHECK(does({"timeline", log}).out == svg);
  std::ofstream(folder / "wrong") << "{\"event\":\"granted\"}\n";
  const auto wrong = does({"timeline", folder / "wrong"});
  CHECK(wrong.code == 65);
  CHECK(wrong.error.find(":1:") != std::string::npos);
}

}  // namespace dlock::test
