// SPDX-License-Identifier: BSL-1.0
#include "read/declared_text.hpp"

#include <algorithm>
#include <array>

#include "clang/cursor.hpp"

namespace dlock_gen {

namespace {

constexpr std::array<std::string_view, 12> specifiers{"virtual",   "static",   "inline",       "constexpr",
                                                      "consteval", "explicit", "extern",       "friend",
                                                      "typedef",   "mutable",  "thread_local", "register"};

bool is_specifier(std::string_view word) {
  return std::find(specifiers.begin(), specifiers.end(), word) != specifiers.end();
}

/// The scope in which a name is found without "::" before it.
CXCursor home_of(CXCursor entity) {
  auto at = parent_of(entity);
  while (kind_of(at) == CXCursor_EnumDecl) at = parent_of(at);
  return at;
}

bool names_something(CXCursorKind kind) {
  return kind == CXCursor_TypeRef || kind == CXCursor_TemplateRef || kind == CXCursor_NamespaceRef ||
         kind == CXCursor_DeclRefExpr || kind == CXCursor_MemberRef || kind == CXCursor_OverloadedDeclRef;
}

}  // namespace

declared_text::declared_text(const translation_unit& unit, CXCursor function, bool other_namespace,
                             const std::vector<std::string>& names)
    : unit_(unit), parameter_names_(names) {
  rename_parameters(function);
  const auto begin = unit.begin_of(function);
  const auto name = unit.where(function);
  const auto end = unit.end_of(function);
  file_ = name.file;
  if (file_ != nullptr && begin.file == file_ && begin.offset <= name.offset && !unit.is_macro_use(name)) {
    const auto last = end.file == file_ && end.offset > name.offset ? end.offset : file_->text().size();
    tokens_ = split(file_->text(), begin.offset, last);
    find_parts(name.offset);
  }
  collect_names(function, other_namespace);
}

std::string declared_text::name_of_parameter(CXCursor parameter, std::size_t number) const {
  return parameter_names_.empty() ? name_of(parameter) : parameter_names_.at(number - 1);
}

void declared_text::rename_parameters(CXCursor function) {
  if (parameter_names_.empty()) return;
  for (int at = 0; at < clang_Cursor_getNumArguments(function); ++at) {
    const auto each = clang_Cursor_getArgument(function, static_cast<unsigned>(at));
    const auto& name = parameter_names_.at(static_cast<std::size_t>(at));
    if (name_of(each).empty()) continue;
    renamed_[unit_.where(each).offset] = name.empty() ? unnamed_parameter(static_cast<std::size_t>(at) + 1) : name;
  }
  names_ = renamed_;
}

void declared_text::look_at(CXCursor entity) {
  if (clang_Cursor_isNull(entity) != 0) return;
  const auto kind = kind_of(entity);
  if (kind == CXCursor_TemplateTypeParameter || kind == CXCursor_NonTypeTemplateParameter ||
      kind == CXCursor_TemplateTemplateParameter) {
    dependent_ = true;
    return;
  }
  if (kind == CXCursor_ParmDecl) return;
  const auto home = home_of(entity);
  if (!is_class(home)) return;
  dependent_ = dependent_ || is_inside_template(home);
  const auto access = clang_getCXXAccessSpecifier(entity);
  const auto seen = access == CX_CXXPrivate     ? visibility::is_private
                    : access == CX_CXXProtected ? visibility::is_protected
                                                : visibility::is_public;
  if (seen <= inaccessible_is_) return;
  inaccessible_is_ = seen;
  inaccessible_ = name_of(entity);
}

void declared_text::find_parts(std::size_t name_offset) {
  name_ = index_at(tokens_, name_offset);
  if (name_ == tokens_.size() || tokens_[name_].begin != name_offset) return;
  open_ = name_ + 1;
  if (tokens_[name_].is("operator") && open_ + 1 < tokens_.size() && tokens_[open_].is("(")) open_ += 2;
  while (open_ < tokens_.size() && !tokens_[open_].is("(")) ++open_;
  if (open_ == tokens_.size()) return;
  close_ = closing(tokens_, open_);
  readable_ = close_ != tokens_.size();
}

bool declared_text::is_reference_to_other_scope(CXCursor to, bool other_namespace) const {
  if (clang_Cursor_isNull(to) != 0) return false;
  switch (kind_of(to)) {
    case CXCursor_ParmDecl:
    case CXCursor_TemplateTypeParameter:
    case CXCursor_NonTypeTemplateParameter:
    case CXCursor_TemplateTemplateParameter: return false;
    default: break;
  }
  const auto home = home_of(to);
  return is_class(home) || other_namespace;
}

void declared_text::collect_names(CXCursor function, bool other_namespace) {
  each_below(function, [&](CXCursor each) {
    if (kind_of(each) == CXCursor_CompoundStmt) return false;
    if (!names_something(kind_of(each))) return true;
    look_at(clang_getCursorReferenced(each));
    if (!readable_) return true;
    const auto place = unit_.where(each);
    const auto at = index_at(tokens_, place.offset);
    if (place.file != file_ || at == tokens_.size() || tokens_[at].begin != place.offset) return true;
    const bool is_type = kind_of(each) == CXCursor_TypeRef || kind_of(each) == CXCursor_TemplateRef;
    const bool of_object = at > 0 && !is_type && (tokens_[at - 1].is(".") || tokens_[at - 1].is("->"));
    const bool qualified = of_object || (at > 0 && tokens_[at - 1].is("::"));
    const auto entity = clang_getCursorReferenced(each);
    const auto renamed = renamed_.find(unit_.where(entity).offset);
    if (kind_of(entity) == CXCursor_ParmDecl && renamed != renamed_.end()) {
      names_[place.offset] = renamed->second;
    } else if (!qualified && tokens_[at].text == name_of(entity) &&
               is_reference_to_other_scope(entity, other_namespace)) {
      names_[place.offset] = spelled_fully(entity);
    }
    return true;
  });
}

std::string declared_text::text(std::size_t from, std::size_t to) const {
  std::string all;
  for (auto at = from; at < to; ++at) {
    const auto& each = tokens_[at];
    if (at != from && tokens_[at - 1].end != each.begin) all += ' ';
    const auto name = names_.find(each.begin);
    all += name == names_.end() ? std::string(each.text) : name->second;
  }
  return all;
}

std::size_t declared_text::past_other_words(std::size_t at) const {
  const auto& word = tokens_[at];
  if (is_specifier(word.text)) {
    const bool of_c = word.is("extern") && at + 1 < name_ && tokens_[at + 1].kind == token_kind::text;
    const bool conditional = word.is("explicit") && at + 1 < name_ && tokens_[at + 1].is("(");
    return conditional ? closing(tokens_, at + 1) + 1 : at + (of_c ? 2 : 1);
  }
  if (word.is("[[")) return closing(tokens_, at) + 1;
  const bool attribute = word.is("__attribute__") || word.is("__declspec") || word.is("alignas");
  const bool macro = word.kind == token_kind::name && unit_.is_macro_use({file_, word.begin});
  if (!attribute && !macro) return at;
  return at + 1 < name_ && tokens_[at + 1].is("(") ? closing(tokens_, at + 1) + 1 : at + 1;
}

std::optional<std::string> declared_text::result() const {
  if (!readable_) return std::nullopt;
  std::string all;
  for (std::size_t at = 0; at < name_;) {
    const auto next = past_other_words(at);
    if (next != at) {
      at = next;
      continue;
    }
    auto end = at;
    while (end < name_ && past_other_words(end) == end) {
      // The name is in a bracket, so the result's type is written on both sides of it.
      if (tokens_[end].is("(") && closing(tokens_, end) > name_) return std::nullopt;
      ++end;
    }
    if (!all.empty()) all += ' ';
    all += text(at, end);
    at = end;
  }
  if (all == "auto") return trailing_result().value_or(all);
  if (all.empty()) return std::nullopt;
  return all;
}

std::optional<std::string> declared_text::trailing_result() const {
  const auto ends = [&](std::size_t at) {
    return at == tokens_.size() || tokens_[at].is("{") || tokens_[at].is(";") || tokens_[at].is("=");
  };
  auto at = close_ + 1;
  while (!ends(at) && !tokens_[at].is("->")) ++at;
  if (ends(at)) return std::nullopt;
  auto end = at + 1;
  while (!ends(end) && !tokens_[end].is("override") && !tokens_[end].is("final")) ++end;
  return text(at + 1, end);
}

std::optional<declared_text::words> declared_text::words_of(CXCursor parameter) const {
  const auto begin = unit_.begin_of(parameter);
  const auto end = unit_.end_of(parameter);
  if (!readable_ || begin.file != file_ || end.file != file_ || begin.offset >= end.offset) return std::nullopt;
  const words found{index_at(tokens_, begin.offset), index_at(tokens_, end.offset)};
  if (found.from <= open_ || found.to > close_ || found.from >= found.to || unit_.is_macro_use(begin))
    return std::nullopt;
  return found;
}

namespace {

/// The "=" of a default argument among the words; `to` if there is none.
std::size_t equals_in(const std::vector<token>& tokens, std::size_t from, std::size_t to) {
  for (auto at = from; at < to; ++at) {
    if (tokens[at].is("=")) return at;
    if (tokens[at].is("(") || tokens[at].is("[") || tokens[at].is("{") || tokens[at].is("[[")) at = closing(tokens, at);
  }
  return to;
}

}  // namespace

std::optional<std::string> declared_text::declaration_of(CXCursor parameter) const {
  const auto found = words_of(parameter);
  if (!found) return std::nullopt;
  return text(found->from, equals_in(tokens_, found->from, found->to));
}

std::string declared_text::default_of(CXCursor parameter) const {
  const auto found = words_of(parameter);
  if (!found) return {};
  const auto equals = equals_in(tokens_, found->from, found->to);
  return equals == found->to ? std::string() : text(equals + 1, found->to);
}

std::string declared_text::exception() const {
  for (auto at = close_ + 1; readable_ && at < tokens_.size(); ++at) {
    if (tokens_[at].is("{") || tokens_[at].is(";") || tokens_[at].is("->")) break;
    if (!tokens_[at].is("noexcept")) continue;
    if (at + 1 == tokens_.size() || !tokens_[at + 1].is("(")) return "noexcept";
    return text(at, std::min(tokens_.size(), closing(tokens_, at + 1) + 1));
  }
  return {};
}

bool declared_text::has_word(std::string_view specifier) const {
  return readable_ && std::any_of(tokens_.begin(), tokens_.begin() + static_cast<std::ptrdiff_t>(name_),
                                  [&](const token& each) { return each.is(specifier); });
}

bool declared_text::is_volatile() const {
  for (auto at = close_ + 1; readable_ && at < tokens_.size(); ++at) {
    if (tokens_[at].is("{") || tokens_[at].is(";") || tokens_[at].is("->")) break;
    if (tokens_[at].is("volatile")) return true;
  }
  return false;
}

bool declared_text::has_object_parameter() const {
  return readable_ && open_ + 1 < close_ && tokens_[open_ + 1].is("this");
}

}  // namespace dlock_gen
