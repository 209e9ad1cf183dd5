// SPDX-License-Identifier: BSL-1.0
// Runs a command under a lock.
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store_types.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "guard.hpp"
#include "output.hpp"
#include "process_tree.hpp"
#include "times.hpp"
#include "url_source.hpp"
#include "verbs.hpp"

namespace dlock::command {

namespace {

using namespace std::chrono_literals;

/// The signals that dlock passes on. The others end or stop dlock, as any program.
constexpr std::array passed_on{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGWINCH};

/// Those signals, blocked in all threads that are made from now on, and read from a descriptor.
class signal_queue {
 public:
  signal_queue() {
    sigset_t all;
    sigemptyset(&all);
    for (const int each : passed_on) sigaddset(&all, each);
    sigaddset(&all, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &all, &before_);
    sigdelset(&all, SIGCHLD);
    descriptor_ = ::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (descriptor_ < 0) throw failure(exit_code::internal, fmt::format("signalfd: {}", std::strerror(errno)));
  }
  signal_queue(const signal_queue&) = delete;
  signal_queue& operator=(const signal_queue&) = delete;
  ~signal_queue() { ::close(descriptor_); }

  int descriptor() const noexcept { return descriptor_; }
  const sigset_t& before() const noexcept { return before_; }

  struct one {
    int number = 0;
    bool of_terminal = false;  ///< the command's group got it too
  };
  /// The next signal, or nothing.
  std::optional<one> next() const noexcept {
    signalfd_siginfo info;
    if (::read(descriptor_, &info, sizeof info) != sizeof info) return std::nullopt;
    return one{static_cast<int>(info.ssi_signo), info.ssi_code == SI_KERNEL};
  }

 private:
  sigset_t before_{};
  int descriptor_ = -1;
};

/// Readable once it was raised.
class event {
 public:
  event() : descriptor_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (descriptor_ < 0) throw failure(exit_code::internal, fmt::format("eventfd: {}", std::strerror(errno)));
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  ~event() { ::close(descriptor_); }
  void raise() const noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(descriptor_, &one, sizeof one));
  }
  int descriptor() const noexcept { return descriptor_; }

 private:
  int descriptor_;
};

bool ends_programs(int signal) noexcept {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

/// Until the command runs, a signal that ends programs ends the wait for the key, or dlock if it does not wait.
class wait_cancelled_by_signal {
 public:
  explicit wait_cancelled_by_signal(const signal_queue& from)
      : thread_([this, &from] {
          for (;;) {
            std::array<pollfd, 2> both{{{from.descriptor(), POLLIN, 0}, {end_.descriptor(), POLLIN, 0}}};
            ::poll(both.data(), both.size(), -1);
            if (both[1].revents != 0) return;
            const auto got = from.next();
            if (!got || !ends_programs(got->number)) continue;
            // dlock holds nothing yet, and a server that does not answer must not block it.
            if (!waits_) std::_Exit(code(exit_code::by_signal) + got->number);
            signal_ = got->number;
            stop_.request_stop();
            return;
          }
        }) {}
  wait_cancelled_by_signal(const wait_cancelled_by_signal&) = delete;
  wait_cancelled_by_signal& operator=(const wait_cancelled_by_signal&) = delete;
  ~wait_cancelled_by_signal() { end(); }

  /// From now on a signal ends the wait that has this token.
  std::stop_token begin_wait() noexcept {
    waits_ = true;
    return stop_.get_token();
  }
  /// Returns the signal, or 0 if there was none.
  int end() noexcept {
    end_.raise();
    if (thread_.joinable()) thread_.join();
    return signal_;
  }

 private:
  event end_{};
  std::stop_source stop_{};
  std::atomic<bool> waits_{false};
  int signal_ = 0;  // used by the thread until it is joined
  std::thread thread_;
};

/// Becomes the same command again, as a new process image. The guard must be made before there are threads.
[[noreturn]] void begin_again(const signal_queue::one& ended_by, const sigset_t& mask, sighandler_t pipe) {
  if (ended_by.number != 0) std::_Exit(code(exit_code::by_signal) + ended_by.number);
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(in, word, '\0');) words.push_back(word);
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::signal(SIGPIPE, pipe);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv("/proc/self/exe", arguments.data());
  throw failure(exit_code::internal, fmt::format("/proc/self/exe: {}", std::strerror(errno)));
}

