// SPDX-License-Identifier: BSL-1.0
#include "emit/emit_function.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace dlock_gen {

namespace {

/// The text of a path up to a step, for messages.
std::string text_up_to(const value_path& path, std::size_t step) {
  auto all = path.head;
  for (std::size_t at = 0; at < step; ++at) all += path.steps[at].text();
  return all;
}

/// Whether the step follows a pointer that may be null, which `this` is not.
bool follows_pointer(const value_path& path, std::size_t step) {
  return path.steps[step].arrow && !(step == 0 && path.from_object());
}

/// The end of the author's words from `step` to the next pointer, which become one text if they are adjacent.
std::size_t run_end(const value_path& path, std::size_t step) {
  auto end = step + 1;
  while (end < path.steps.size() && !follows_pointer(path, end)) ++end;
  return end;
}

void emit_checks_for_null(code_writer& to, const value_path& path, const std::string& key_text) {
  for (auto step = path.steps.size(); step-- > 0;) {
    if (!follows_pointer(path, step)) continue;
    to.line(fmt::format("::dlock::detail::not_null({}, {},", as_literal(key_text), as_literal(text_up_to(path, step))));
  }
}

std::string steps_text(const value_path& path, std::size_t from, std::size_t to) {
  std::string all;
  for (auto at = from; at < to; ++at) all += path.steps[at].text();
  return all;
}

}  // namespace

void emit_path(code_writer& to, const value_path& path, const std::string& key_text, const surroundings& around) {
  emit_checks_for_null(to, path, key_text);
  std::size_t step = 0;
  while (step < path.steps.size() && !follows_pointer(path, step)) ++step;
  if (path.from_object() && around.object != "this") {
    to.line(around.object);
    to.author(path.steps.front().where, steps_text(path, 0, step));
  } else {
    to.author(path.where, path.head + steps_text(path, 0, step));
  }
  while (step < path.steps.size()) {
    to.line(")");
    const auto end = run_end(path, step);
    to.author(path.steps[step].where, steps_text(path, step, end));
    step = end;
  }
}

namespace {

void emit_text_key(code_writer& to, const key_template& text, const surroundings& around, const char* end) {
  to.line(fmt::format("::dlock::detail::annotated_key({},", as_literal(text.text)));
  to.indent(4);
  for (std::size_t at = 0; at < text.pieces.size(); ++at) {
    const auto& piece = text.pieces[at];
    const bool last = at + 1 == text.pieces.size();
    if (!piece.literal.empty()) {
      to.line(fmt::format("std::string_view({}, {}){}", as_literal(piece.literal), piece.literal.size(),
                          piece.value || !last ? "," : fmt::format("){}", end)));
    }
    if (!piece.value) continue;
    to.beside_author(piece.value->where,
                     fmt::format("::dlock::detail::named_value({},", as_literal(piece.value->text())));
    emit_path(to, *piece.value, text.text, around);
    to.line(last ? fmt::format(")){}", end) : "),");
  }
  to.outdent(4);
}

void emit_row_key(code_writer& to, const row_plan& row, const surroundings& around, const char* end) {
  const auto shown = fmt::format("row: {}", row.id.text());
  if (row.entity_exact) {
    to.line("::dlock::row<");
    to.author(row.entity_at, row.entity);
    to.line(">(");
  } else {
    to.line(fmt::format("::dlock::row<{}>(", row.entity));
  }
  to.line(fmt::format("{},", around.locks));
  if (row.database.given) {
    const auto& name = row.database.path.head;
    to.line(fmt::format("{},", around.object.empty() ? database_parameter(name) : "*" + database_member(name)));
  } else {
    emit_path(to, row.database.path, shown, around);
    to.line(",");
  }
  emit_path(to, row.id, shown, around);
  to.line(fmt::format("){}", end));
}

void emit_key(code_writer& to, const key_plan& key, const surroundings& around, const char* end) {
  if (key.row) {
    emit_row_key(to, *key.row, around, end);
  } else {
    emit_text_key(to, key.text, around, end);
  }
}

}  // namespace

void emit_keys(code_writer& to, const lock_plan& lock, const surroundings& around) {
  if (lock.keys.size() == 1) {
    to.line("const ::dlock::lock_key dlock_key =");
    to.indent(4);
    emit_key(to, lock.keys.front(), around, ";");
    to.outdent(4);
    return;
  }
  to.line("const ::dlock::lock_keys dlock_key{");
  to.indent(4);
  for (std::size_t at = 0; at < lock.keys.size(); ++at) {
    emit_key(to, lock.keys[at], around, at + 1 == lock.keys.size() ? "};" : ",");
  }
  to.outdent(4);
}

}  // namespace dlock_gen
