// SPDX-License-Identifier: BSL-1.0
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

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

int execute(const CLI::App& line, const all_options& options) {
  const struct {
    const char* name;
    int (*does)(const all_options&);
  } verbs[] = {{"run", run},       {"list", list},   {"show", show},   {"waiters", waiters},
               {"force", force},   {"watch", watch}, {"top", top},     {"doctor", doctor},
               {"schema", schema}, {"gc", gc},       {"bench", bench}, {"timeline", timeline}};
  for (const auto& each : verbs) {
    if (line.got_subcommand(each.name)) return each.does(options);
  }
  return code(exit_code::usage);
}

}  // namespace

int main(int argc, char** argv) {
  all_options options;
  const auto line = make_command_line(options);
  try {
    line->parse(argc, argv);
  } catch (const CLI::Success& asked) {
    line->exit(asked);  // --help, --version
    return code(exit_code::done);
  } catch (const CLI::ParseError& wrong) {
    const bool no_verb = argc > 1 && argv[1][0] != '-' && line->get_subcommands().empty();
    const auto text = no_verb ? fmt::format("'{}' is not a verb of dlock", argv[1]) : std::string(wrong.what());
    return fail(options, exit_code::usage,
                text + (options.common.json ? "" : "; dlock --help lists verbs and options"));
  }
  try {
    const int code = execute(*line, options);
#ifndef DLOCK_SANITIZED  // whose search for leaks runs at the exit
    // Nothing is left but memory and the libraries, whose clean-up takes longer than a statement.
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