/// The messages of dlock run.
struct run_report {
  const all_options& options;
  json out{};
  bool unmarked = false;     ///< whether a command is marked as done is not known
  bool leads_again = false;  ///< a leader whose term is over campaigns again
  std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();

  explicit run_report(const all_options& of) : options(of) { add_key(out, of.run.key); }
  double elapsed_ms() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count();
  }
  void say(const std::string& text) const {
    if (options.run.verbose && !options.common.json) fmt::print(stderr, "dlock: {}\n", text);
  }
  void warn(const std::string& text) const {
    if (!options.common.json) fmt::print(stderr, "dlock: {}\n", without_name(text));
  }
  /// The system refuses signals to processes of another user.
  void warn_not_reached(int signal, pid_t guard) const {
    auto all = descendants_of(::getpid());
    std::erase_if(all, [&](const process& each) { return each.pid == guard || may_signal(each); });
    if (all.empty()) return;
    warn(fmt::format("SIG{} does not reach {}: the system lets dlock send no signal to that user's processes",
                     ::sigabbrev_np(signal), names_of(all)));
  }
  /// Reports at the end that processes of the command run on.
  void warn_left() {
    const auto all = descendants_of(::getpid());
    out["left"] = json::array();
    for (const auto& each : all) {
      out["left"].push_back(
          {{"pid", each.pid}, {"command", detail::printable_text(each.name)}, {"user", user_of(each.pid)}});
    }
    warn(fmt::format("dlock could not end {}: what is left runs on without the lock", names_of(all)));
  }
  int end(const char* result, int code) {
    out["result"] = result;
    out["exit_code"] = code;
    if (options.common.json) fmt::print(stderr, "{}\n", text_of(out));
    return code;
  }
};

milliseconds margin_of(milliseconds ttl) { return ttl / 4; }

lock_options lock_options_of(const run_options& from, const std::stop_token& cancel) {
  const auto busy = from.busy.value_or(on_busy::wait);
  const auto wait = from.wait.value_or(busy == on_busy::wait ? wait_forever : 0ms);
  lock_options options{.ttl = from.ttl, .wait = wait, .cancel = cancel};
  if (from.min_hold > 0ms && !from.free_on_failure) options.min_hold = from.min_hold;
  if (from.shared) options.mode = shared;
  if (from.permits != 0) options.mode = one_of(static_cast<std::uint32_t>(from.permits));
  return options;
}

std::string program_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

/// Whether Ctrl-C of a terminal may reach dlock, and so the command as well.
bool has_terminal() {
  const int terminal = ::open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (terminal < 0) return false;
  ::close(terminal);
  return true;
}

/// The variables for the command's environment.
std::vector<std::pair<std::string, std::string>> variables_of(const lock_service& locks, const lease& held,
                                                              const run_options& options) {
  using std::chrono::system_clock;
  std::vector<std::pair<std::string, std::string>> all{{"DLOCK_KEY", options.key}};
  all.emplace_back("DLOCK_FENCE", locks.caps().fence ? std::to_string(held.fencing_token()) : std::string{});
  const auto certain = options.max_hold > 0ms ? std::chrono::microseconds{options.max_hold} : held.remaining();
  const auto until = std::chrono::floor<std::chrono::seconds>(system_clock::now() + certain).time_since_epoch();
  all.emplace_back("DLOCK_DEADLINE", std::to_string(until.count()));
  if (options.hide_url) all.emplace_back("DLOCK_URL", "");
  return all;
}

int exit_code_of(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return code(exit_code::by_signal) + WTERMSIG(status);
}

