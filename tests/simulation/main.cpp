// SPDX-License-Identifier: BSL-1.0
// The simulator as a program: ./dev simulate.
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "simulation/run.hpp"
#include "simulation/trace.hpp"

namespace {

using namespace dlock::simulation;

struct wishes {
  std::string seeds = "1..1000";
  std::uint64_t acquires = 0;
  double seconds = 0;
  unsigned jobs = 1;
  std::string mistake_name{};
  std::vector<std::string> without{};
  std::vector<std::string> only{};
  std::string about{};
  std::string svg{};
  std::string progress{};
  bool reduce = true;
  bool quiet = false;
  bool hash = false;
  std::string expected{};

  std::uint64_t first = 0;
  std::uint64_t last = 0;
  allowed may{};
  mistake wrong = mistake::none;

  bool open_end() const noexcept { return acquires > 0 || seconds > 0; }
  void settle();
};

template <class Names>
auto find_named(const Names& all, const char* kind, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  if (found == all.end()) throw std::invalid_argument(std::string("there is no ") + kind + " '" + name + "'");
  return *found;
}
/// What has that name.
template <class Names>
auto named(const Names& all, const char* kind, const std::string& name) {
  return find_named(all, kind, name).what;
}

void wishes::settle() {
  const auto dots = seeds.find("..");
  first = std::stoull(seeds.substr(0, dots));
  last = dots == std::string::npos ? first : std::stoull(seeds.substr(dots + 2));
  const auto is_kind = [](const std::string& name) {
    return std::any_of(store_kind_names.begin(), store_kind_names.end(),
                       [&](const auto& each) { return each.name == name; });
  };
  if (!only.empty()) may.kinds = 0;
  for (const auto& each : only) may.kinds |= bit_of(named(store_kind_names, "kind of store", each));
  for (const auto& each : without) {
    if (is_kind(each)) {
      may.kinds &= ~bit_of(named(store_kind_names, "kind of store", each));
    } else {
      may.hazards &= ~static_cast<std::uint64_t>(named(hazard_names, "hazard or kind of store", each));
    }
  }
  if (may.kinds == 0) throw std::invalid_argument("no kind of store is left");
  if (!mistake_name.empty()) {
    const auto made = find_named(mistake_names, "mistake", mistake_name);
    wrong = made.what;
    may.about = made.about;
  }
  if (!about.empty()) may.about = named(subject_names, "subject", about);
}

struct totals : counts {
  std::uint64_t runs = 0;
  std::uint64_t hash = 0;

  void add(std::uint64_t seed, const result& run) {
    ++runs;
    hash += share_of(seed, run.digest);
    counts::add(run);
  }
  void add(const totals& others) {
    runs += others.runs;
    hash += others.hash;
    counts::add(others);
  }
};

double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

/// Of the processor, for this process and those that it has waited for.
double processor_seconds() {
  double all = 0;
  for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage used{};
    ::getrusage(who, &used);
    all += static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  }
  return all;
}

void draw(const plan& how, mistake wrong, const std::string& file) {
  if (file.empty()) return;
  const auto drawn = picture(simulate(how, wrong, true));
  std::ofstream(file) << drawn;
  fmt::print("{} shows it\n", file);
}

void show(const plan& failed, const wishes& want) {
  fmt::print("\n{}\n", failed.describe());
  const auto least = want.reduce ? reduced(failed, want.wrong) : failed;
  if (want.reduce) fmt::print("the least that fails: {}, {} rounds\n", least.describe(), least.rounds);
  fmt::print("{}", excerpt(simulate(least, want.wrong, true)));
  draw(least, want.wrong, want.svg);
}

/// The seed of the present run, for the watch over it.
volatile std::uint64_t present_seed = 0;
constexpr unsigned longest_step = 20;  // seconds of the processor, for what takes a tenth of one

/// A thread of the engine's that never gives way: within the simulation no time passes, so only this clock can tell.
extern "C" void goes_round(int) {
  char text[160];
  const auto length =
      std::snprintf(text, sizeof text, "seed %llu fails: liveness: a thread has been busy for %u s and never waits\n",
                    static_cast<unsigned long long>(present_seed), longest_step);
  static_cast<void>(!::write(STDOUT_FILENO, text, static_cast<std::size_t>(length)));
  ::_exit(1);
}

/// Begins anew with each run.
void watch(std::uint64_t seed, unsigned seconds = longest_step) {
  present_seed = seed;
  ::signal(SIGVTALRM, goes_round);
  const itimerval end{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_VIRTUAL, &end, nullptr);
}

/// Every `step`th seed. False: one has failed.
bool run_all(const wishes& want, std::uint64_t from, std::uint64_t step, totals& all) {
  const auto begun = std::chrono::steady_clock::now();
  for (auto seed = from; want.open_end() || seed <= want.last; seed += step) {
    if (want.acquires > 0 && all.acquires >= want.acquires / step) break;
    if (want.seconds > 0 && seconds_since(begun) >= want.seconds) break;
    if (!want.progress.empty()) std::ofstream(want.progress) << seed << '\n';
    const auto how = plan::of(seed, want.may);
    watch(seed);
    const auto came = simulate(how, want.wrong);
    all.add(seed, came);
    if (came.failure.empty()) continue;
    watch(seed, 0);
    fmt::print("seed {} fails, the run number {}: {}\n", seed, all.runs, came.failure);
    std::fflush(stdout);
    if (want.hash) continue;  // it counts as the others do
    if (!want.quiet) show(how, want);
    std::fflush(stdout);
    return false;
  }
  return true;
}

