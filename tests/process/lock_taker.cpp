// SPDX-License-Identifier: BSL-1.0
/// A process that takes a lock, for tests that kill, stop or fork it. Commands come on standard input, one a line;
/// what happens is told on standard output, one line each, so that a test waits for lines and never for time.
/// Times are CLOCK_BOOTTIME in microseconds, as in hold_log.hpp.
///
///   (start)           ready <pid>
///   take [wait ms]    held <fence> <session> <time> | busy <time> | error <code> <text>
///                     and before that, once a busy key has been seen: waiting
///   more <n>          more <n>                        (takes <key without its last part>-1 to -n too)
///   check             trusted <remaining us> | lost <reason> <time>
///                     at any time, from lease::lost_token(): told <reason> <time> <us since the grant>
///   release           released | error <code> <text>
///   drop              dropped <us that the lease's destructor took>
///   sleep <ms>        slept
///   count <event>     count <n>
///   crowd <n>         n times: crowded; when one of them ends: left <code>     (threads that wait for the key)
///   hold-in-thread    held ...                                                 (by a thread that never ends)
///   loop              looping                         (a thread takes the key again and again, each time for 2 ms)
///   looped            looped <grants> <timeouts>      (so far)
///   fork <how>        child <exit code or "signal n">; see fork_child()
///   spawn             spawned                         (a program that lives for half a minute)
///   outlive           outliving                       (the lease will be destroyed after the service)
///   exit              (std::exit(0))
///   exit-inside <how> inside                          (the same, in a call that holds the key)
///   quit, end of file (main returns)

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dlock/distributed_mutex.hpp"
#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/owner.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/with_lock.hpp"
#include "process/helper_program.hpp"
#include "process/once_log.hpp"
#include "process/torture/driver.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::test::say;

struct settings {
  std::string url{};
  std::string child_url{};
  std::string key = "key";
  std::string label{};
  unsigned ttl = 20'000;
  unsigned wait = 0;
  unsigned close_limit = 300;
  unsigned release_limit = 20'000;
  bool hold = false;
  std::string once_log{};
  unsigned jobs = 0;
  dlock::test::torture_settings torture{};
};

// Static, as in programs that keep their locks in globals: exit() destroys them, in the reverse order.
settings settings;
std::optional<dlock::lease> outliving;
std::optional<dlock::lock_service> service;
std::optional<dlock::lease> held;
std::vector<dlock::lease> others;
std::optional<std::stop_callback<std::function<void()>>> when_lost;

// What it does besides taking one lock.

std::atomic<unsigned> grants{0};
std::atomic<unsigned> timeouts{0};

/// A thread takes the key again and again, as the quickstart does it.
void start_loop(dlock::lock_service& locks, const std::string& key) {
  std::thread([&locks, key] {
    for (;;) {
      try {
        locks.with_lock(key, {.ttl = 10s, .wait = 20s}, [] { std::this_thread::sleep_for(2ms); });
        ++grants;
      } catch (const dlock::lock_timeout&) {
        ++timeouts;
      }
    }
  }).detach();
}

/// "<grants> <timeouts>" so far.
std::string looped() { return std::to_string(grants) + " " + std::to_string(timeouts); }

/// Calls std::exit(0) in the middle of something that holds the key: nothing that stands on the stack is destroyed. By
/// a lease, by leases on several keys, by a mutex, in the name of a task, or in a nested call. Says so before by
/// `inside`.
void exit_inside(dlock::lock_service& locks, const std::string& key, const dlock::lock_options& as,
                 const std::string& holder, const std::function<void()>& inside) {
  const auto leave = [&inside] {
    inside();
    std::exit(0);
  };
  if (holder == "lease") locks.with_lock(key, as, leave);
  if (holder == "nested") {
    locks.with_lock(key, as, [&] { locks.with_lock(key, as, leave); });
  }
  if (holder == "leases") locks.with_locks({key, key + "-2", key + "-3"}, as, leave);
  if (holder == "mutex") {
    static dlock::distributed_mutex door{locks, key, as};  // destroyed before the service
    const std::lock_guard guard(door);
    leave();
  }
  if (holder == "task") {
    const dlock::owner_scope task;
    locks.with_lock(key, as, leave);
  }
}

