// SPDX-License-Identifier: BSL-1.0
#include "process/torture/driver.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "process/taker.hpp"
#include "support/calls.hpp"
#include "support/scratch_folder.hpp"
#include "support/test.hpp"

namespace dlock::test {

namespace {

using std::chrono::milliseconds;
using clock = std::chrono::steady_clock;

const std::vector<std::string> colours{"red", "green", "blue", "white", "black"};
/// Each process reads it all the time, and only this one takes it exclusively.
const std::string read_all_the_time = "grey";
constexpr std::size_t takers = 4;
constexpr std::size_t enough_certain = 20;

enum class fault { kill, pause, freeze, halt, cut, crash, orderly };
/// In each round all of these, in an order by chance.
constexpr fault in_a_round[] = {fault::kill, fault::kill, fault::pause, fault::freeze, fault::halt,
                                fault::cut,  fault::cut,  fault::crash, fault::orderly};

std::int64_t micros(milliseconds time) { return std::chrono::microseconds{time}.count(); }

class run {
 public:
  run(tortured_fixture& fixture, const torture_terms& terms, std::uint64_t seed)
      : fixture_(fixture),
        terms_(terms),
        seed_(seed),
        order_(seed),
        details_(seed),
        locks_(fixture.url(), {.defaults = {.ttl = terms.ttl}, .close_limit = 300ms}) {
    if (terms_.shares) keys_.push_back(read_all_the_time);
    for (std::size_t i = 0; i != takers; ++i) processes_.push_back(start());
    if (terms_.shares) {
      writer_ = std::jthread([this](const std::stop_token& stop) {
        while (!stop.stop_requested()) ask_for(read_all_the_time, stop);
      });
    }
  }

  torture_report all() {
    const auto end = clock::now() + terms_.length;
    while (clock::now() < end || (clock::now() < end + 5 * terms_.length && !enough())) {
      std::vector<fault> round(std::begin(in_a_round), std::end(in_a_round));
      std::shuffle(round.begin(), round.end(), order_);
      for (std::size_t i = 0; i != round.size(); ++i) {
        throw_anew(i);
        std::this_thread::sleep_for(milliseconds{30 + details_() % 200});
        if (clock::now() >= end && rounds_ > 0 && doubts_.empty() && !terms_.ends_with_connection) break;
        thaw(false);
        inflict(round[i]);
      }
      ++rounds_;
    }
    thaw(true);
    recover();
    end_writer();
    for (auto& each : processes_) each.say("enough");
    for (auto& each : processes_) report_.codes.push_back(each.end());
    const auto end_of_all = boot_time();
    check();
    if (of_members_or_lingering()) check_waiting(end_of_all);
    return report_;
  }

