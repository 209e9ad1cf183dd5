// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace support {

/// Where the samples look for the database when no --db is given, and where their workers find it.
inline constexpr const char* url_variable = "DLOCK_SAMPLE_DB";
inline constexpr const char* locks_only = "Where the locks live: sqlite:FILE or mysql://USER:PASSWORD@HOST/DATABASE";
inline constexpr const char* locks_and_data = "Locks and data: sqlite:FILE or mysql://USER:PASSWORD@HOST/DATABASE";

/// The options of a sample, and its end. Each value has its default beforehand, and must outlive run(). CLI11 does the
/// work, and is compiled in one place: it takes longer to compile than any of the samples.
class command_line {
 public:
  explicit command_line(const std::string& what_the_sample_shows);
  ~command_line();
  command_line(const command_line&) = delete;
  command_line& operator=(const command_line&) = delete;

  /// --db; without it, the variable of url_variable, then the default.
  void database(std::string& url, const std::string& description = locks_only);
  void number(const std::string& name, int& value, int least, int most, const std::string& description = {});
  void number(const std::string& name, std::int64_t& value, int least, int most, const std::string& description);
  void flag(const std::string& name, bool& value, const std::string& description);
  /// What --help leaves out: the program starts itself with it.
  void hidden(const std::string& name, int& value);
  void hidden(const std::string& name, std::int64_t& value);
  void hidden(const std::string& name, bool& value);
  void hidden(const std::string& name, std::string& value);

  /// Reads the options and calls `body`, which returns the exit code; 1 if it throws, which is printed. After --help or
  /// an option that is wrong, it is not called, and the exit code is CLI11's.
  int run(int argc, char** argv, const std::function<int()>& body);

 private:
  const std::unique_ptr<CLI::App> app_;
};

}  // namespace support
