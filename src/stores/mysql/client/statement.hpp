// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dlock/store_interface/store_types.hpp"
#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

/// A buffer of a fixed size, as the client library binds it.
template <std::size_t Size>
struct mysql_bytes {
  std::array<char, Size> bytes{};
  unsigned long size = 0;

  /// Cuts off what does not fit; callers check before.
  void assign(std::string_view text) noexcept { size = static_cast<unsigned long>(text.copy(bytes.data(), Size)); }
  std::string_view view() const noexcept { return {bytes.data(), size}; }
};

/// The place of a parameter's or column's value. It must outlive the statement.
class mysql_field {
 public:
  enum class type { bytes, text, integer, natural };

  template <std::size_t Size>
  static mysql_field bytes(mysql_bytes<Size>& at) noexcept {
    return {type::bytes, at.bytes.data(), Size, &at.size};
  }
  /// A text in utf8mb4.
  template <std::size_t Size>
  static mysql_field text(mysql_bytes<Size>& at) noexcept {
    return {type::text, at.bytes.data(), Size, &at.size};
  }
  static mysql_field number(std::int64_t& at) noexcept { return {type::integer, &at, sizeof at, nullptr}; }
  static mysql_field number(std::uint64_t& at) noexcept { return {type::natural, &at, sizeof at, nullptr}; }
  /// A parameter that is NULL if `null` says so, or a column that sets it.
  static mysql_field number_or_null(std::int64_t& at, mysql_bool& null) noexcept {
    auto bound = number(at);
    bound.null_ = &null;
    return bound;
  }

  // For parameters only, which are not copied: the statement must not outlive them.
  static mysql_field bytes_at(std::string_view at) noexcept { return {type::bytes, at}; }
  static mysql_field text_at(std::string_view at) noexcept { return {type::text, at}; }
  static mysql_field number_at(const std::int64_t& at) noexcept { return number(const_cast<std::int64_t&>(at)); }
  static mysql_field number_at(const std::uint64_t& at) noexcept { return number(const_cast<std::uint64_t&>(at)); }
  static mysql_field null() noexcept;

  void bind(MYSQL_BIND& to) const noexcept;
  /// The parameter's value as an SQL literal.
  std::string literal() const;
  /// Called after the client library has written a column's value, with its whole size beside it. Limits the size to
  /// the room.
  void cut() const noexcept {
    if (size_ != nullptr && *size_ > room_) *size_ = room_;
  }
  /// Sets the value of a column, cut off in the same way. NULL becomes no bytes, or zero.
  void put(const std::optional<std::string>& value) const;

 private:
  mysql_field(type of, void* at, unsigned long room, unsigned long* size) noexcept
      : type_(of), at_(at), room_(room), size_(size) {}
  mysql_field(type of, std::string_view at) noexcept
      : mysql_field(of, const_cast<char*>(at.empty() ? "" : at.data()), static_cast<unsigned long>(at.size()),
                    nullptr) {}
  /// The bytes of a parameter.
  std::string_view view() const noexcept { return {static_cast<const char*>(at_), size_ == nullptr ? room_ : *size_}; }

  type type_;
  void* at_;
  unsigned long room_;
  unsigned long* size_;
  mysql_bool* null_ = nullptr;
};

/// The result of an UPDATE, INSERT or DELETE.
struct mysql_done {
  std::uint64_t rows = 0;       ///< the number of rows that matched
  std::uint64_t insert_id = 0;  ///< LAST_INSERT_ID
};

/// A statement of one connection, prepared once. It must be destroyed before the connection.
class mysql_statement {
 public:
  /// A primary key has up to 16 columns.
  static constexpr std::size_t most_fields = 32;

  /// `sql` and `name`, which messages show, must outlive it. Throws std::length_error for more than most_fields.
  mysql_statement(const std::string& sql, const char* name, std::vector<mysql_field> parameters);
  ~mysql_statement();
  mysql_statement(mysql_statement&& from) noexcept;
  mysql_statement& operator=(mysql_statement&&) = delete;

  /// Sets the places of its parameters; most statements get them once. Throws as the constructor does.
  void parameters(std::span<const mysql_field> from);
  /// From now on the statement is sent as text.
  void send_as_text() noexcept { as_text_ = true; }
  bool sent_as_text() const noexcept { return as_text_; }

  /// A missing table is an error at once. Otherwise the connection waits for it if it has seen the table before.
  void fail_without_table() noexcept { waits_for_table_ = false; }
  bool waits_for_table() const noexcept { return waits_for_table_; }

  const char* name() const noexcept { return name_; }
  bool prepared() const noexcept { return native_ != nullptr; }
  /// Returns false and sets `why` if the server rejects it. May be repeated.
  bool prepare(MYSQL* handle, fault& why);
  /// One round trip. Returns yes, with the result in done(), or failed or unknown and sets `why`. Precondition:
  /// prepared().
  outcome execute(fault& why);
  mysql_done done() const noexcept;
  /// How many columns its rows have. Precondition: prepared().
  std::size_t columns() const noexcept;
  /// After execute() of a SELECT. Returns yes, with the first row in `columns`, or absent. Cuts off bytes and texts
  /// that are longer than their places, so a statement must not select values that could be confused then.
  outcome fetch(std::span<const mysql_field> columns, fault& why);

  /// Whether execute() can be split into send() and receive(), between which the caller may wait for the reply in its
  /// own way. MySQL's own library can't.
  static const bool in_two_steps;
  bool send(fault& why);
  outcome receive(fault& why);
  /// Leaves it to the parent process, which has the same connection.
  void leave() noexcept { native_ = nullptr; }

  /// The text with the values written in, for servers that prepare no more statements.
  std::string written_out() const;

 private:
  fault fault_now() const;
  bool bind(fault& why);

  const std::string& sql_;
  const char* name_;
  std::vector<mysql_field> parameters_;
  MYSQL_STMT* native_ = nullptr;
  bool bound_ = false;
  bool as_text_ = false;
  bool waits_for_table_ = true;
};

}  // namespace dlock::stores::mysql