/// Passes signals on while the command runs, and ends it when the lock is lost.
class running {
 public:
  running(const run_report& report, guard& below, const lease& held, const signal_queue& signals, bool own_group)
      : report_(report), below_(below), held_(held), signals_(signals), own_group_(own_group) {}

  guard::report wait() {
    const std::stop_callback lost(held_.lost_token(), [this] { lost_.raise(); });
    const auto& options = report_.options.run;
    const auto beat = std::min<milliseconds>(options.ttl / 20, 500ms);
    // Not by the max_hold of the lease, because that would be lost then, and freed a margin later at best.
    const auto cap = options.max_hold > 0ms ? std::chrono::steady_clock::now() + options.max_hold
                                            : std::chrono::steady_clock::time_point::max();
    for (;;) {
      std::array<pollfd, 3> all{{{below_.descriptor(), POLLIN, 0},
                                 {signals_.descriptor(), POLLIN, 0},
                                 {ended_ ? -1 : lost_.descriptor(), POLLIN, 0}}};
      const auto now = std::chrono::steady_clock::now();
      if (!ended_ && now >= cap) {
        capped_ = ended_ = true;
        below_.end_command();
      }
      const auto pause = ended_ ? beat : std::min(beat, std::chrono::ceil<milliseconds>(cap - now));
      ::poll(all.data(), all.size(), static_cast<int>(pause.count()));
      trust();
      while (const auto got = signals_.next()) {
        if (signal_ == 0 && ends_programs(got->number)) signal_ = got->number;
        // SIGHUP asks most services to read their configuration again.
        asked_to_end_ = asked_to_end_ || (ends_programs(got->number) && got->number != SIGHUP);
        if (own_group_ || !got->of_terminal) below_.pass_on(got->number);
      }
      if (!ended_ && all[2].revents != 0) {
        below_.end_command();
        ended_ = true;
      }
      if (all[0].revents == 0) continue;
      const auto what = below_.next();
      if (what.what == guard::report::kind::not_reached) {
        report_.warn_not_reached(what.value, below_.pid());
      } else if (what.what != guard::report::kind::started) {
        return what;
      }
    }
  }

  /// Whether dlock ended it, because the lock was lost or because of max_hold. The guard may have done so as well.
  bool ended() const noexcept { return ended_; }
  /// Whether it was ended because of max_hold.
  bool capped() const noexcept { return capped_; }
  /// Whether a signal that ends programs has come.
  bool asked_to_end() const noexcept { return asked_to_end_; }
  /// The first signal that came and ends programs, or 0.
  int signal() const noexcept { return signal_; }

  /// The guard ends the command itself if this is not called any more.
  void trust() noexcept {
    const auto remaining = held_.remaining();
    if (remaining > 0us) below_.trust_until(boot_clock::now().time_since_epoch() + remaining);
  }

 private:
  const run_report& report_;
  guard& below_;
  const lease& held_;
  const signal_queue& signals_;
  const bool own_group_;
  bool ended_ = false;
  bool capped_ = false;
  int signal_ = 0;
  bool asked_to_end_ = false;
  event lost_{};
};

int explain_start(run_report& report, int why, const std::string& command) {
  report.out["error"] = std::strerror(why);
  report.warn(fmt::format("{}: {}", command, std::strerror(why)));
  return report.end("not_started", code(why == ENOENT ? exit_code::not_found : exit_code::not_executable));
}

/// Explains that the key was busy, or the wait was ended.
int explain_busy(run_report& report, const run_options& options, const std::string& why) {
  report.out["waited_ms"] = report.elapsed_ms();
  if (options.busy.value_or(on_busy::wait) == on_busy::skip) {
    report.say("skipped: " + why);
    return report.end("skipped", code(exit_code::done));
  }
  report.warn(why);
  return report.end("busy", code(exit_code::busy));
}

