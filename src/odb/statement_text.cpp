// SPDX-License-Identifier: BSL-1.0
#include "odb/statement_text.hpp"

#include <odb/connection.hxx>
#include <odb/database.hxx>
#include <odb/statement.hxx>
#include <odb/tracer.hxx>

#include "odb/sql_words.hpp"

namespace dlock::detail {

namespace {

/// Takes a quoted name off the front; a quotation mark inside is doubled. Empty: there is none.
std::string take_name(std::string_view& text) {
  if (text.empty() || (text.front() != '`' && text.front() != '"')) return {};
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] != quote) continue;
    if (at + 1 < text.size() && text[at + 1] == quote) {
      ++at;
      continue;
    }
    std::string name(text.substr(0, at + 1));
    text.remove_prefix(at + 1);
    return name;
  }
  return {};
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

class watching final : public odb::tracer {
 public:
  watching(odb::tracer* theirs, const std::function<void(std::string_view)>& see) : theirs_(theirs), see_(see) {}

  void prepare(odb::connection& connection, const odb::statement& statement) override {
    if (theirs_ != nullptr) theirs_->prepare(connection, statement);
  }
  void execute(odb::connection& connection, const odb::statement& statement) override {
    see_(statement.text());
    if (theirs_ != nullptr) theirs_->execute(connection, statement);
  }
  void execute(odb::connection& connection, const char* statement) override {
    see_(statement);
    if (theirs_ != nullptr) theirs_->execute(connection, statement);
  }
  void deallocate(odb::connection& connection, const odb::statement& statement) override {
    if (theirs_ != nullptr) theirs_->deallocate(connection, statement);
  }

 private:
  odb::tracer* const theirs_;  // which this one takes the place of
  const std::function<void(std::string_view)>& see_;
};

}  // namespace

std::vector<std::string> compared_columns(std::string_view statement) {
  auto condition = std::string_view::npos;
  for_each_character(statement, [&](std::size_t at, int depth) {
    if (depth == 0 && is_word_at(statement, at, "WHERE")) condition = at + 5;
  });
  if (condition == std::string_view::npos) return {};
  std::string_view rest = statement.substr(condition);
  std::vector<std::string> columns;
  do {
    while (take(rest, " ")) continue;
    auto name = take_name(rest);
    while (take(rest, ".")) name = take_name(rest);
    if (name.empty() || !take(rest, "=?")) return {};
    columns.push_back(std::move(name));
  } while (take(rest, " AND "));
  return rest.empty() ? columns : std::vector<std::string>{};
}

bool joins_tables(std::string_view statement) {
  bool found = false;
  for_each_character(statement, [&](std::size_t at, int depth) {
    if (depth == 0 && is_word_at(statement, at, "JOIN")) found = true;
  });
  return found;
}

void before_each(odb::transaction& in, const std::function<void(std::string_view)>& see,
                 const std::function<void()>& work) {
  odb::tracer* const before = in.tracer();
  auto& connection = in.connection();
  odb::tracer* const theirs = before != nullptr                ? before
                              : connection.tracer() != nullptr ? connection.tracer()
                                                               : connection.database().tracer();
  watching mine(theirs, see);
  const struct put_back {
    odb::transaction& in;
    odb::tracer* tracer;
    ~put_back() {
      if (!in.finalized()) in.tracer(tracer);
    }
  } guard{in, before};
  in.tracer(mine);
  work();
}

}  // namespace dlock::detail
