// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "dlock/store_interface/id128.hpp"

namespace dlock::stores::sqlite {

/// A prepared statement. Values bound by reference must live until the statement was stepped to its end.
///
/// The bind functions return nothing: they fail only for a wrong index or while the statement runs, which are errors of
/// this library, or for lack of memory, which the reference forms don't need.
class sqlite_statement {
 public:
  /// Returns SQLite's code; on failure the statement stays empty and may be prepared again.
  int prepare(sqlite3* handle, std::string_view sql) noexcept {
    sqlite3_stmt* prepared = nullptr;
    const int code = ::sqlite3_prepare_v3(handle, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT,
                                          &prepared, nullptr);
    raw_.reset(prepared);
    return code;
  }
  explicit operator bool() const noexcept { return raw_ != nullptr; }

  void bind(int at, std::int64_t value) noexcept { ::sqlite3_bind_int64(raw_.get(), at, value); }
  /// SQLite has signed integers only; the bits are kept.
  void bind(int at, std::uint64_t value) noexcept { bind(at, static_cast<std::int64_t>(value)); }
  void bind_null(int at) noexcept { ::sqlite3_bind_null(raw_.get(), at); }
  void bind_text(int at, std::string_view text) noexcept {
    // A null pointer would bind NULL.
    ::sqlite3_bind_text64(raw_.get(), at, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
  }
  void bind_blob(int at, std::string_view bytes) noexcept {
    ::sqlite3_bind_blob64(raw_.get(), at, bytes.data() ? bytes.data() : "", bytes.size(), SQLITE_STATIC);
  }
  void bind_id(int at, const id128& id) noexcept {
    ::sqlite3_bind_blob64(raw_.get(), at, id.bytes.data(), id.bytes.size(), SQLITE_STATIC);
  }
  /// Does nothing if the statement has no such parameter.
  template <class T>
  void bind_named(const char* name, const T& value) noexcept {
    const int at = ::sqlite3_bind_parameter_index(raw_.get(), name);
    if (at == 0) return;
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      bind_text(at, value);
    } else {
      bind(at, value);
    }
  }

  int parameter_count() const noexcept { return ::sqlite3_bind_parameter_count(raw_.get()); }
  /// The name with its colon, empty if it has none. `at` counts from 1.
  std::string_view parameter_name(int at) const noexcept {
    const char* const name = ::sqlite3_bind_parameter_name(raw_.get(), at);
    return name == nullptr ? std::string_view() : std::string_view(name);
  }

  int step() noexcept { return ::sqlite3_step(raw_.get()); }
  void reset() noexcept {
    // The result repeats the code of the last step, which was handled already.
    if (raw_) ::sqlite3_reset(raw_.get());
  }

  int columns() const noexcept { return ::sqlite3_column_count(raw_.get()); }
  bool is_integer(int column) const noexcept { return ::sqlite3_column_type(raw_.get(), column) == SQLITE_INTEGER; }
  bool is_blob(int column) const noexcept { return ::sqlite3_column_type(raw_.get(), column) == SQLITE_BLOB; }
  bool is_null(int column) const noexcept { return ::sqlite3_column_type(raw_.get(), column) == SQLITE_NULL; }
  std::int64_t integer(int column) const noexcept { return ::sqlite3_column_int64(raw_.get(), column); }
  /// A BLOB, valid until the next step. For a text it would be the bytes of the file's encoding.
  std::string_view bytes(int column) const noexcept {
    const auto* data = static_cast<const char*>(::sqlite3_column_blob(raw_.get(), column));
    return {data, static_cast<std::size_t>(::sqlite3_column_bytes(raw_.get(), column))};
  }
  /// In UTF-8, whatever the file's encoding is. Valid until the next step.
  std::string_view text(int column) const noexcept {
    const auto* data = reinterpret_cast<const char*>(::sqlite3_column_text(raw_.get(), column));
    return {data, static_cast<std::size_t>(::sqlite3_column_bytes(raw_.get(), column))};
  }
  /// Zero for NULL or if it does not have 16 bytes.
  id128 id(int column) const noexcept {
    id128 read;
    const auto raw = bytes(column);
    if (raw.size() == read.bytes.size()) std::copy(raw.begin(), raw.end(), read.bytes.begin());
    return read;
  }

 private:
  struct finalize {
    void operator()(sqlite3_stmt* raw) const noexcept { ::sqlite3_finalize(raw); }
  };
  std::unique_ptr<sqlite3_stmt, finalize> raw_;
};

}  // namespace dlock::stores::sqlite