std::int64_t now() { return dlock::boot_clock::now().time_since_epoch().count(); }

const char* word(const std::error_code& code) {
  using dlock::errc;
  switch (static_cast<errc>(code.value())) {
    case errc::timed_out: return "timed_out";
    case errc::cancelled: return "cancelled";
    case errc::already_held: return "already_held";
    case errc::too_many_waiters: return "too_many_waiters";
    case errc::closed: return "closed";
    case errc::forked: return "forked";
    case errc::no_such_row: return "no_such_row";
    case errc::deadlock: return "deadlock";
    case errc::stale_fence: return "stale_fence";
    case errc::lost: return "lost";
    case errc::store_failed: return "store_failed";
    case errc::store_unreachable: return "store_unreachable";
    case errc::outcome_unknown: return "outcome_unknown";
  }
  return "?";
}

/// One word.
std::string reason(const dlock::lease& lease) {
  std::string text(to_string(lease.loss()));
  for (auto& c : text) c = c == ' ' ? '_' : c;
  return text;
}

void say_error(const dlock::error& e) { say("error {} {}", word(e.code()), e.what()); }

dlock::lock_options options(unsigned wait) {
  return {.ttl = std::chrono::milliseconds{settings.ttl}, .wait = std::chrono::milliseconds{wait}};
}

void say_held(const dlock::lease& mine) {
  const auto at = now();
  const auto holder = service->holder(mine.key());
  const auto fence = dlock::test::fence_of(mine);
  const bool mine_indeed = holder && holder->fence == fence;
  say("held {} {} {}", fence, mine_indeed ? holder->session.hex() : "?", at);
}

void take(unsigned wait) {
  when_lost.reset();
  held.reset();
  std::jthread watch([before = service->statements()](const std::stop_token& over) {
    // The second statement is the poll at a key that is not to be had at once.
    for (; !over.stop_requested(); std::this_thread::sleep_for(1ms)) {
      if (service->statements() >= before + 2) return say("waiting");
    }
  });
  const auto stop = [&watch] {
    watch.request_stop();
    watch.join();
  };
  try {
    auto mine =
        wait == 0 ? service->try_acquire(settings.key, options(0)) : service->acquire(settings.key, options(wait));
    stop();
    if (!mine) return say("busy {}", now());
    held.emplace(std::move(mine));
    when_lost.emplace(held->lost_token(), [granted = now()] {
      const auto at = now();
      say("told {} {} {}", reason(*held), at, at - granted);
    });
    say_held(*held);
  } catch (const dlock::lock_timeout&) {
    stop();
    say("busy {}", now());
  } catch (const dlock::error& e) {
    stop();
    say_error(e);
  }
}

void more(unsigned size) {
  const auto stem = settings.key.substr(0, settings.key.rfind('-'));
  for (unsigned i = 1; i <= size; ++i) {
    others.push_back(service->acquire(fmt::format("{}-{}", stem, i), options(settings.wait)));
  }
  say("more {}", others.size());
}

void check() {
  if (!held) return say("nothing");
  const auto left = held->remaining();
  try {
    held->ensure_held();
    say("trusted {}", left.count());
  } catch (const dlock::lock_lost&) {
    // Once one of them says so, all of them do.
    const bool agreed = held->remaining().count() == 0 && held->loss() != dlock::loss_reason::none;
    say("lost {} {}", agreed ? reason(*held) : "in-contradiction", now());
  }
}

void release() {
  when_lost.reset();
  try {
    held->release();
    say("released");
  } catch (const dlock::error& e) {
    say_error(e);
  }
  held.reset();
}

void drop() {
  when_lost.reset();
  const auto before = now();
  held.reset();
  say("dropped {}", now() - before);
}