/// Releases. Returns why the lock was lost, or an empty text.
std::string release(run_report& report, lock_service& locks, const lock_key& key, lease held, milliseconds min_hold) {
  try {
    // Takes an inner lease of the same grant, whose min_hold counts for the outer one.
    if (min_hold > 0ms) locks.acquire(key, {.ttl = report.options.run.ttl, .min_hold = min_hold}).release();
    held.release();
    report.say("released");
  } catch (const lock_lost& why) {
    return why.what();
  } catch (const store_error& why) {
    report.warn(fmt::format("{}: the key is free within the ttl", why.what()));
  }
  return {};
}

/// Marks the command as done. Returns why the lock was lost, or an empty text.
std::string mark(run_report& report, lock_service& locks, const lease& held) {
  try {
    const auto& valid = report.options.run.valid;
    locks.mark_done(held, valid ? optional_time(*valid) : optional_time());
    report.say("marked as done");
  } catch (const lock_lost& why) {
    return why.what();
  } catch (const store_error& why) {
    report.unmarked = true;
    report.warn(fmt::format("{}: the command has run, but it may run again", why.what()));
  }
  return {};
}

/// Whether it was done before, which is reported.
bool is_done(run_report& report, lock_service& locks, const lock_key& key) {
  if (!report.options.run.once) return false;
  const auto found = locks.done(key);
  if (!found) return false;
  report.out["done_by"] = json_text(found->by);
  report.say(fmt::format("done {} ago by {}", print_time(found->since), detail::printable_text(found->by)));
  return true;
}

int run_under(run_report& report, lock_service& locks, const lock_key& key, guard& below, const signal_queue& signals,
              bool own_group, lease held) {
  const auto& options = report.options.run;
  if (locks.caps().fence) report.out["fence"] = held.fencing_token();
  report.out["waited_ms"] = report.elapsed_ms();
  report.say(fmt::format("holds '{}' after {}", detail::printable_text(options.key),
                         print_time(std::chrono::microseconds{static_cast<std::int64_t>(report.elapsed_ms() * 1e3)})));
  running command(report, below, held, signals, own_group);
  command.trust();
  below.start(variables_of(locks, held, options));
  const auto granted = std::chrono::steady_clock::now();
  const auto what = command.wait();
  const auto spent = std::chrono::steady_clock::now() - granted;
  report.out["held_ms"] = std::chrono::duration<double, std::milli>(spent).count();
  if (what.what == guard::report::kind::not_started) return explain_start(report, what.value, options.command.front());
  if (what.left) report.warn_left();
  if (what.what == guard::report::kind::guard_killed) {
    report.out["error"] = "the guard process was killed";
    report.warn("the guard process was killed, so dlock killed the command");
    return report.end("failed", code(what.left ? exit_code::left : exit_code::internal));
  }
  const int status = exit_code_of(what.value);
  const bool succeeded = status == 0 && !what.command_left;
  const auto rest =
      options.free_on_failure && succeeded ? options.min_hold - std::chrono::floor<milliseconds>(spent) : 0ms;
  const bool by_itself = !command.ended() && !what.late;
  // A command that was asked to end may exit with 0 before its work is done.
  const bool interrupted = options.once && succeeded && by_itself && command.signal() != 0;
  const bool marks = options.once && succeeded && by_itself && !interrupted;
  std::string lost;
  if (marks) lost = mark(report, locks, held);
  if (auto late = release(report, locks, key, std::move(held), rest); lost.empty() && !marks) {
    lost = std::move(late);  // what is marked was done under the lock
  }
  if (lost.empty() && what.late) lost = "dlock was stopped until the lease's deadline had passed";
  if (lost.empty() && command.capped()) lost = fmt::format("max hold of {} reached", option_time(options.max_hold));
  if (!what.command_left && (what.left || !lost.empty())) report.out["command_exit_code"] = status;
  if (!lost.empty()) {
    report.out["error"] = lost;
    report.warn(what.left ? lost : lost + (by_itself ? ": the command had exited" : ": dlock ended the command"));
  }
  // A leader's command that has exited is not started again, even if its lock was lost before that.
  report.leads_again = options.lead && !lost.empty() && !by_itself && !what.left && !command.asked_to_end();
  if (report.unmarked && lost.empty()) return report.end("unmarked", code(exit_code::unavailable));
  if (interrupted) {
    report.warn(
        fmt::format("signal {} came before the command exited with 0: it is not marked as done", command.signal()));
    if (lost.empty() && !what.left) return report.end("unmarked", code(exit_code::by_signal) + command.signal());
  }
  const int exits = what.left ? code(exit_code::left) : lost.empty() ? status : code(exit_code::lost);
  return report.end(lost.empty() ? "ran" : "lost", exits);
}

