// SPDX-License-Identifier: BSL-1.0
// A clerk's process is stopped in the midst of a sale, for longer than its lock lives. Another clerk gets the lock and
// sells. Then the first one wakes up, sure that the lock is its own, and writes what it had in mind.

#include <fmt/core.h>
#include <dlock/dlock.hpp>
#include <dlock/odb/database.hpp>
#include <dlock/odb/verify.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "entities-odb.hxx"
#include "entities.hpp"
#include "support/command_line.hpp"
#include "support/database.hpp"
#include "support/process.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;  // the same for all processes of the host

struct settings {
  std::string url = "sqlite:locks.db";
  std::string clerk{};  // empty: the process that starts the clerks
  std::int64_t pieces = 0;
  bool verify = false;
  std::string stop{};  // where this clerk is stopped: "before" verify, or "after" it
  std::int64_t began = 0;
};

void say(const settings& s, const std::string& text) {
  const std::chrono::duration<double> passed = clock::now().time_since_epoch() - clock::duration(s.began);
  fmt::print("{:6.2f} s  {:5} {}\n", passed.count(), s.clerk, text);
}

stock load(odb::database& db) {
  odb::transaction t(db.begin());
  const std::unique_ptr<stock> found(db.load<stock>("lamp"));
  t.commit();
  return *found;
}

// [fencing]
/// Sells lamps. `written` becomes true once the sale is in the database.
void sell(dlock::lock_service& locks, odb::database& db, const settings& s, bool& written) {
  locks.with_lock("stock:lamp", {.ttl = 2s, .wait = 20s}, [&](const dlock::lease& held) {
    stock lamps = load(db);
    say(s, fmt::format("has the lock (token {}), sees {} lamps", held.fencing_token(), lamps.pieces));
    held.ensure_held();  // yes. And one moment later?
    if (s.stop == "before") support::stop_here();

    odb::transaction t(dlock::begin_write(db));
    if (s.verify) held.verify(t);  // lock_lost, and nothing is written; or the lock stays ours until the commit
    if (s.stop == "after") support::stop_here();
    lamps.pieces -= s.pieces;
    db.update(lamps);
    t.commit();
    written = true;
    say(s, fmt::format("sold {}, wrote {}", s.pieces, lamps.pieces));
  });
}
// [/fencing]

constexpr int sold = 0;
constexpr int refused = 3;

int serve(const settings& s) {
  dlock::lock_service locks{s.url, {.label = s.clerk}};
  const auto db = dlock::open_database(s.url);
  bool written = false;
  try {
    sell(locks, *db, s, written);
  } catch (const dlock::lock_lost& lost) {
    say(s, fmt::format("{}: {}", written ? "is told, afterwards" : "is refused", lost.what()));
  }
  return written ? sold : refused;
}

support::process start(settings settings, std::string clerk, std::int64_t pieces, std::string stop) {
  return support::process({"--clerk", std::move(clerk), "--pieces", std::to_string(pieces), "--stop", stop, "--verify",
                           settings.verify ? "1" : "0", "--began", std::to_string(settings.began)});
}

struct books {
  std::int64_t sold = 0;
  std::int64_t left = 0;  // according to the database
  bool right() const { return sold + left == 10; }
};

/// Anna is stopped in the midst of her sale until Ben has made his, or, where nobody lets Ben, for longer than her lock
/// lives.
books play(settings s, odb::database& db, std::string_view title, bool verify, const std::string& stop) {
  s.began = clock::now().time_since_epoch().count();
  s.verify = verify;
  {
    odb::transaction t(dlock::begin_write(db));
    db.erase_query<stock>();
    stock lamps{"lamp", 10};
    db.persist(lamps);
    t.commit();
  }
  fmt::print("\n{}\n", title);
  auto anna = start(s, "Anna", 1, stop);
  anna.wait_until_stopped();
  say(s, fmt::format("Anna's process is stopped, {} verify", stop));
  auto ben = start(s, "Ben", 3, "no");
  books books;
  if (stop == "before") {
    if (ben.wait() == sold) books.sold += 3;
  } else {
    std::this_thread::sleep_for(3s);
  }
  say(s, "Anna's process goes on");
  anna.go_on();
  if (anna.wait() == sold) books.sold += 1;
  if (stop == "after" && ben.wait() == sold) books.sold += 3;
  books.left = load(db).pieces;
  fmt::print("          {} of 10 lamps sold, {} left in the books: {}\n", books.sold, books.left,
             books.right() ? "right" : "the late write has damaged them");
  return books;
}

bool run(const settings& s) {
  const auto db = dlock::open_database(s.url);
  support::make_tables(*db);
  const auto careless = play(s, *db, "Without verify: the late write gets through", false, "before");
  const auto verified = play(s, *db, "With verify: the late write is refused", true, "before");
  const auto between = play(s, *db, "Stopped between verify and commit: nobody gets the lock before", true, "after");
  const bool as_expected =
      !careless.right() && verified.right() && verified.sold == 3 && between.right() && between.sold == 4;
  fmt::print("\n{}\n", as_expected ? "with verify no write came too late" : "WRONG");
  return as_expected;
}

}  // namespace

int main(int argc, char** argv) {
  support::command_line options{"A write that comes too late"};
  settings s;
  options.database(s.url, support::locks_and_data);
  options.hidden("--clerk", s.clerk);  // the program starts itself with these
  options.hidden("--pieces", s.pieces);
  options.hidden("--stop", s.stop);
  options.hidden("--verify", s.verify);
  options.hidden("--began", s.began);
  return options.run(argc, argv, [&] {
    const bool worker = !s.clerk.empty();
    support::begin_process(s.url, worker);
    if (!worker) return run(s) ? 0 : 1;
    return serve(s);
  });
}