void count(const std::string& name) {
  using kind = dlock::event::kind;
  for (int i = 0; i <= static_cast<int>(kind::observer_failed); ++i) {
    auto text = std::string(to_string(static_cast<kind>(i)));
    for (auto& c : text) c = c == ' ' ? '_' : c;
    if (text == name) return say("count {}", service->count(static_cast<kind>(i)));
  }
  say("error there is no event {}", name);
}

void crowd(unsigned size) {
  for (unsigned i = 0; i != size; ++i) {
    std::thread([] {
      say("crowded");
      try {
        const auto mine = service->acquire(settings.key, options(60'000));
        say("left held");
      } catch (const dlock::error& e) {
        say("left {}", word(e.code()));
      }
    }).detach();
  }
}

void hold_in_thread() {
  std::thread([] {
    const auto mine = service->acquire(settings.key, options(settings.wait));
    say_held(mine);
    std::promise<void>().get_future().wait_for(24h);
  }).detach();
}

/// What every call on the parent's things must do in a child.
void use_parents_things() {
  const auto refused = [](const auto& call) {
    try {
      call();
      say("child-error no exception");
    } catch (const dlock::error& e) {
      say("child-refused {}", word(e.code()));
    }
  };
  refused([] { held->ensure_held(); });
  refused([] { service->try_acquire(settings.key).release(); });
  refused([] { service->holder(settings.key).has_value(); });
}

void use_own_service() {
  try {
    dlock::lock_service mine(settings.child_url.empty() ? settings.url : settings.child_url, {.label = settings.label});
    const auto same = mine.try_acquire(settings.key, options(0));
    say("child-parents-key {}", same ? "granted" : "busy");
    const auto other = mine.acquire(settings.key + "-child", options(5000));
    const auto holder = mine.holder(settings.key + "-child");
    say("child-held {} {}", other.fencing_token(), holder ? holder->session.hex() : "?");
  } catch (const dlock::error& e) {
    say("child-error {} {}", word(e.code()), e.what());
  }
}

/// exit: exit(0), which runs the destructors of the statics; _exit: nothing of that; destroy: the destructors, by
/// name; refused: calls on what is the parent's; own: a service of its own.
void fork_child(const std::string& act) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (act == "exit") std::exit(0);
    if (act == "destroy") {
      held.reset();
      service.reset();
    }
    if (act == "refused") use_parents_things();
    if (act == "own") use_own_service();
    ::_exit(0);
  }
  int status = 0;
  for (int i = 0; ::waitpid(child, &status, WNOHANG) == 0; ++i) {
    if (i == 10'000) ::kill(child, SIGKILL);
    std::this_thread::sleep_for(1ms);
  }
  if (WIFEXITED(status)) return say("child {}", WEXITSTATUS(status));
  say("child signal {}", WTERMSIG(status));
}

/// Does the jobs that are not done, in a random order.
void do_jobs() {
  using dlock::test::once_record;
  const dlock::test::once_log log(settings.once_log);
  std::mt19937_64 random(settings.torture.seed);
  std::vector<std::string> keys;
  for (unsigned i = 0; i != settings.jobs; ++i) keys.push_back(fmt::format("job-{}", i));
  std::shuffle(keys.begin(), keys.end(), random);
  for (const auto& key : keys) {
    const auto work = [&](const dlock::lease& mine) {
      const auto at = now();
      mine.ensure_held();
      log.append({once_record::kind::began, key, at, ::getpid()});
      std::this_thread::sleep_for(std::chrono::milliseconds{random() % 10});
    };
    for (bool over = false; !over;) {
      try {
        if (service->once(key, {.lock = options(60'000)}, work))
          log.append({once_record::kind::did, key, now(), ::getpid()});
        over = true;
      } catch (const dlock::lock_lost&) {
        // It was stopped, and looks again whether another process did it.
      } catch (const dlock::store_error& e) {
        if (!e.transient() && e.code() != dlock::errc::outcome_unknown) throw;
      }
    }
  }
  say("finished");
}

bool obey(const std::string& command, const std::string& argument) {
  const auto number = [&](unsigned otherwise) {
    return argument.empty() ? otherwise : static_cast<unsigned>(std::stoul(argument));
  };
  if (command == "take") {
    take(number(settings.wait));
  } else if (command == "more") {
    more(number(1));
  } else if (command == "check") {
    check();
  } else if (command == "release") {
    release();
  } else if (command == "drop") {
    drop();
  } else if (command == "sleep") {
    std::this_thread::sleep_for(std::chrono::milliseconds{number(0)});
    say("slept");
  } else if (command == "count") {
    count(argument);
  } else if (command == "crowd") {
    crowd(number(1));
  } else if (command == "hold-in-thread") {
    hold_in_thread();
  } else if (command == "loop") {
    start_loop(*service, settings.key);
    say("looping");
  } else if (command == "looped") {
    say("looped {}", looped());
  } else if (command == "fork") {
    fork_child(argument);
  } else if (command == "spawn") {
    if (std::system("sleep 30 <&- >&- 2>&- &") == 0) say("spawned");
  } else if (command == "outlive") {
    when_lost.reset();
    outliving = std::move(held);
    held.reset();
    say("outliving");
  } else if (command == "exit-inside") {
    exit_inside(*service, settings.key, options(settings.wait), argument, [] { say("inside"); });
  } else if (command == "exit") {
    std::exit(0);
  } else {
    if (command != "quit") say("error what is '{}'?", command);
    return command != "quit";
  }
  return true;
}

void read_arguments(CLI::App& app) {
  app.add_option("--url", settings.url, "where the locks are")->required();
  app.add_option("--child-url", settings.child_url, "where a forked child takes its locks; default --url");
  app.add_option("--key", settings.key, "what to take");
  app.add_option("--ttl", settings.ttl, "ms");
  app.add_option("--wait", settings.wait, "ms; of a take that names none");
  app.add_option("--label", settings.label, "service_options::label");
  app.add_option("--close-limit", settings.close_limit, "ms; service_options::close_limit");
  app.add_option("--release-limit", settings.release_limit, "ms; service_options::release_limit");
  app.add_flag("--hold", settings.hold, "take the key at once");
  app.add_option("--torture", settings.torture.log, "take and release at random and log it to this file");
  app.add_option("--keys", settings.torture.keys, "of --torture")->delimiter(',');
  app.add_option("--seed", settings.torture.seed, "of --torture and --once");
  app.add_option("--threads", settings.torture.threads, "of --torture");
  app.add_flag("--shares", settings.torture.shares, "of --torture: readers and permits");
  app.add_flag("--lingers", settings.torture.lingers, "of --torture: lock_options::linger");
  app.add_flag("--long-waits", settings.torture.long_waits, "of --torture: longer ones than 2 s, too");
  app.add_option("--once", settings.once_log, "do the jobs that are not done, log it to this file, and then obey");
  app.add_option("--jobs", settings.jobs, "of --once: how many");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Takes a lock and does what it is told"};
  read_arguments(app);
  CLI11_PARSE(app, argc, argv);
  return dlock::test::helper_main([] {
    service.emplace(settings.url,
                    dlock::service_options{.label = settings.label,
                                           .release_limit = std::chrono::milliseconds{settings.release_limit},
                                           .close_limit = std::chrono::milliseconds{settings.close_limit}});
    say("ready {}", ::getpid());
    if (!settings.torture.log.empty()) {
      settings.torture.ttl = std::chrono::milliseconds{settings.ttl};
      return run_torture(*service, settings.torture);
    }
    if (!settings.once_log.empty()) do_jobs();
    if (settings.hold) take(settings.wait);
    dlock::test::obey_lines([](const std::string& line) {
      std::istringstream words(line);
      std::string command;
      std::string argument;
      words >> command >> argument;
      return obey(command, argument);
    });
  });
}
