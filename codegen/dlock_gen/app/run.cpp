// SPDX-License-Identifier: BSL-1.0
#include "app/run.hpp"

#include <CLI/CLI.hpp>
#include <dlock/version.hpp>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "app/checked_header.hpp"
#include "app/output_file.hpp"
#include "catalogue/explain.hpp"
#include "catalogue/list.hpp"
#include "clang/compile_flags.hpp"
#include "emit/emit_header.hpp"

namespace dlock_gen {

namespace {

namespace fs = std::filesystem;

class runner {
 public:
  runner(const settings& chosen, std::ostream& out, std::ostream& messages)
      : chosen_(chosen), out_(out), messages_(messages) {
    if (!chosen.database.empty()) database_.emplace(chosen.database);
  }

  exit_code run() {
    if (chosen_.what == mode::list) return list();
    auto code = exit_code::done;
    for (const auto& each : chosen_.files) {
      if (!process(each)) code = exit_code::refused;
    }
    return code;
  }

 private:
  std::vector<std::string> flags_of(const fs::path& file) const {
    return database_ ? database_->flags_of(file) : useful_flags(chosen_.flags, fs::current_path());
  }
  fs::path output_of(const fs::path& header) const {
    return (chosen_.output_folder / (header.stem().string() + ".locked.hpp")).lexically_normal();
  }

  /// Returns whether the header has no errors.
  bool process(const fs::path& file) {
    const auto output = output_of(file);
    const auto read = read_and_check(file, flags_of(file), output);
    messages_ << read.messages.text();
    if (!read.good()) return false;
    if (chosen_.what == mode::explain) {
      out_ << explain(read.model);
      return true;
    }
    write_file(output, emit_header(read.model, output), chosen_.keep_unchanged);
    if (!chosen_.depfile.empty()) write_file(chosen_.depfile, make_rule(output, read.unit->files()), false);
    return true;
  }

  exit_code list() {
    lock_catalogue catalogue;
    bool good = true;
    for (const auto& each : chosen_.files.empty() ? database_->files() : chosen_.files) {
      good = catalogue.read(each, flags_of(each), messages_) && good;
    }
    const auto warnings = catalogue.find_warnings();
    for (const auto& each : warnings) messages_ << each.text();
    out_ << catalogue.json() << '\n';
    if (!good) return exit_code::refused;
    return chosen_.strict && !warnings.empty() ? exit_code::warned : exit_code::done;
  }

  const settings& chosen_;
  std::ostream& out_;
  std::ostream& messages_;
  std::optional<compilation_database> database_{};
};

}  // namespace

exit_code run(const settings& chosen, std::ostream& out, std::ostream& messages) {
  try {
    return runner(chosen, out, messages).run();
  } catch (const cannot_read& error) {
    messages << "dlock-gen: " << error.what() << '\n';
  } catch (const cannot_write& error) {
    messages << "dlock-gen: " << error.what() << '\n';
  }
  return exit_code::no_file;
}

// ---- the command line ----------------------------------------------------------------------------------------------

namespace {

constexpr const char* description =
    "Reads headers with the annotations of dlock/annotations.hpp. For each x.hpp it writes x.locked.hpp, whose classes "
    "and functions run under the locks.";
constexpr const char* footer =
    "The compiler's arguments for a header follow --, or come from the compile_commands.json in the folder of -p:\n"
    "  dlock-gen order_service.hpp -o generated -- -std=c++20 -I include\n"
    "  dlock-gen order_service.hpp -o generated -p build\n\n"
    "Exit codes:\n"
    "  0  done\n"
    "  1  an annotation or a header is wrong\n"
    "  2  the command line is wrong\n"
    "  3  a file can't be read or written\n"
    "  4  --list --strict found a warning";

void add_options(CLI::App& app, settings& to, bool& explain, bool& list) {
  app.add_option("file", to.files, "Headers to read; for --list sources, by default all of the compilation database");
  app.add_option("-o,--output-dir", to.output_folder, "The folder to write x.locked.hpp to")->capture_default_str();
  app.add_option("-p,--compile-commands", to.database, "The folder that has the compile_commands.json");
  app.add_option("--depfile", to.depfile, "Writes a make rule with the files that were read; for one header only");
  app.add_flag("--keep-unchanged", to.keep_unchanged, "Does not write an output again whose text would be the same");
  app.add_flag("--explain", explain, "Prints the keys and options in force of each function, and writes no file");
  app.add_flag("--list", list, "Prints all locks of the sources as JSON, warns of opposite orders, and writes no file");
  app.add_flag("--strict", to.strict, "With --list: exit code 4 if there is a warning");
}

/// Returns a text for the user if the options contradict each other.
std::string contradiction(const settings& chosen, bool explain, bool list) {
  if (explain && list) return "--explain and --list exclude each other";
  if (chosen.strict && !list) return "--strict needs --list";
  if (chosen.has_flags && !chosen.database.empty()) return "-p and arguments after -- exclude each other";
  if (chosen.files.empty() && !list) return "a header is missing";
  if (chosen.files.empty() && chosen.database.empty()) return "--list needs sources, or a compilation database (-p)";
  if (!chosen.depfile.empty() && (explain || list || chosen.files.size() != 1))
    return "--depfile needs exactly one header, and neither --explain nor --list";
  return {};
}

}  // namespace

command_line read_command_line(int argc, const char* const* argv) {
  command_line made;
  auto& chosen = made.chosen;
  bool explain = false;
  bool list = false;
  const auto* const end = argv + argc;
  const auto* const separator =
      std::find_if(argv, end, [](const char* each) { return std::string_view(each) == "--"; });
  chosen.has_flags = separator != end;
  if (chosen.has_flags) chosen.flags.assign(separator + 1, end);

  CLI::App app{description, "dlock-gen"};
  app.footer(footer);
  app.set_version_flag("--version", std::string("dlock-gen ") + std::string(dlock::header_version));
  add_options(app, chosen, explain, list);
  try {
    app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::ParseError& error) {
    made.ends = app.exit(error) == 0 ? exit_code::done : exit_code::bad_usage;
    return made;
  }
  if (const auto text = contradiction(chosen, explain, list); !text.empty()) {
    std::cerr << "dlock-gen: " << text << '\n';
    made.ends = exit_code::bad_usage;
  }
  chosen.what = explain ? mode::explain : list ? mode::list : mode::generate;
  return made;
}

}  // namespace dlock_gen