/// Refuses a wait in a command that runs under this very lock, because it would never end.
void refuse_own(const holder_info& holder, const std::string& key) {
  std::array<char, 256> host{};
  if (std::getenv("DLOCK_KEY") == nullptr || ::gethostname(host.data(), host.size() - 1) != 0) return;
  if (holder.host != host.data() || !is_ancestor(static_cast<pid_t>(holder.pid))) return;
  throw failure(exit_code::usage,
                fmt::format("'{}' is held by {}, a dlock run that executes this command: the wait would never end",
                            detail::printable_text(key), who(holder)));
}

/// Waits for the key, and reports that.
lease wait_for(const run_report& report, lock_service& locks, const lock_key& key, lock_options options) {
  const bool nested = std::getenv("DLOCK_KEY") != nullptr, says = !report.options.common.json;
  const bool verbose = says && report.options.run.verbose, terminal = says && ::isatty(STDERR_FILENO) != 0;
  const auto whole = options.wait.value_or(0ms);
  const auto quiet = nested || verbose ? 0ms : 5s;
  if (whole <= quiet || !(nested || verbose || terminal)) return locks.acquire(key, options);
  options.wait = quiet;
  try {
    return locks.acquire(key, options);
  } catch (const lock_timeout&) {  // it is busy, so the wait goes on
  }
  std::string holder;
  try {
    if (const auto found = locks.holder(key)) {
      refuse_own(*found, report.options.run.key);
      holder = fmt::format(", held by {}", who(*found));
      if (found->since.count() != 0) holder += " for " + print_time(found->since);
    }
  } catch (const error& why) {
    holder = fmt::format(", whose holder is unknown: {}", without_name(why.what()));
  } catch (const std::logic_error&) {  // the store does not show the holders of its locks
  }
  if (verbose || terminal) report.warn(fmt::format("waiting for {}{}", key.explain(), holder));
  options.wait = whole == wait_forever ? whole : whole - quiet;
  try {
    return locks.acquire(key, options);
  } catch (const lock_timeout& busy) {  // it counts from the beginning of this call
    if (quiet == 0ms) throw;
    throw lock_timeout(fmt::format("{}, {} after the first attempt", busy.what(), option_time(whole)));
  }
}

void check(const run_options& options) {
  const auto busy = options.busy.value_or(on_busy::wait);
  const auto margin = margin_of(ttl_class(options.ttl));
  const auto refuse = [](const std::string& why) { throw failure(exit_code::usage, why); };
  if (options.kill_after && *options.kill_after > margin) {
    refuse(
        fmt::format("--kill-after {} must be at most the margin, a quarter of the ttl ({}), or the command could "
                    "run on beside the next holder",
                    option_time(*options.kill_after), option_time(margin)));
  }
  if (options.max_hold > 0ms && options.max_hold < options.min_hold) {
    refuse(fmt::format("--max-hold {} must not be below --min-hold {}", option_time(options.max_hold),
                       option_time(options.min_hold)));
  }
  if (options.label.size() > 64) {
    refuse(fmt::format("--label has {} bytes, and may have 64", options.label.size()));
  }
  if (options.free_on_failure && options.min_hold == 0ms) refuse("--free-on-failure needs --min-hold");
  if (options.lead && (options.wait || options.busy)) refuse("--lead waits without end: no --wait and no --on-busy");
  if (options.lead && options.once) refuse("--lead and --once exclude each other");
  if (options.valid && !options.once) refuse("--valid needs --once");
  if (options.shared && options.permits != 0) refuse("--shared and --permits exclude each other");
  if (const char* const mode = options.shared         ? "--shared"
                               : options.permits != 0 ? "--permits"
                                                      : nullptr;
      mode != nullptr && (options.lead || options.once || options.min_hold > 0ms)) {
    refuse(fmt::format("{} excludes --lead, --once and --min-hold", mode));
  }
  if (busy == on_busy::wait && options.wait == 0ms) {
    refuse("--wait 0 makes one attempt: use --on-busy fail or skip");
  }
}

}  // namespace

