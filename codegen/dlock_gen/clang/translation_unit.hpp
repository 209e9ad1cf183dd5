// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <clang-c/Index.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "annotations/annotation.hpp"
#include "clang/cursor.hpp"
#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen {

struct parse_request {
  std::filesystem::path file{};      ///< a header, or with `bodies` any source
  std::vector<std::string> flags{};  ///< useful_flags()
  bool bodies = false;               ///< reads the bodies of functions, too
  /// A file that counts as empty even if it exists: the one that this program is about to write.
  std::filesystem::path empty{};
};

/// An error without any syntax tree: a file can't be read.
struct cannot_read : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A use of a macro of dlock/annotations.hpp.
struct macro_use {
  annotation_kind kind = annotation_kind::locked;
  location where{};
};

/// A source as the compiler understands it. Locations and cursors live as long as it.
class translation_unit {
 public:
  /// Throws cannot_read.
  explicit translation_unit(const parse_request& request);
  ~translation_unit();
  translation_unit(const translation_unit&) = delete;
  translation_unit& operator=(const translation_unit&) = delete;

  CXCursor root() const { return clang_getTranslationUnitCursor(unit_); }
  const source_file& main() const noexcept { return *main_; }

  /// Its location in a file; for the result of a macro, where the macro is used.
  location where(CXSourceLocation place) const;
  location where(CXCursor cursor) const { return where(clang_getCursorLocation(cursor)); }
  location begin_of(CXCursor cursor) const { return where(clang_getRangeStart(clang_getCursorExtent(cursor))); }
  location end_of(CXCursor cursor) const { return where(clang_getRangeEnd(clang_getCursorExtent(cursor))); }
  bool in_main(CXCursor cursor) const { return where(cursor).file == main_; }
  bool in_system_header(CXCursor cursor) const;

  /// The annotations on a declaration, in the order of the source.
  std::vector<annotation> annotations_of(CXCursor declaration) const;
  /// Macros of annotations that are used in the main file.
  std::vector<macro_use> annotation_macros() const;
  /// Whether a macro is used at that offset of the file.
  bool is_macro_use(const location& place) const;

  /// Reports the compiler's own messages. Returns whether there is an error among them.
  bool report(diagnostics& out) const;
  /// All files that were read, including the main one, without those of the system.
  std::vector<std::filesystem::path> files() const;

 private:
  void parse(const parse_request& request);
  const source_file* file_of(CXFile file) const;
  const source_file* read_file(CXFile file) const;
  void collect_macros();
  annotation annotation_at(CXCursor attribute, const std::string& text, annotation_kind kind) const;

  std::filesystem::path path_;
  CXIndex index_ = nullptr;
  CXTranslationUnit unit_ = nullptr;
  const source_file* main_ = nullptr;
  mutable std::map<std::string, std::unique_ptr<source_file>> files_{};
  mutable std::map<CXFile, const source_file*> known_files_{};
  std::map<const source_file*, std::set<std::size_t>> macros_{};
  std::vector<macro_use> annotation_macros_{};
};

}  // namespace dlock_gen
