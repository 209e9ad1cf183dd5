// SPDX-License-Identifier: BSL-1.0
#include "app/run.hpp"

#include <filesystem>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/checked_header.hpp"
#include "app/output_file.hpp"
#include "catalogue/explain.hpp"
#include "catalogue/list.hpp"
#include "clang/compilation_database.hpp"
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

  /// Whether the header is right.
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

}  // namespace dlock_gen
