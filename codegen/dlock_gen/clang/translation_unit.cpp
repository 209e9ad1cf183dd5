// SPDX-License-Identifier: BSL-1.0
#include "clang/translation_unit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "clang/compile_flags.hpp"
#include "source/lexer.hpp"

namespace dlock_gen {

namespace {

namespace fs = std::filesystem;

constexpr const char* wrapper_name = "dlock-gen-input.cpp";

/// "DLOCK_LOCKED(arguments)": the macro and its arguments.
std::optional<std::pair<annotation_kind, std::string>> read_attribute(const std::string& text) {
  const auto open = text.find('(');
  if (open == std::string::npos || text.back() != ')') return std::nullopt;
  const auto kind = annotation_of_macro(std::string_view(text).substr(0, open));
  if (!kind) return std::nullopt;
  return std::pair{*kind, text.substr(open + 1, text.size() - open - 2)};
}

/// The offsets of the text in the parentheses after the name that begins at `at`.
std::optional<std::pair<std::size_t, std::size_t>> parentheses_behind(std::string_view text, std::size_t at,
                                                                      std::string_view name) {
  if (text.substr(at, name.size()) != name) return std::nullopt;
  const auto tokens = split(text, at);
  if (tokens.size() < 2 || !tokens[0].is(name) || !tokens[1].is("(")) return std::nullopt;
  const auto close = closing(tokens, 1);
  if (close == tokens.size()) return std::nullopt;
  return std::pair{tokens[1].end, tokens[close].begin};
}

/// A file below the current folder is shown by its path from there.
std::string short_name(const std::string& file) {
  const auto folder = fs::current_path().string() + "/";
  const auto name = fs::path(file).lexically_normal().string();
  return name.starts_with(folder) ? name.substr(folder.size()) : name;
}

/// libclang's own headers, such as stddef.h, are in another package than libclang.
std::string advice_for(const std::string& message) {
  constexpr std::array<std::string_view, 7> own{"stddef.h", "stdarg.h", "stdbool.h",  "float.h",
                                                "limits.h", "stdint.h", "immintrin.h"};
  const bool missing = std::any_of(
      own.begin(), own.end(), [&](const auto name) { return message == fmt::format("'{}' file not found", name); });
  if (!missing) return {};
  const auto version = clang_version();
  return fmt::format(": libclang's own headers are missing (Debian: apt-get install libclang-common-{}-dev)",
                     version.substr(0, version.find('.')));
}

severity severity_of(CXDiagnostic message) {
  switch (clang_getDiagnosticSeverity(message)) {
    case CXDiagnostic_Error:
    case CXDiagnostic_Fatal: return severity::error;
    case CXDiagnostic_Warning: return severity::warning;
    default: return severity::note;
  }
}

}  // namespace

translation_unit::translation_unit(const parse_request& request)
    : path_(request.bodies ? short_name(request.file.string()) : request.file.string()) {
  std::error_code failed;
  if (!fs::is_regular_file(path_, failed)) throw cannot_read(fmt::format("there is no file {}", path_.string()));
  index_ = clang_createIndex(0, 0);
  try {
    parse(request);
  } catch (...) {
    clang_disposeIndex(index_);
    throw;
  }
  CXFile file = clang_getFile(unit_, fs::absolute(path_).lexically_normal().c_str());
  main_ = file_of(file);
  if (main_ == nullptr) {
    files_.emplace(path_.string(), std::make_unique<source_file>(path_.string(), std::string()));
    main_ = files_.begin()->second.get();
  }
  collect_macros();
}

translation_unit::~translation_unit() {
  clang_disposeTranslationUnit(unit_);
  clang_disposeIndex(index_);
}

void translation_unit::parse(const parse_request& request) {
  const auto file = fs::absolute(path_).lexically_normal().string();
  // A source of ours includes the header, so that "#pragma once" has its usual meaning in it.
  const auto wrapper = fmt::format("#include \"{}\"\n", file);
  std::vector<CXUnsavedFile> unsaved;
  if (!request.bodies) unsaved.push_back({wrapper_name, wrapper.c_str(), wrapper.size()});
  const auto empty = request.empty.empty() ? std::string() : fs::absolute(request.empty).lexically_normal().string();
  if (!empty.empty()) unsaved.push_back({empty.c_str(), "", 0});

  std::vector<std::string> arguments{"-x", "c++"};
  arguments.insert(arguments.end(), request.flags.begin(), request.flags.end());
  for (auto& each : resource_flags()) arguments.push_back(std::move(each));
  arguments.insert(arguments.end(), {"-w", "-DDLOCK_GENERATING", "-ferror-limit=20"});
  std::vector<const char*> words;
  for (const auto& each : arguments) words.push_back(each.c_str());

  unsigned options = CXTranslationUnit_DetailedPreprocessingRecord;
  if (!request.bodies) options |= CXTranslationUnit_SkipFunctionBodies;
  const auto failed = clang_parseTranslationUnit2(index_, request.bodies ? file.c_str() : wrapper_name, words.data(),
                                                  static_cast<int>(words.size()), unsaved.data(),
                                                  static_cast<unsigned>(unsaved.size()), options, &unit_);
  if (failed != CXError_Success) throw cannot_read(fmt::format("libclang can't parse {}", path_.string()));
}

const source_file* translation_unit::file_of(CXFile file) const {
  if (file == nullptr) return nullptr;
  const auto [known, is_new] = known_files_.emplace(file, nullptr);
  if (is_new) known->second = read_file(file);
  return known->second;
}

const source_file* translation_unit::read_file(CXFile file) const {
  auto name = text_of(clang_getFileName(file));
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second.get();
  std::size_t size = 0;
  const char* const text = clang_getFileContents(unit_, file, &size);
  if (text == nullptr) return nullptr;
  // The author's own name for it, or a short one.
  const auto shown = name == fs::absolute(path_).lexically_normal().string() ? path_.string() : short_name(name);
  auto made = std::make_unique<source_file>(shown, std::string(text, size));
  return files_.emplace(std::move(name), std::move(made)).first->second.get();
}

location translation_unit::where(CXSourceLocation place) const {
  CXFile file = nullptr;
  unsigned offset = 0;
  clang_getExpansionLocation(place, &file, nullptr, nullptr, &offset);
  return {file_of(file), offset};
}

bool translation_unit::in_system_header(CXCursor cursor) const {
  return clang_Location_isInSystemHeader(clang_getCursorLocation(cursor)) != 0;
}

void translation_unit::collect_macros() {
  for (const auto each : children(root())) {
    if (kind_of(each) != CXCursor_MacroExpansion) continue;
    if (in_system_header(each)) continue;
    const auto place = where(each);
    if (place.file == nullptr) continue;
    macros_[place.file].insert(place.offset);
    const auto kind = annotation_of_macro(name_of(each));
    if (kind && place.file == main_) annotation_macros_.push_back({*kind, place});
  }
}

bool translation_unit::is_macro_use(const location& place) const {
  const auto found = macros_.find(place.file);
  return found != macros_.end() && found->second.contains(place.offset);
}

std::vector<macro_use> translation_unit::annotation_macros() const { return annotation_macros_; }

annotation translation_unit::annotation_at(CXCursor attribute, const std::string& text, annotation_kind kind) const {
  annotation made{kind, {}, where(attribute)};
  const auto inside = parentheses_behind(made.where.file->text(), made.where.offset, macro_of(kind));
  if (inside) {
    const auto [from, to] = *inside;
    made.arguments = {std::string(made.where.file->text().substr(from, to - from)), {made.where.file, from}, true};
  } else {
    made.arguments = {text, made.where, false};
  }
  return made;
}

std::vector<annotation> translation_unit::annotations_of(CXCursor declaration) const {
  std::vector<annotation> found;
  for (const auto each : children(declaration)) {
    if (kind_of(each) != CXCursor_AnnotateAttr) continue;
    const auto read = read_attribute(name_of(each));
    if (read) found.push_back(annotation_at(each, read->second, read->first));
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& left, const auto& right) {
    return left.where.file == right.where.file && left.where.offset < right.where.offset;
  });
  return found;
}

