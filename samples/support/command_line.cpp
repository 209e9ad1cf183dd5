// SPDX-License-Identifier: BSL-1.0
#include "command_line.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <exception>

namespace support {

namespace {

template <class Value>
void add_number(CLI::App& app, const std::string& name, Value& value, int least, int most,
                const std::string& description) {
  app.add_option(name, value, description)->check(CLI::Range(least, most))->capture_default_str();
}
template <class Value>
void add_hidden(CLI::App& app, const std::string& name, Value& value) {
  app.add_option(name, value)->group("");
}

}  // namespace

command_line::command_line(const std::string& what_the_sample_shows)
    : app_(std::make_unique<CLI::App>(what_the_sample_shows)) {}
command_line::~command_line() = default;

void command_line::database(std::string& url, const std::string& description) {
  app_->add_option("--db", url, description)->envname(url_variable)->capture_default_str();
}

void command_line::number(const std::string& name, int& value, int least, int most, const std::string& description) {
  add_number(*app_, name, value, least, most, description);
}
void command_line::number(const std::string& name, std::int64_t& value, int least, int most,
                          const std::string& description) {
  add_number(*app_, name, value, least, most, description);
}

void command_line::flag(const std::string& name, bool& value, const std::string& description) {
  app_->add_flag(name, value, description);
}

void command_line::hidden(const std::string& name, int& value) { add_hidden(*app_, name, value); }
void command_line::hidden(const std::string& name, std::int64_t& value) { add_hidden(*app_, name, value); }
void command_line::hidden(const std::string& name, bool& value) { add_hidden(*app_, name, value); }
void command_line::hidden(const std::string& name, std::string& value) { add_hidden(*app_, name, value); }

int command_line::run(int argc, char** argv, const std::function<int()>& body) {
  CLI11_PARSE(*app_, argc, argv);
  try {
    return body();
  } catch (const std::exception& error) {
    fmt::print(stderr, "failed: {}\n", error.what());
    return 1;
  }
}

}  // namespace support
