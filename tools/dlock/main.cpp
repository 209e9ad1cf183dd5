// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "command_line.hpp"
#include "dlock/error.hpp"
#include "output.hpp"
#include "verbs.hpp"

namespace {

using namespace dlock::command;

int fail(const all_options& options, exit_code with, const std::string& text) {
  if (options.common.json) {
    fmt::print(stderr, "{}\n", text_of(json{{"error", without_name(text)}, {"exit_code", code(with)}}));
  } else {
    fmt::print(stderr, "dlock: {}\n", without_name(text));
  }
  return code(with);
}

/// The number of changes of single characters that turn one word into the other.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i != from.size(); ++i) {
    auto diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j != to.size(); ++j) {
      const auto changed = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j + 1] + 1, row[j] + 1, changed});
    }
  }
  return row.back();
}

/// "; did you mean --on-busy?", or nothing.
std::string suggestion(const std::string& wrong, const std::vector<std::string>& known) {
  const auto nearest = std::min_element(known.begin(), known.end(), [&](const auto& a, const auto& b) {
    return distance(wrong, a) < distance(wrong, b);
  });
  if (nearest == known.end() || distance(wrong, *nearest) > 2) return {};
  return fmt::format("; did you mean {}?", *nearest);
}

std::vector<std::string> options_of(const CLI::App& of) {
  std::vector<std::string> names;
  for (const auto* each : of.get_options()) {
    for (const auto& name : each->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

/// `run` needs -- between its key and the command, or dlock would take options of the command for its own. Returns what
/// is wrong with that, or an empty text. `extra` is the number of words without a place.
std::string explain_run(const std::vector<std::string>& words, const run_options& run, std::size_t extra) {
  const auto dashes = std::find(words.begin(), words.end(), "--");
  if (dashes == words.end()) {
    return run.command.empty() ? "" : "-- is missing between the key and the command: dlock run KEY -- COMMAND";
  }
  const auto behind = static_cast<std::size_t>(words.end() - dashes) - 1;
  if (behind == 0) return "there is no command after --";
  const auto all = 1 + run.command.size() + extra;
  if (all <= behind) return "the key is missing before --: dlock run KEY -- COMMAND";
  if (all == behind + 1) return {};
  return fmt::format("'{}' stands between the key and --", run.command.front());
}

/// Explains what is wrong with a command line that could not be parsed.
std::string explain(const CLI::App& line, const CLI::ParseError& wrong, const std::vector<std::string>& words,
                    const run_options& run) {
  const auto verbs = line.get_subcommands();
  std::vector<std::string> known;
  if (verbs.empty() && !words.empty() && !words.front().starts_with('-')) {
    for (const auto* each : line.get_subcommands([](const CLI::App*) { return true; }))
      known.push_back(each->get_name());
    return fmt::format("'{}' is not a verb of dlock{}", words.front(), suggestion(words.front(), known));
  }
  const bool misplaced = dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr;
  if (!misplaced && dynamic_cast<const CLI::RequiredError*>(&wrong) == nullptr) return wrong.what();
  auto extra = line.remaining(true);
  std::erase(extra, "--");
  const auto option = std::find_if(extra.begin(), extra.end(), [](const auto& each) { return each.starts_with('-'); });
  const bool dashes = std::find(words.begin(), words.end(), "--") != words.end();
  if (line.got_subcommand("run") && (!dashes || option == extra.end())) {
    if (auto text = explain_run(words, run, extra.size()); !text.empty()) return text;
  }
  if (!misplaced || extra.empty()) return wrong.what();
  if (option == extra.end()) return fmt::format("'{}' is one argument too many", extra.front());
  known = options_of(line);
  if (!verbs.empty()) {
    for (auto& each : options_of(*verbs.front())) known.push_back(std::move(each));
  }
  return fmt::format("there is no option '{}'{}", *option, suggestion(*option, known));
}

int execute(const CLI::App& line, const all_options& options) {
  const struct {
    const char* name;
    int (*does)(const all_options&);
  } verbs[] = {{"run", run},   {"list", list},   {"show", show},        {"waiters", waiters}, {"force", force},
               {"done", done}, {"watch", watch}, {"top", top},          {"doctor", doctor},   {"schema", schema},
               {"gc", gc},     {"bench", bench}, {"timeline", timeline}};
  for (const auto& each : verbs) {
    if (line.got_subcommand(each.name)) return each.does(options);
  }
  return code(exit_code::usage);
}

}  // namespace

int main(int argc, char** argv) {
  all_options options;
  const auto line = make_command_line(options);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  try {
    line->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    line->exit(asked);  // --help, --version
    return code(exit_code::done);
  } catch (const CLI::ParseError& wrong) {
    const auto text = explain(*line, wrong, words, options.run);
    return fail(options, exit_code::usage,
                text + (options.common.json ? "" : "; dlock --help lists verbs and options"));
  }
  if (line->got_subcommand("run")) {
    if (const auto text = explain_run(words, options.run, 0); !text.empty()) {
      return fail(options, exit_code::usage, text);
    }
  }
  try {
    const int code = execute(*line, options);
#ifndef DLOCK_SANITIZED  // whose search for leaks runs at the exit
    // Only memory and the libraries are left, whose clean-up takes longer than a statement.
    std::fflush(nullptr);
    std::_Exit(code);
#endif
    return code;
  } catch (const failure& why) {
    return fail(options, why.code(), why.what());
  } catch (const std::invalid_argument& why) {
    return fail(options, exit_code::usage, why.what());
  } catch (const dlock::error& why) {
    return fail(options, exit_code::unavailable, why.what());
  } catch (const std::exception& why) {
    return fail(options, exit_code::internal, why.what());
  }
}