bool translation_unit::report(diagnostics& out) const {
  bool failed = false;
  for (unsigned at = 0; at < clang_getNumDiagnostics(unit_); ++at) {
    const auto message = clang_getDiagnostic(unit_, at);
    const auto level = severity_of(message);
    const auto text = text_of(clang_getDiagnosticSpelling(message));
    const auto place = where(clang_getDiagnosticLocation(message));
    clang_disposeDiagnostic(message);
    if (level == severity::error) {
      failed = true;
      out.error(place, text + advice_for(text));
    } else if (level == severity::note && failed) {
      out.note(place, text);
    }
  }
  return failed;
}

std::vector<fs::path> translation_unit::files() const {
  struct visit {
    CXTranslationUnit unit;
    std::vector<fs::path> found;
  } into{unit_, {}};
  clang_getInclusions(
      unit_,
      [](CXFile file, CXSourceLocation*, unsigned, CXClientData data) {
        auto& all = *static_cast<visit*>(data);
        const auto start = clang_getLocationForOffset(all.unit, file, 0);
        const auto name = text_of(clang_getFileName(file));
        if (name != wrapper_name && clang_Location_isInSystemHeader(start) == 0) all.found.emplace_back(name);
      },
      &into);
  return std::move(into.found);
}

}  // namespace dlock_gen
