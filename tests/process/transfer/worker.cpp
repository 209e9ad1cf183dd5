// SPDX-License-Identifier: BSL-1.0
/// A process that transfers money between locked wallets, for tests that kill and stop it. Commands come on standard
/// input, one a line; what happens is told on standard output, one line each.
///
///   (start)            ready <pid>
///   lock <wallet>...   locked <fence>... | error <text>     (waits up to 20 s)
///   read               read <balance>...                    (of the locked wallets, in their order)
///   begin              begun
///   verify             verified | refused <text>            (dlock::verify)
///   prove              verified | refused <text>            (the statement that lock made ready)
///   add <wallet> <n>   added | error <text>
///   commit             committed | error <text>
///   release            released | error <text>
///   quit, end of file

#include <dlock/detail/odb_compat.hpp>
//
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <odb/exception.hxx>
#include <sstream>

#include "dlock/error.hpp"
#include "dlock/lock_service.hpp"
#include "odb/verify/bank.hpp"
#include "process/helper_program.hpp"
#include "process/transfer/run.hpp"
#include "process/transfer/teller.hpp"

namespace {

using namespace std::chrono_literals;
using dlock::test::proof;
using dlock::test::say;

struct settings {
  std::string url{};
  std::string bank{};
  unsigned ttl = 1000;
  dlock::test::transfer_settings torture{};
};

class conversation {
 public:
  conversation(dlock::lock_service& locks, odb::database& bank, std::chrono::milliseconds ttl)
      : hands_(locks, bank), ttl_(ttl) {}

  /// False: the end.
  bool obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    if (command == "quit") return false;
    try {
      act(command, words);
    } catch (const std::exception& e) {
      say("error {}", e.what());
    }
    return true;
  }

 private:
  void act(const std::string& command, std::istringstream& words) {
    if (command == "lock") {
      lock(words);
    } else if (command == "read") {
      hands_.read();
      say_each("read", [&](auto id) { return hands_.balance(id); });
    } else if (command == "begin") {
      hands_.begin();
      say("begun");
    } else if (command == "verify" || command == "prove") {
      verify(command == "verify" ? proof::leases : proof::statements);
    } else if (command == "add") {
      std::uint64_t wallet = 0;
      std::int64_t delta = 0;
      words >> wallet >> delta;
      hands_.add(wallet, delta, fmt::format("{}.{}", ::getpid(), ++transfers_));
      say("added");
    } else if (command == "commit") {
      hands_.commit();
      say("committed");
    } else if (command == "release") {
      hands_.release();
      say("released");
    } else {
      say("error what is '{}'?", command);
    }
  }

  void lock(std::istringstream& words) {
    wallets_.clear();
    for (std::uint64_t id = 0; words >> id;) wallets_.push_back(id);
    hands_.lock(wallets_, {.ttl = ttl_, .wait = 20s});
    say_each("locked", [&](auto id) { return hands_.fence(id); });
  }

  void verify(proof proof) {
    try {
      hands_.verify(proof);
      say("verified");
    } catch (const std::exception& e) {
      say("refused {}", e.what());
    }
  }

  template <class F>
  void say_each(std::string text, F&& body) const {
    for (const auto id : wallets_) text += fmt::format(" {}", body(id));
    say("{}", text);
  }

  dlock::test::teller hands_;
  std::vector<std::uint64_t> wallets_{};
  const std::chrono::milliseconds ttl_;
  int transfers_ = 0;
};

void read_arguments(CLI::App& app, settings& settings) {
  app.add_option("--url", settings.url, "where the locks are")->required();
  app.add_option("--bank", settings.bank, "where the wallets are")->required();
  app.add_option("--ttl", settings.ttl, "ms");
  app.add_option("--torture", settings.torture.log, "transfer at random and log it to this file");
  app.add_option("--wallets", settings.torture.wallets, "of --torture: how many there are");
  app.add_option("--seed", settings.torture.seed, "of --torture");
  app.add_flag("--unchecked", settings.torture.unchecked, "of --torture: verify nothing");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Transfers money between locked wallets"};
  settings settings;
  read_arguments(app, settings);
  CLI11_PARSE(app, argc, argv);
  return dlock::test::helper_main([&settings] {
    dlock::lock_service locks(settings.url, {.close_limit = 300ms});
    const auto bank = dlock::test::open_bank(settings.bank);
    say("ready {}", ::getpid());
    const std::chrono::milliseconds ttl{settings.ttl};
    if (!settings.torture.log.empty()) {
      settings.torture.ttl = ttl;
      return dlock::test::run_transfers(locks, *bank, settings.torture);
    }
    conversation with(locks, *bank, ttl);
    dlock::test::obey_lines([&with](const std::string& line) { return with.obey(line); });
  });
}
