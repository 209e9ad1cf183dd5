// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dlock::test {

inline std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The statements of a file of the folder sql/, without comments. None of them has a ';' inside.
inline std::vector<std::string> statements_of(const std::string& name) {
  std::ifstream in(DLOCK_TEST_SQL_FOLDER "/" + name);
  if (!in) throw std::runtime_error("cannot read sql/" + name);
  std::vector<std::string> statements;
  std::string statement;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("--", 0) == 0 || line.empty()) continue;
    statement += line + "\n";
    if (line.back() != ';') continue;
    statement.resize(statement.size() - 2);
    statements.push_back(std::exchange(statement, {}));
  }
  if (!statement.empty()) throw std::runtime_error("sql/" + name + " does not end with ';'");
  return statements;
}

}  // namespace dlock::test
