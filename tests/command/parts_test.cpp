// SPDX-License-Identifier: BSL-1.0

/// Parts of the command dlock, without a process.

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "command_line.hpp"
#include "dlock/lock_key.hpp"
#include "dlock/store_interface/clock.hpp"
#include "event_picture.hpp"
#include "event_story.hpp"
#include "exit_code.hpp"
#include "generate.hpp"
#include "guard.hpp"
#include "output.hpp"
#include "rates.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"
#include "times.hpp"

namespace dlock::command {

using Catch::Matchers::ContainsSubstring;
using namespace std::chrono_literals;
using test::caught;
using test::refusal;

TEST_CASE("times: a number with a unit, and what is no time is refused with its text") {
  CHECK(parse_time("500ms") == 500ms);
  CHECK(parse_time("30s") == 30s);
  CHECK(parse_time("5m") == 5min);
  CHECK(parse_time("2h") == 2h);
  CHECK(parse_time("1d") == 24h);
  CHECK(parse_time("0") == 0ms);
  for (const char* const each : {"", "5", "s", "-1s", "1.5s", "5 s", "5S", "999999999999d", "5sec"}) {
    INFO(each);
    const auto text = refusal([&] { return parse_time(each); });
    CHECK_FALSE(text.empty());
    CHECK(text.find(each) != std::string::npos);
  }
}

TEST_CASE("times: what people read") {
  CHECK(print_time(999us) == "999 us");
  CHECK(print_time(1ms) == "1 ms");
  CHECK(print_time(1s) == "1.0 s");
  CHECK(print_time(59'999ms) == "59.9 s");
  CHECK(print_time(60s) == "1m00s");
  CHECK(print_time(3661s) == "1h01m");
  CHECK(print_time(25h) == "1d01h");
}

TEST_CASE("times: what an option takes is printed as it takes it") {
  for (const char* const each : {"0", "1ms", "1500ms", "90s", "5m", "2h", "365d"}) {
    CHECK(option_time(parse_time(each)) == each);
  }
}

namespace {

/// A command of the guard's: a shell script.
guard::plan shell(const std::string& script, std::chrono::milliseconds kill_after) {
  return {.command = {"sh", "-c", script}, .kill_after = kill_after};
}

std::chrono::microseconds now() { return boot_clock::now().time_since_epoch(); }

}  // namespace

TEST_CASE("guard: where all stood still until long after the lock was certain, there is no time for SIGTERM") {
  const test::scratch_folder folder;
  guard below(shell("trap '' TERM; touch " + (folder / "begun") + "; while :; do sleep 1; done", 1h));
  below.trust_until(now() + 1h);
  below.start({});
  CHECK(below.next().what == guard::report::kind::started);
  REQUIRE(test::eventually([&] { return ::access((folder / "begun").c_str(), F_OK) == 0; }));
  below.trust_until(now() - 1h);
  pollfd answer{below.descriptor(), POLLIN, 0};
  REQUIRE(::poll(&answer, 1, 60'000) == 1);
  const auto what = below.next();
  CHECK(what.what == guard::report::kind::ended);
  CHECK(what.late);
  CHECK_FALSE(what.left);
  CHECK(WTERMSIG(what.value) == SIGKILL);
}

TEST_CASE("guard: a terminal's stop signals do not stop it, and its command begins with those that it began with") {
  guard below(shell("grep SigBlk /proc/self/status | grep -q 0000000000000000", 1s));
  below.trust_until(now() + 1h);
  below.start({});
  CHECK(below.next().what == guard::report::kind::started);
  std::ifstream in("/proc/" + std::to_string(below.pid()) + "/status");
  std::uint64_t blocked = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("SigBlk:")) blocked = std::stoull(line.substr(7), nullptr, 16);
  }
  for (const int each : {SIGTSTP, SIGTTIN, SIGTTOU}) CHECK((blocked >> (each - 1) & 1) == 1);
  const auto what = below.next();
  CHECK(what.what == guard::report::kind::ended);
  CHECK(what.value == 0);
}

TEST_CASE("guard: a signal that comes while it ends what the command left behind changes nothing") {
  guard below(shell("(trap '' TERM; while :; do sleep 1; done) & exit 3", 500ms));
  below.trust_until(now() + 1h);
  below.start({});
  const auto started = below.next();
  REQUIRE(started.what == guard::report::kind::started);
  const auto reaped = "/proc/" + std::to_string(started.value);
  REQUIRE(test::eventually([&] { return ::access(reaped.c_str(), F_OK) != 0; }));
  below.pass_on(SIGWINCH);
  siginfo_t ended{};
  REQUIRE(::waitid(P_PID, static_cast<id_t>(below.pid()), &ended, WEXITED | WNOWAIT) == 0);
  const auto what = below.next();
  CHECK(what.what == guard::report::kind::ended);
  CHECK(WEXITSTATUS(what.value) == 3);
}

TEST_CASE("guard: a variable may be as long as an argument") {
  guard below(shell("test ${#LONG} = 131000", 1s));
  below.trust_until(now() + 1h);
  below.start({{"LONG", std::string(131'000, 'x')}});
  CHECK(below.next().what == guard::report::kind::started);
  CHECK(below.next().value == 0);
}

TEST_CASE("rates: grants and losses are those between two polls") {
  rates of;
  const auto start = std::chrono::steady_clock::time_point{} + 1h;
  const id128 healthy = id128::random(), dies = id128::random(), vanishes = id128::random(), leaves = id128::random();
  store_overview first{.keys = 10, .grants = 100};
  first.sessions = {{.id = healthy, .ttl = 30s, .remaining = 25s, .locks = 1},
                    {.id = dies, .ttl = 30s, .remaining = 5s, .locks = 2},
                    {.id = vanishes, .ttl = 30s, .remaining = 1s, .locks = 4},
                    {.id = leaves, .ttl = 30s, .remaining = 25s, .locks = 8}};
  const auto nothing = of.next(first, start);
  CHECK_FALSE(nothing.grants);
  CHECK_FALSE(nothing.losses);
  auto second = first;
  second.grants = 110;
  second.keys = 11;
  // `leaves` has closed: it was in good health.
  second.sessions = {{.id = healthy, .ttl = 30s, .remaining = 25s, .locks = 1},
                     {.id = dies, .ttl = 30s, .dead = true, .locks = 2}};
  const auto rate = of.next(second, start + 2s);
  CHECK(rate.grants == 5.0);
  CHECK(rate.losses == 3.0);  // 2 of the dead, 4 of the one that was late and is gone
  // One that stays dead is not lost again; where rows were deleted nothing is known of grants.
  auto third = second;
  third.grants = 120;
  third.keys = 5;
  const auto later = of.next(third, start + 4s);
  CHECK_FALSE(later.grants);
  CHECK(later.losses == 0.0);
  CHECK_FALSE(of.next({.keys = 5}, start + 6s).grants);
}

namespace {

event_story story_of(const std::string& lines) {
  event_story story;
  std::istringstream in(lines);
  story.read(in, "log");
  story.finish();
  return story;
}

std::string line(std::int64_t ms, int pid, const std::string& event, const std::string& more = {}) {
  return "{\"time_us\":" + std::to_string((1'000'000 + ms) * 1000) + ",\"host\":\"h\",\"pid\":" + std::to_string(pid) +
         ",\"event\":\"" + event + "\",\"key\":\"k\"" + more + "}\n";
}
constexpr std::int64_t at(std::int64_t ms) { return (1'000'000 + ms) * 1000; }

}  // namespace

TEST_CASE("timeline: a hold lasts from its grant to its end, a wait to its answer") {
  const auto story =
      story_of(line(10, 1, "granted", ",\"fence\":1,\"waited_us\":4000,\"taken_over\":false") +
               line(20, 1, "released", ",\"fence\":1,\"held_us\":10000") + line(30, 2, "busy", ",\"waited_us\":5000"));
  REQUIRE(story.holds().size() == 1);
  const auto& hold = story.holds()[0];
  CHECK(hold.begin == at(10));
  CHECK(hold.end == at(20));
  CHECK(hold.how == event_story::end_of_hold::released);
  CHECK(story.holders()[hold.holder] == "h/1");
  REQUIRE(story.waits().size() == 2);
  CHECK(story.waits()[0].begin == at(6));
  CHECK(story.waits()[0].granted);
  CHECK(story.waits()[1].end == at(30));
  CHECK_FALSE(story.waits()[1].granted);
  CHECK(story.begin() == at(6));
  CHECK(story.end() == at(30));
}

TEST_CASE("timeline: a holder that died holds until another one has taken over") {
  const auto story =
      story_of(line(10, 1, "granted", ",\"fence\":1") + line(50, 2, "granted", ",\"fence\":2,\"taken_over\":true") +
               line(60, 2, "lost", ",\"fence\":2,\"held_us\":10000,\"reason\":\"unreachable\""));
  REQUIRE(story.holds().size() == 2);
  CHECK(story.holds()[0].how == event_story::end_of_hold::taken_over);
  CHECK(story.holds()[0].end == at(50));
  CHECK(story.holds()[1].took_over);
  CHECK(story.holds()[1].how == event_story::end_of_hold::lost);
  CHECK(story.holds()[1].reason == "unreachable");
}

TEST_CASE("timeline: a log that begins or ends in the middle of a hold shows what it knows") {
  const auto story =
      story_of(line(20, 1, "released", ",\"fence\":7,\"held_us\":15000") + line(30, 1, "granted", ",\"fence\":8") +
               line(90, 2, "renewal_late", ",\"text\":\"slow\"") + "{\"time_us\":");
  REQUIRE(story.holds().size() == 2);
  CHECK(story.holds()[0].begin == at(5));
  CHECK(story.holds()[1].how == event_story::end_of_hold::open);
  CHECK(story.holds()[1].end == at(90));
  REQUIRE(story.marks().size() == 1);
  CHECK(story.marks()[0].text == "slow");
}

TEST_CASE("timeline: what is no event is refused with file and line") {
  for (const std::string wrong :
       {"no JSON\n", "[]\n", "{\"event\":\"granted\"}\n", "{\"time_us\":\"x\",\"event\":\"y\"}\n"}) {
    INFO(wrong);
    const auto why = caught<failure>([&] { return story_of(line(1, 1, "busy") + wrong); });
    CHECK(why.code() == exit_code::data);
    CHECK(std::string(why.what()).starts_with("log:2:"));
  }
}

TEST_CASE("timeline: a time that is none is refused") {
  for (const std::string wrong :
       {"{\"time_us\":9223372036854775807,\"event\":\"granted\"}\n", "{\"time_us\":-1,\"event\":\"granted\"}\n",
        "{\"time_us\":1,\"event\":\"released\",\"held_us\":9223372036854775807}\n"}) {
    INFO(wrong);
    const auto why = caught<failure>([&] { return story_of(wrong); });
    CHECK(std::string(why.what()).find("no time") != std::string::npos);
  }
}

TEST_CASE("timeline: of many holds without an end, each ends where the next one of its key begins") {
  std::string log;
  constexpr int count = 50'000;
  for (int i = 0; i != count; ++i) log += line(i + 1, i, "granted", ",\"fence\":" + std::to_string(i + 1));
  const auto begun = std::chrono::steady_clock::now();
  const auto story = story_of(log);
  CHECK(std::chrono::steady_clock::now() - begun < 30s);  // all with all took minutes
  REQUIRE(story.holds().size() == count);
  CHECK(story.holds()[7].end == story.holds()[8].begin);
  CHECK(story.holds()[7].how == event_story::end_of_hold::taken_over);
  CHECK(story.holds().back().how == event_story::end_of_hold::open);
}

TEST_CASE("timeline: the picture has a band for each key, and shows two holders at once as what it is") {
  const auto story = story_of(line(10, 1, "granted", ",\"fence\":1") + line(20, 2, "granted", ",\"fence\":2") +
                              line(30, 1, "released", ",\"fence\":1,\"held_us\":20000") +
                              line(40, 2, "released", ",\"fence\":2,\"held_us\":20000"));
  const auto svg = draw(story, {});
  CHECK(svg.find("held twice at once") != std::string::npos);
  CHECK(svg.find("k: h/1 held it for 20 ms, released; fence 1") != std::string::npos);
  CHECK(draw(story, {.key = "other"}).find("k: h/1") == std::string::npos);
  CHECK(draw(story, {.from = at(35)}).find("h/1 held") == std::string::npos);
  CHECK(draw(event_story{}, {}).starts_with("<svg"));
}

TEST_CASE("timeline: the picture says what each sign means, and lists the events of its triangles") {
  std::string log = line(10, 1, "granted", ",\"fence\":1");
  for (int i = 0; i != 14; ++i) log += line(20 + i, 1, "store_failed", ",\"text\":\"<" + std::to_string(i) + ">\"");
  const auto story = story_of(log);
  REQUIRE(story.marks().size() == 14);
  const auto svg = draw(story, {});
  for (const char* const sign :
       {">held<", ">waited<", ">lost, or the holder died<", ">taken over<", ">an event, listed below by its number<"}) {
    CHECK_THAT(svg, ContainsSubstring(sign));
  }
  CHECK_THAT(svg, ContainsSubstring(">12.  +21 ms  h/1: store_failed: &lt;11&gt;<"));
  CHECK_THAT(svg, !ContainsSubstring(">13.  "));
  CHECK_THAT(svg, ContainsSubstring(">and 2 more: point at their triangles<"));
  // An <img> of a page scales it: its width is that of a page, and no letter is smaller than these.
  CHECK_THAT(svg, ContainsSubstring("viewBox=\"0 0 880 "));
  CHECK_THAT(svg, ContainsSubstring("font: 14px"));
}

TEST_CASE("keys: JSON has the key itself, and what list prints is taken back") {
  for (const std::string& each : {std::string("App\\Jobs\\Send"), std::string("a\nb"), std::string("käse\xe2\x80\xae"),
                                  std::string("a\xff\x01"), std::string("a\0b", 3), std::string("\\x41")}) {
    INFO(dlock::detail::printable_text(each));
    CHECK(unescaped(dlock::detail::printable_text(each)) == each);
    json out = json::object();
    add_key(out, each);
    const auto read = json::parse(text_of(out));
    if (read.contains("key")) CHECK(read.at("key") == each);
    const bool argument = read.contains("key") && each.find('\0') == std::string::npos;
    if (!argument) CHECK(unescaped(read.at("key_escaped").get<std::string>()) == each);
    CHECK(read.contains("key_escaped") == !argument);
    // Nothing that a terminal would obey.
    CHECK(text_of(out).find("\xe2\x80\xae") == std::string::npos);
  }
  for (const char* const each : {"a\\", "\\x4", "\\xgg", "\\n"}) {
    INFO(each);
    CHECK(caught<failure>([&] { return unescaped(each); }).code() == exit_code::usage);
  }
}

TEST_CASE("tables: columns are as wide as they must be, and a screen's edge cuts between characters") {
  text_table table({"KEY", "N"});
  table.add({"käse", "1"});
  table.add({"锁", "22"});
  CHECK(table.lines() == std::vector<std::string>{"KEY   N", "käse  1", "锁    22"});
  CHECK(cut("锁锁", 3) == "锁");
  CHECK(columns_of("锁a") == 3);
}

namespace {

struct generated {
  all_options options{};
  std::unique_ptr<CLI::App> line = make_command_line(options);
};

}  // namespace

TEST_CASE("options: each time and each number has a range in the help, whose ends it takes and no more") {
  const generated of;
  const std::regex range("; ([0-9a-z]+) to ([0-9a-z]+)\\)");
  // One that is just less or just more.
  const auto beside = [](const std::string& end, int by) {
    const bool number = end.find_first_not_of("0123456789") == std::string::npos && end != "0";
    return number ? std::to_string(std::stoll(end) + by) : std::to_string(parse_time(end).count() + by) + "ms";
  };
  const auto takes = [](const CLI::App& verb, const std::string& name, const std::string& value) {
    all_options options;
    const auto line = make_command_line(options);
    std::vector<std::string> words;
    if (verb.get_parent() != nullptr) words.push_back(verb.get_name());
    if (verb.get_parent() == nullptr) words.emplace_back("doctor");
    for (const auto* each : verb.get_options()) {
      if (!each->nonpositional() && each->get_required()) words.emplace_back("x");
    }
    words.push_back("--" + name + "=" + value);
    std::reverse(words.begin(), words.end());
    try {
      line->parse(words);
      return true;
    } catch (const CLI::ParseError& wrong) {
      CHECK(std::string(wrong.what()).find("--" + name) != std::string::npos);
      return false;
    }
  };
  std::vector<const CLI::App*> all{of.line.get()};
  for (const auto* verb : of.line->get_subcommands([](const CLI::App*) { return true; })) all.push_back(verb);
  int found = 0;
  for (const auto* verb : all) {
    for (const auto* option : verb->get_options()) {
      if (option->get_type_name() != "TIME" && option->get_type_name() != "NUMBER") continue;
      INFO(verb->get_name() << " --" << option->get_lnames().front());
      ++found;
      std::smatch ends;
      const auto text = option->get_description();
      REQUIRE(std::regex_search(text, ends, range));
      const auto& name = option->get_lnames().front();
      CHECK(takes(*verb, name, ends[1]));
      CHECK(takes(*verb, name, ends[2]));
      CHECK_FALSE(takes(*verb, name, beside(ends[2], 1)));
      if (ends[1] != "0") CHECK_FALSE(takes(*verb, name, beside(ends[1], -1)));
    }
  }
  CHECK(found == 19);
}

TEST_CASE("generated: manual page and completions name each verb and each option") {
  const generated of;
  const auto man = manual_page(*of.line), bash = bash_completion(*of.line), zsh = zsh_completion(*of.line);
  const auto dashes = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('-', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return text;
  };
  for (const auto* verb : of.line->get_subcommands([](const CLI::App*) { return true; })) {
    INFO(verb->get_name());
    CHECK(man.find(".SS " + verb->get_name()) != std::string::npos);
    CHECK(bash.find(verb->get_name()) != std::string::npos);
    CHECK(zsh.find(verb->get_name()) != std::string::npos);
    CHECK_FALSE(verb->get_description().empty());
    for (const auto* option : verb->get_options()) {
      for (const auto& name : option->get_lnames()) {
        if (name == "help") continue;
        INFO(name);
        CHECK(man.find(dashes("--" + name)) != std::string::npos);
        CHECK(bash.find("--" + name) != std::string::npos);
        CHECK(zsh.find("--" + name) != std::string::npos);
        CHECK_FALSE(option->get_description().empty());
        CHECK(option->get_description().find('\\') == std::string::npos);  // which no completion of zsh survives
      }
    }
  }
  for (const auto& each : exit_meanings) {
    CHECK(man.find(each.number) != std::string::npos);
    CHECK(markdown_exit_codes().find(each.number) != std::string::npos);
  }
}

}  // namespace dlock::command