/// In several processes of the system, each with seeds of its own.
bool run_in_processes(const wishes& want, totals& all) {
  void* const memory =
      ::mmap(nullptr, want.jobs * sizeof(totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no memory to share");
  auto* const parts = static_cast<totals*>(memory);
  std::vector<pid_t> children;
  for (unsigned i = 0; i < want.jobs; ++i) {
    const auto child = ::fork();
    if (child < 0) throw std::runtime_error("no process to be had");
    if (child == 0) ::_exit(run_all(want, want.first + i, want.jobs, parts[i]) ? 0 : 1);
    children.push_back(child);
  }
  bool well = true;
  for (const auto child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    well = well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (WIFSIGNALED(status)) fmt::print("a process was ended by signal {}\n", WTERMSIG(status));
  }
  for (unsigned i = 0; i < want.jobs; ++i) all.add(parts[i]);
  ::munmap(memory, want.jobs * sizeof(totals));
  return well;
}

/// Whether the file that was named says the same of these seeds.
bool as_expected(const wishes& want, std::uint64_t hash) {
  if (want.expected.empty()) return true;
  std::ifstream file(want.expected);
  const auto ours = fmt::format("{:016x}", hash);
  for (std::string line, seeds, known; std::getline(file, line);) {
    std::istringstream(line) >> seeds >> known;
    if (seeds != want.seeds) continue;
    if (known == ours) return true;
    fmt::print("the hash of seeds {} is {}, and was {}: some statement, answer or result of them is another one\n",
               seeds, ours, known);
    return false;
  }
  throw std::invalid_argument(want.expected + " says nothing of the seeds " + want.seeds);
}

}  // namespace

int main(int argc, char** argv) try {
  wishes want;
  CLI::App app{"Simulates whole clusters, each in one thread, and looks for what must not be."};
  app.add_option("--seeds,--seed", want.seeds, "N, or N..M");
  app.add_option("--acquires", want.acquires, "until so many were made, from the first seed on");
  app.add_option("--seconds", want.seconds, "for so long, from the first seed on");
  app.add_option("--jobs", want.jobs, "processes of the system that share the seeds")->check(CLI::Range(1, 1024));
  app.add_option("--mistake", want.mistake_name, "the simulated store makes it, in runs that can show it");
  app.add_option("--without", want.without, "hazards and kinds of stores that are left out")->delimiter(',');
  app.add_option("--only", want.only, "the kinds of stores that runs have")->delimiter(',');
  app.add_option("--about", want.about,
                 "what runs are about, instead of everything: cycles, lingering, shared or stops");
  app.add_option("--svg", want.svg, "draws the run of the one seed, or of the first that fails");
  app.add_option("--progress", want.progress, "a file that always has the seed of the present run");
  app.add_flag("!--as-is", want.reduce, "a failing run is not reduced");
  app.add_flag("--quiet", want.quiet, "say only the first seed that fails");
  app.add_flag("--hash", want.hash,
               "say one number for all statements, answers and results: the same for the same seeds. Names seeds that "
               "fail, and goes on");
  app.add_option("--expect", want.expected,
                 "a file with lines \"N..M HASH\": fails unless the line of these seeds has the hash that comes out");
  CLI11_PARSE(app, argc, argv);
  want.settle();

  totals all;
  const auto begun = std::chrono::steady_clock::now();
  const bool one_seed = !want.open_end() && want.first == want.last;
  const bool well = want.jobs == 1 || one_seed ? run_all(want, want.first, 1, all) : run_in_processes(want, all);
  if (well && one_seed) draw(plan::of(want.first, want.may), want.wrong, want.svg);
  if (!well && want.quiet) return 1;
  const auto used = processor_seconds();
  fmt::print("{} runs, {} acquires, {} grants ({} take-overs), {} statements, {} faults, {} steps\n", all.runs,
             all.acquires, all.grants, all.take_overs, all.statements, all.faults, all.steps);
  fmt::print("{:.0f} s simulated in {:.1f} s, {:.1f} of the processor: {:.0f} acquires a second and processor\n",
             static_cast<double>(all.time) / 1e6, seconds_since(begun), used, static_cast<double>(all.acquires) / used);
  if (want.hash) fmt::print("hash of seeds {}: {:016x}\n", want.seeds, all.hash);
  if (well && !as_expected(want, all.hash)) return 1;
  fmt::print("the longest a call took beyond its wait: {} ms\n", all.longest / 1'000);
  return well ? 0 : 1;
} catch (const std::exception& error) {
  fmt::print(stderr, "simulate: {}\n", error.what());
  return 2;
}
