// SPDX-License-Identifier: BSL-1.0
#include "source/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <utility>

namespace dlock_gen {

namespace {

std::string_view name_of(severity level) {
  switch (level) {
    case severity::note: return "note";
    case severity::warning: return "warning";
    case severity::error: break;
  }
  return "error";
}

/// The blanks before the caret. Tabs stay tabs, so that the caret is in the right column.
std::string blanks_like(std::string_view text) {
  std::string blanks(text);
  for (char& each : blanks) {
    if (each != '\t') each = ' ';
  }
  return blanks;
}

}  // namespace

std::string rendered(const diagnostic& what) {
  if (what.where.file == nullptr) return fmt::format("dlock-gen: {}: {}\n", name_of(what.level), what.text);
  const auto [line, column] = what.where.at();
  auto out = fmt::format("{}:{}:{}: {}: {}\n", what.where.file->path(), line, column, name_of(what.level), what.text);
  const auto source = what.where.file->line(line);
  const auto before = source.substr(0, std::min<std::size_t>(source.size(), column - 1));
  const auto width = std::max<std::size_t>(1, std::min(what.width, source.size() - before.size()));
  out += fmt::format("  {}\n  {}^{}\n", source, blanks_like(before), std::string(width - 1, '~'));
  return out;
}

void diagnostics::error(location where, std::string text, std::size_t width) {
  // An error of a class is found with each of its functions.
  const bool known = std::any_of(all_.begin(), all_.end(), [&](const auto& each) {
    return each.text == text && each.where.file == where.file && each.where.offset == where.offset;
  });
  if (known) return;
  ++errors_;
  all_.push_back({severity::error, where, std::move(text), width});
}

void diagnostics::note(location where, std::string text, std::size_t width) {
  all_.push_back({severity::note, where, std::move(text), width});
}

std::string diagnostics::text() const {
  std::string out;
  for (const auto& each : all_) out += rendered(each);
  return out;
}

namespace {

/// The number of characters to insert, remove or replace.
std::size_t distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= from.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const auto replaced = diagonal + (from[i - 1] == to[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string suggestion(std::string_view wrong, const std::vector<std::string>& known) {
  const std::string* best = nullptr;
  auto least = wrong.size() / 3 + 1;  // a different word is no misspelling of this one
  for (const auto& each : known) {
    const auto far = distance(wrong, each);
    if (!each.empty() && far < least) {
      best = &each;
      least = far;
    }
  }
  return best == nullptr ? std::string() : fmt::format("; did you mean '{}'?", *best);
}

}  // namespace dlock_gen