namespace {

int run_once(run_report& report, const signal_queue& signals, bool own_group) {
  const auto& all = report.options;
  const auto& options = all.run;
  const lock_key key{std::string_view(options.key)};
  const auto url = need_url(all.common);
  const auto ttl = ttl_class(options.ttl);
  const auto margin = margin_of(ttl);
  guard below({.command = options.command,
               .signals = signals.before(),
               .own_group = own_group,
               .leave_children = options.leave_children,
               .kill_after = options.kill_after.value_or(margin * 3 / 4)});
  ::signal(SIGPIPE, SIG_IGN);  // a closed pipe at the standard error must not end the command
  wait_cancelled_by_signal cancelled(signals);
  lock_service locks(
      url, {.label = options.label.empty() ? program_name(options.command.front()).substr(0, 64) : options.label,
            .connections = 1,
            .defaults = {.ttl = options.ttl},
            .margin = margin,
            // A leader that begins again may have lost its lock because the store is away.
            .start_limit = options.lead ? milliseconds{24h} : 0ms,
            .cleanup_interval = 0ms});
  if (options.free_on_failure && !locks.caps().min_hold) {
    // This acquire does not set the minimum hold, and after the command a refusal would come too late.
    throw failure(exit_code::usage, fmt::format("--min-hold: {} does not know when a key was granted", locks.name()));
  }
  if ((options.shared || options.permits != 0) && locks.caps().any_mode && !locks.caps().shares) {
    throw failure(exit_code::usage, fmt::format("{}: {} has only exclusive locks",
                                                options.shared ? "--shared" : "--permits", locks.name()));
  }
  if (options.once && !locks.caps().marks) {
    throw failure(exit_code::usage, fmt::format("--once: {} keeps no marks of what was done", locks.name()));
  }
  if (is_done(report, locks, key)) return report.end("done", code(exit_code::done));
  lease held;
  try {
    held = wait_for(report, locks, key, lock_options_of(options, cancelled.begin_wait()));
  } catch (const lock_timeout& busy) {
    return explain_busy(report, options, busy.what());
  } catch (const lock_refused&) {
    const int signal = cancelled.end();
    if (signal == 0) throw;
    report.warn(fmt::format("signal {} ended the wait", signal));
    return report.end("cancelled", code(exit_code::by_signal) + signal);
  }
  if (const int signal = cancelled.end(); signal != 0) {
    held.release();
    return report.end("cancelled", code(exit_code::by_signal) + signal);
  }
  if (is_done(report, locks, key)) {
    held.release();
    return report.end("done", code(exit_code::done));
  }
  return run_under(report, locks, key, below, signals, own_group, std::move(held));
}

}  // namespace

int run(const all_options& all) {
  check(all.run);
  run_report report(all);
  const signal_queue signals;
  const auto pipe = ::signal(SIGPIPE, SIG_DFL);
  ::signal(SIGPIPE, pipe);
  const int result = run_once(report, signals, !has_terminal());
  if (!report.leads_again) return result;
  report.say("campaigns again");
  signal_queue::one ended_by;
  while (const auto got = signals.next()) {
    if (ends_programs(got->number)) ended_by = *got;
  }
  begin_again(ended_by, signals.before(), pipe);
}

}  // namespace dlock::command
