// SPDX-License-Identifier: BSL-1.0
// Three processes of which one leads. One leader is killed, the next one is asked to end, and the third one goes on.

#include <fmt/core.h>
#include <signal.h>
#include <dlock/dlock.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct settings {
  std::string url = "sqlite:locks.db";
  int worker = 0;  // which one this process is; 0: the one that starts the others
};

/// What the leaders did, one line each: the token of the term, and who wrote it.
constexpr const char* journal = "leader_journal.txt";

// [term]
/// The leader's work: a line now and then, until it must stop.
void serve(dlock::leadership& term, int worker) {
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  while (!term.stop_requested()) {
    std::ofstream(journal, std::ios::app) << fmt::format("{} {}\n", term.fencing_token(), worker) << std::flush;
    stopped.wait_for(lock, term.stop_token(), 20ms, [] { return false; });
  }
}
// [/term]

void work(const settings& s) {
  sigset_t end;
  sigemptyset(&end);
  sigaddset(&end, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &end, nullptr);
  dlock::lock_service locks{s.url, {.label = fmt::format("candidate {}", s.worker)}};
  const dlock::leader candidate{locks,
                                "leader:sample",
                                [&](dlock::leadership& term) { serve(term, s.worker); },
                                {.lock = {.ttl = 2s}, .pause = 100ms}};
  int signal = 0;
  ::sigwait(&end, &signal);
}  // the leader resigns here: another one leads at once

/// Waits for a leader with a greater token.
dlock::holder_info next_leader(dlock::lock_service& locks, std::uint64_t after) {
  for (const auto begun = clock::now(); clock::now() - begun < 30s; std::this_thread::sleep_for(5ms)) {
    const auto found = dlock::leader_of(locks, "leader:sample");
    if (found && found->fence > after) return *found;
  }
  throw std::runtime_error("nobody leads");
}

/// Whether each term came after the one before it.
bool journal_is_right() {
  std::ifstream in(journal);
  std::uint64_t token = 0, last = 0;
  int worker = 0, leader = 0;
  while (in >> token >> worker) {
    if (token < last || (token == last && worker != leader)) return false;
    last = token;
    leader = worker;
  }
  return last > 0;
}

bool run(const settings& s) {
  std::filesystem::remove(journal);
  fmt::print("3 processes, one leader; the locks are in {}\n", dlock::store_url::parse(s.url).redacted());
  dlock::lock_service locks{s.url};
  const auto past = dlock::leader_of(locks, "leader:sample");
  auto last = past ? past->fence : 0;
  std::vector<support::process> candidates;
  for (int i = 1; i <= 3; ++i) candidates.emplace_back(std::vector<std::string>{"--worker", std::to_string(i)});
  for (const bool kill : {true, false}) {
    const auto leader = next_leader(locks, last);
    last = leader.fence;
    std::this_thread::sleep_for(200ms);  // it works a little
    const auto found = std::ranges::find(candidates, static_cast<pid_t>(leader.pid), &support::process::pid);
    if (found == candidates.end()) throw std::runtime_error("a stranger leads");
    const auto ends = clock::now();
    if (kill) {
      found->kill();
    } else {
      ::kill(found->pid(), SIGTERM);
    }
    const auto next = next_leader(locks, last);
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - ends);
    fmt::print("{} {}; {} leads {} ms later, with token {}\n", leader.label, kill ? "was killed" : "was asked to end",
               next.label, took.count(), next.fence);
  }
  std::this_thread::sleep_for(200ms);
  candidates.clear();  // kill -9
  const bool right = journal_is_right();
  fmt::print("{}\n", right ? "each term came after the one before it" : "WRONG: terms overlap");
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"One of three processes leads, and another one when it ends"};
  settings s;
  options.database(s.url);
  options.hidden("--worker", s.worker);  // the program starts itself with this
  return support::run_process(
      options, argc, argv, s.url, s.worker, [&] { return run(s); }, [&] { work(s); });
}
