// SPDX-License-Identifier: BSL-1.0
// A system that has its locks in one place moves them to another, while it runs: its programs are replaced one by one,
// and at no moment do two of them hold the same lock, whichever of the two places each of them asks.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/store_interface/store_url.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;

struct settings {
  std::string url{};
  int programs = 3;
  std::string release{};  // of this process: before, between or after; empty: the one that starts the others
};

// ---- what is protected: a number in a file, and a mark that somebody is at it ------------------------------------

constexpr const char* ledger = "ledger.txt";
constexpr const char* mark = "somebody_is_here";

long read_ledger() {
  long balance = 0;
  std::ifstream(ledger) >> balance;
  return balance;
}

/// As a whole: whoever reads it without a lock, for a report, sees what was there before or after.
void write_ledger(long balance) {
  const auto fresh = std::string(ledger) + ".new";
  std::ofstream(fresh) << balance;
  std::rename(fresh.c_str(), ledger);
}

/// Without a lock around it two of these lose one's work, and meet.
void book() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> alone(std::fopen(mark, "wx"), std::fclose);
  if (alone == nullptr) throw std::runtime_error("two programs have the lock at the same time");
  const long balance = read_ledger();
  std::this_thread::sleep_for(1ms);
  write_ledger(balance + 1);
  std::remove(mark);
}

// ---- the three releases of the program ---------------------------------------------------------------------------

// [migrate]
/// One after the other, and all programs in the same order. The old lock excludes the programs of the release before,
/// the new lock those of the release after.
template <class Work>
void under_both(dlock::lock_service& old_locks, dlock::lock_service& new_locks, const Work& work) {
  const dlock::lock_options patient{.wait = 60s};
  const dlock::lease old_lease = old_locks.acquire("ledger", patient);
  const dlock::lease new_lease = new_locks.acquire("ledger", patient);
  work();
}
// [/migrate]

struct places {
  std::string before{};
  std::string after{};
};

/// Books until its parent says that it is enough. How often it did.
long serve(const settings& s, const places& at) {
  std::optional<dlock::lock_service> old_locks, new_locks;
  if (s.release != "after") old_locks.emplace(at.before);
  if (s.release != "before") new_locks.emplace(at.after);
  support::send(STDIN_FILENO, true);  // it has its connections
  long booked = 0;
  char stop = 0;
  while (support::receive(STDIN_FILENO, stop, MSG_DONTWAIT) == support::received::nothing) {
    if (s.release == "before") {
      old_locks->with_lock("ledger", {.wait = 60s}, book);
    } else if (s.release == "between") {
      under_both(*old_locks, *new_locks, book);
    } else {
      new_locks->with_lock("ledger", {.wait = 60s}, book);
    }
    ++booked;
    std::this_thread::sleep_for(1ms);  // it has something else to do as well
  }
  return booked;
}

// ---- the system --------------------------------------------------------------------------------------------------

/// A program as it is deployed and, later, replaced.
class program {
 public:
  static inline int started = 0;

  program(const std::string& release, int number)
      : running_({"--release", release}, fmt::format("{}_{}.log", release, number)) {
    bool ready = false;
    if (support::receive(running_.socket(), ready) != support::received::value) throw std::runtime_error(last_words());
  }
  /// Lets it finish what it does. How often it has booked.
  long retire() {
    support::send(running_.socket(), 's');
    long booked = 0;
    const auto told = support::receive(running_.socket(), booked);
    if (running_.wait() != 0 || told != support::received::value) throw std::runtime_error(last_words());
    return booked;
  }

 private:
  std::string last_words() const { return "a program ended: " + running_.last_words(); }
  support::process running_;
};

/// Replaces all that run, one by one.
long roll_out(const std::string& release, std::vector<std::unique_ptr<program>>& running) {
  long booked = 0;
  for (auto& each : running) {
    auto next = std::make_unique<program>(release, ++program::started);
    std::this_thread::sleep_for(150ms);  // both are at work
    booked += each->retire();
    each = std::move(next);
  }
  return booked;
}

bool run(const settings& s, const places& at) {
  fmt::print("{} programs; their locks are in {}\n                 and move to {}\n", s.programs,
             dlock::store_url::parse(at.before).redacted(), dlock::store_url::parse(at.after).redacted());
  std::remove(mark);
  write_ledger(0);
  long booked = 0, told = 0;
  std::vector<std::unique_ptr<program>> running;
  for (int i = 0; i != s.programs; ++i) running.push_back(std::make_unique<program>("before", ++program::started));
  const auto report = [&](const char* what) {
    std::this_thread::sleep_for(300ms);
    fmt::print("{:<58} {:>5} bookings\n", what, read_ledger() - told);
    told = read_ledger();
  };
  report("all programs lock in the old place");
  booked += roll_out("between", running);
  report("replaced one by one: they lock in both, the old one first");
  booked += roll_out("after", running);
  report("replaced one by one: they lock in the new place");
  for (auto& each : running) booked += each->retire();

  const bool right = read_ledger() == booked;
  fmt::print("{} of {} bookings are in the ledger: {}\n", read_ledger(), booked,
             right ? "no two programs had the lock at the same time" : "WRONG");
  return right;
}

// ---- the two places ----------------------------------------------------------------------------------------------

places places_of(const std::string& url) {
  if (url.empty()) return {"sqlite:old_locks.db", "sqlite:new_locks.db"};
  return {url + (url.find('?') == std::string::npos ? "?" : "&") + "scheme=t_lock&table=migrate_t_lock", url};
}

/// The table as the old system has it.
void make_old_table(const std::string& url) {
  const auto db = dlock::open_database(url);
  odb::transaction t(db->begin());
  db->execute(
      "CREATE TABLE IF NOT EXISTS migrate_t_lock (lock_key VARCHAR(32) PRIMARY KEY NOT NULL, "
      "request_id VARCHAR(64) NOT NULL DEFAULT '', lock_count INT NOT NULL DEFAULT 0, "
      "timeout BIGINT NOT NULL DEFAULT 0, version INT NOT NULL DEFAULT 0)");
  t.commit();
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"Programs move their locks from one place to another while they run"};
  settings s;
  options.database(s.url,
                   "mysql://USER:PASSWORD@HOST/DATABASE: from its table t_lock to the lease table. Otherwise from one "
                   "SQLite file to another");
  options.number("--programs", s.programs, 1, 20, "How many there are");
  options.hidden("--release", s.release);  // the program starts itself with this
  return options.run(argc, argv, [&] {
    const bool worker = !s.release.empty();
    support::begin_process(s.url, worker);
    const auto at = places_of(s.url);
    if (!worker) {
      if (!s.url.empty()) make_old_table(s.url);
      return run(s, at) ? 0 : 1;
    }
    const long booked = serve(s, at);
    support::send(STDIN_FILENO, booked);
    return 0;
  });
}