 private:
  /// How much chance a fault needs depends on who holds and who is connected. Each begins anew, so that none of this
  /// changes the faults after it.
  void throw_anew(std::size_t index) {
    std::seed_seq mix{static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32U),
                      static_cast<std::uint32_t>(rounds_), static_cast<std::uint32_t>(index)};
    details_.seed(mix);
  }
  taker start() {
    std::vector<std::string> more{"--torture",       log_name_,
                                  "--keys",          fmt::format("{}", fmt::join(keys_, ",")),
                                  "--seed",          std::to_string(details_()),
                                  "--ttl",           std::to_string(terms_.ttl.count()),
                                  "--release-limit", "1000"};
    if (terms_.shares) more.insert(more.end(), {"--shares", "--threads", "3", "--long-waits"});
    if (terms_.lingers) more.insert(more.end(), {"--lingers", "--threads", "2", "--long-waits"});
    return taker(fixture_.url(), more);
  }
  /// Mostly one that holds something at this moment, the one that it may hurt most, else anybody.
  std::size_t victim() {
    const bool of_holders = details_() % 4 != 0;
    const auto any = details_() % takers;
    auto found = takers;
    if (terms_.lingers && details_() % 4 != 0 && eventually([&] { return (found = keeper()) != takers; }, 1s)) {
      ++report_.keepers;
      return found;
    }
    if (of_holders && eventually([&] { return (found = holder()) != takers; }, 300ms)) return found;
    return any == frozen_ ? (any + 1) % takers : any;
  }
  /// One that keeps a key without a lease.
  std::size_t keeper() {
    std::map<std::string, std::int64_t> last_held;
    for (const auto& each : hold_log::tail(log_name_)) {
      if (each.what == hold_record::kind::held) last_held[each.key] = each.at;
    }
    for (const auto& [key, at] : last_held) {
      if (at > boot_time() - 10'000) continue;
      std::optional<holder_info> keeps;
      try {
        keeps = locks_.holder(key);
      } catch (const store_error&) {
        return takers;  // its connection was ended
      }
      if (!keeps || !keeps->lingers) continue;
      for (std::size_t i = 0; i != takers; ++i) {
        if (processes_[i].pid() == keeps->pid && i != frozen_) return i;
      }
    }
    return takers;
  }
  std::size_t holder() const {
    const auto recent = boot_time() - 5'000;
    const auto last = hold_log::tail(log_name_);
    for (auto each = last.rbegin(); each != last.rend(); ++each) {
      if (each->what != hold_record::kind::held || each->at < recent) continue;
      for (std::size_t i = 0; i != takers; ++i) {
        if (processes_[i].pid() == each->process && i != frozen_) return i;
      }
    }
    return takers;
  }

  bool of_members_or_lingering() const { return terms_.shares || terms_.lingers; }
  void note(const std::string& what) { report_.journal.push_back(fmt::format("{}: {}", boot_time(), what)); }
  void inflict(fault what) {
    switch (what) {
      case fault::kill: return kill();
      case fault::pause: return pause();
      case fault::freeze: return freeze();
      case fault::halt: return halt();
      case fault::cut: return cut();
      case fault::crash: return restart(false);
      case fault::orderly: return restart(true);
    }
  }
  void kill() {
    if (terms_.ends_with_connection) thaw(true);  // what stands still and is granted a key keeps it from everybody
    const auto which = victim();
    const auto killed = processes_[which].pid();
    note(fmt::format("{} is killed", killed));
    const auto at = boot_time();  // before: its key may be somebody else's by the time that it is seen to be gone
    processes_[which].kill();
    died_[killed] = boot_time();
    ++report_.kills;
    if (terms_.ends_with_connection) expect_freed(killed, at);
    processes_[which] = start();
  }
  /// Somebody asks for what it held, so that the log shows when it was free.
  void expect_freed(std::int64_t killed, std::int64_t at) {
    std::optional<hold_record> last;
    for (const auto& each : hold_log::tail(log_name_)) {
      if (each.process == killed) last = each;
    }
    if (!last || last->what != hold_record::kind::held) return;
    deaths_.push_back({last->key, at, killed});
    ask_for(last->key);
  }
  void ask_for(const std::string& key, const std::stop_token& stop = {}) {
    hold_record mine{.what = hold_record::kind::asked, .key = key, .at = boot_time(), .process = ::getpid()};
    mine.attempt = ++asked_;
    log_.append(mine);
    try {
      const auto held = locks_.acquire(key, {.wait = 20s, .cancel = stop});
      mine.fence = fence_of(held);
      mine.at = boot_time();
      held.ensure_held();
      mine.what = hold_record::kind::held;
      log_.append(mine);
    } catch (const error&) {
      mine.at = boot_time();
      mine.what = hold_record::kind::unknown;
      log_.append(mine);  // somebody else may have had it meanwhile
    }
    if (stop.stop_possible()) std::this_thread::sleep_for(100ms);
  }
  void end_writer() {
    if (!writer_.joinable()) return;
    writer_.request_stop();
    writer_.join();
  }
  void pause() {
    auto& process = processes_[victim()];
    note(fmt::format("{} is stopped for a moment", process.pid()));
    const auto from = boot_time();
    process.stop();
    std::this_thread::sleep_for(milliseconds{20 + details_() % 300});
    go_on(process, from);
    ++report_.pauses;
  }
  void go_on(taker& process, std::int64_t stopped_from) {
    process.go_on();
    stops_.push_back({process.pid(), {stopped_from, boot_time()}});
  }
  /// It stands still for longer than its leases live, while other things happen.
  void freeze() {
    thaw(true);
    const auto which = victim();
    note(fmt::format("{} is stopped for longer than its ttl", processes_[which].pid()));
    frozen_from_ = boot_time();
    processes_[which].stop();
    frozen_ = which;
    thaw_at_ = clock::now() + terms_.ttl + 800ms;
    if (of_members_or_lingering()) thaw_at_ += terms_.ttl * (details_() % 300) / 100;
    ++report_.freezes;
  }
  /// The last word of a process that waits: it has asked for a key, and a free one is granted sooner.
  std::optional<hold_record> waiting() const {
    const auto before = boot_time() - 20'000;
    std::map<std::pair<std::int64_t, std::uint64_t>, hold_record> last;
    for (const auto& each : hold_log::tail(log_name_)) last[{each.process, each.attempt}] = each;
    std::optional<hold_record> any;
    for (const auto& [attempt, record] : last) {
      if (record.what != hold_record::kind::asked || record.at > before || !runs(record.process)) continue;
      if (!any || record.units == 0) any = record;
    }
    return any;
  }
  bool runs(std::int64_t process) const {
    return std::any_of(processes_.begin(), processes_.end(), [&](const taker& each) { return each.pid() == process; });
  }
  /// A process that waits is stopped. The others get its key all the same.
  void halt() {
    thaw(true);
    std::optional<hold_record> of;
    if (!eventually([&] { return (of = waiting()).has_value(); }, 10s)) return;
    auto& process = *std::find_if(processes_.begin(), processes_.end(),
                                  [&](const taker& each) { return each.pid() == of->process; });
    note(fmt::format("{} is stopped while it waits for {}", process.pid(), of->key));
    const auto from = boot_time();
    process.stop();
    ++report_.halts;
    // It may have been stopped with the key, which it held or was just granted, or with the whole file locked.
    const bool lucky =
        granted_to_others(*of, terms_.ends_with_connection ? 500ms : terms_.ttl + terms_.recovery) || fixture_.locked();
    go_on(process, from);
    note(fmt::format("{} goes on", process.pid()));
    unlucky_ = lucky ? 0 : unlucky_ + 1;
    if (unlucky_ > 1 && !terms_.ends_with_connection) report_.stuck.push_back(of->key + " beside a stopped waiter");
  }
  bool granted_to_others(const hold_record& stopped, milliseconds limit) const {
    const auto from = boot_time();
    std::set<std::pair<std::int64_t, std::uint64_t>> asked;
    return eventually(
        [&] {
          std::this_thread::sleep_for(5ms);
          for (const auto& each : hold_log::tail(log_name_)) {
            if (each.key != stopped.key || each.process == stopped.process) continue;
            const std::pair attempt{each.process, each.attempt};
            if (each.what == hold_record::kind::asked && each.at > from) asked.insert(attempt);
            if (each.what == hold_record::kind::held && asked.contains(attempt)) return true;
          }
          return false;
        },
        limit);
  }
  void thaw(bool wait) {
    if (frozen_ == takers || (!wait && clock::now() < thaw_at_)) return;
    std::this_thread::sleep_until(thaw_at_);
    note(fmt::format("{} goes on", processes_[frozen_].pid()));
    go_on(processes_[frozen_], frozen_from_);
    frozen_ = takers;
  }
  void cut() {
    if (!fixture_.has_servers()) return;
    const auto from = boot_time();
    note("connections end");
    fixture_.cut(details_);
    troubles_.push_back({from, boot_time()});
    doubt(from, terms_.doubt_after_cut);
    ++report_.cuts;
  }
  void restart(bool orderly) {
    if (!fixture_.has_servers()) return;
    const auto from = boot_time();
    note(orderly ? "a server is restarted" : "a server is killed");
    fixture_.restart(details_, orderly);
    note("it is back");
    troubles_.push_back({from, boot_time()});
    doubt(from, terms_.doubt_after_restart);
    ++(orderly ? report_.orderly : report_.crashes);
  }
  void doubt(std::int64_t from, milliseconds after) {
    if (after > 0ms) doubts_.push_back({from, boot_time() + micros(after)});
  }

  /// Whether it has been seen what the checks are about: enough grants outside of all times of doubt, and where a dead
  /// holder's key is free at once, such a death.
  bool enough() const {
    if (terms_.ends_with_connection && deaths_.empty()) return false;
    if (doubts_.empty()) return true;
    return so_far().certain >= enough_certain;
  }
  hold_check so_far() const { return check_holds(hold_log::read(log_name_), {.fenced = false, .doubts = doubts_}); }

  /// The processes go on undisturbed: each key is granted again, and afterwards none is left over.
  void recover() {
    const auto quiet = boot_time();
    const std::string exclusively = " exclusively";
    std::set<std::string> missing(keys_.begin(), keys_.end());
    if (terms_.shares) missing.insert(read_all_the_time + exclusively);
    std::set<std::pair<std::int64_t, std::uint64_t>> asked;  // after that: a lease of before may be held on and on
    const bool recovered = eventually(
        [&] {
          std::this_thread::sleep_for(5ms);
          for (const auto& each : hold_log::tail(log_name_)) {
            const std::pair attempt{each.process, each.attempt};
            if (each.what == hold_record::kind::asked && each.at > quiet) asked.insert(attempt);
            if (each.what == hold_record::kind::held && asked.contains(attempt)) {
              missing.erase(each.key);
              if (each.units == 0) missing.erase(each.key + exclusively);
            }
          }
          return missing.empty();
        },
        terms_.recovery);
    if (!recovered) report_.stuck.insert(report_.stuck.end(), missing.begin(), missing.end());
  }
  void check() {
    hold_terms terms{.fenced = terms_.fenced, .counts = terms_.counts, .doubts = doubts_};
    for (const auto& key : keys_) {
      const auto begun = clock::now();
      {
        const auto last = locks_.acquire(key, {.wait = 30s});
        terms.last[key] = terms_.fenced ? last.fencing_token() - 1 : 0;
      }
      if (terms_.shares) {
        static_cast<void>(locks_.acquire(key, {.wait = 30s, .mode = shared}));
        static_cast<void>(locks_.acquire(key, {.wait = 30s, .mode = one_of(1)}));
      }
      if (clock::now() - begun > terms_.recovery) report_.stuck.push_back(key + " at the end");
    }
    if (terms_.shares) report_.left = fixture_.members();
    const auto stops = report_.pauses + report_.freezes + report_.halts;
    terms.pauses = stops + 2 * takers * (report_.cuts + report_.crashes + report_.orderly);
    const auto log = hold_log::read(log_name_);
    report_.holds = check_holds(log, terms);
    report_.doubted = !doubts_.empty();
    report_.deaths = deaths_.size();
    report_.late = check_freed(log, deaths_, 3'000'000);  // less than two thirds of the ttl, when silence frees it
  }

  void check_waiting(std::int64_t end) {
    const auto added = micros(terms_.ttl + terms_.patience);
    constexpr std::int64_t closed = 3'000'000;  // by a caller that has died
    wait_terms terms{.idle = added,
                     .idle_members = added + closed,
                     .exclusive = added + micros(terms_.ttl) * 3 / 2,  // for which one may hold it
                     .stops = stops_,
                     .deaths = died_,
                     .troubles = troubles_,
                     .end = end};
    constexpr std::int64_t linger = 1'000'000;  // of a key that is in use all the time
    if (terms_.lingers) terms.alone = terms.exclusive + linger;
    // Connections are made again, each in its turn.
    for (auto& each : terms.troubles) each.to += 500'000;
    if (terms_.stops_hold_up) {
      for (const auto& each : stops_) terms.troubles.push_back(each.when);
    }
    report_.waits = check_waits(hold_log::read(log_name_), terms);
  }

  tortured_fixture& fixture_;
  const torture_terms terms_;
  const std::uint64_t seed_;
  dice order_;    // of the faults
  dice details_;  // of the present one
  const scratch_folder folder_{};
  const std::string log_name_ = folder_ / "holds";
  const hold_log log_{log_name_};
  lock_service locks_;
  std::vector<taker> processes_{};
  std::size_t frozen_ = takers;  // nobody
  std::int64_t frozen_from_ = 0;
  clock::time_point thaw_at_{};
  unsigned unlucky_ = 0;  // how many stops of waiters in a row kept the key from the others
  std::size_t rounds_ = 0;
  std::atomic<std::uint64_t> asked_{0};
  std::vector<time_span> doubts_{};
  std::vector<holder_death> deaths_{};  // whose key had to be free at once
  std::vector<process_stop> stops_{};
  std::map<std::int64_t, std::int64_t> died_{};
  std::vector<time_span> troubles_{};
  torture_report report_{};
  std::vector<std::string> keys_ = colours;
  std::jthread writer_{};
};

}  // namespace

std::string torture_report::text() const {
  std::string members;
  if (holds.members > 0)
    members = fmt::format("{} of them to members ({} beside another one), ", holds.members, holds.shared);
  if (waits.idle > 0) {
    members += fmt::format("the longest wait for a key that nobody held {} ms, for an exclusive grant {} ms, ",
                           waits.idle / 1000, waits.exclusive / 1000);
  }
  if (waits.alone > 0) members += fmt::format("while one process had it alone {} ms, ", waits.alone / 1000);
  if (holds.late > 0) members += fmt::format("{} late writes refused, ", holds.late);
  return fmt::format(
      "{} grants, {}{} of them outside of all times of doubt, {} told of a loss, {} trusted together in a time of "
      "doubt; "
      "{} killed ({} holders whose key had to be free at once), {} paused, {} stood still, {} of them while they "
      "waited{}, connections ended {} times, servers killed {} and restarted {} times",
      holds.grants, members, holds.certain, holds.notified, holds.doubles, kills, deaths, pauses, freezes + halts,
      halts, keepers > 0 ? fmt::format(", {} of all these kept a key without a lease", keepers) : "", cuts, crashes,
      orderly);
}

torture_report torture(tortured_fixture& fixture, const torture_terms& terms, std::uint64_t seed) {
  return run(fixture, terms, seed).all();
}

void check_torture(tortured_fixture& fixture, const torture_terms& terms) {
  const auto* const given = std::getenv("DLOCK_TORTURE_SEED");
  const auto seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  CAPTURE(seed);
  auto asked = terms;
  const auto* const seconds = std::getenv("DLOCK_TORTURE_SECONDS");
  if (seconds != nullptr) asked.length = std::chrono::seconds{std::stoul(seconds)};
  const auto report = torture(fixture, asked, seed);
  if (seconds != nullptr) fmt::print("seed {}: {}\n", seed, report.text());
  CAPTURE(report.text(), report.holds.lost, report.holds.open);
  const bool wrong = !report.holds.violations.empty() || !report.stuck.empty() || !report.late.empty() ||
                     !report.waits.violations.empty() || !report.left.empty();
  auto found = report.stuck;
  found.insert(found.end(), report.late.begin(), report.late.end());
  found.insert(found.end(), report.left.begin(), report.left.end());
  for (const auto* violations : {&report.holds.violations, &report.waits.violations}) {
    const auto some = static_cast<std::ptrdiff_t>(std::min<std::size_t>(violations->size(), 20));
    found.insert(found.end(), violations->begin(), violations->begin() + some);
  }
  if (wrong) found.insert(found.end(), report.journal.begin(), report.journal.end());
  INFO(fmt::format("{}", fmt::join(found, "\n")));
  CHECK(report.holds.violations.empty());
  CHECK(report.waits.violations.empty());
  CHECK(report.left.empty());
  CHECK(report.stuck.empty());
  CHECK(report.late.empty());
  CHECK(std::all_of(report.codes.begin(), report.codes.end(), [](int code) { return code == 0; }));
  CHECK(report.holds.grants >= 40);
  CHECK(report.holds.certain >= enough_certain);
  CHECK((report.deaths > 0) == terms.ends_with_connection);
  // A store that notices a lost connection at once may leave no such moment in a time of doubt either.
  if (!report.doubted) CHECK(report.holds.doubles == 0);
  if (terms.shares) CHECK(report.holds.shared > 0);
  if (terms.lingers) CHECK(report.keepers > 0);
  CHECK(report.kills > 0);
  CHECK(report.freezes > 0);
  CHECK(report.halts > 0);
  CHECK((report.cuts > 0 && report.crashes > 0 && report.orderly > 0) == fixture.has_servers());
}

}  // namespace dlock::test
