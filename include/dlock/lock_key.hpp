// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dlock/export.hpp"
#include "dlock/store_interface/row_table.hpp"

namespace DLOCK_EXPORT dlock {

namespace detail {

DLOCK_EXPORT std::string_view checked_text(const char* text);
DLOCK_EXPORT std::string_view checked_array(const char* text, std::size_t size, bool may_be_literal);

}  // namespace detail

/// The name of what is locked: 1 to 255 bytes, each of any value, compared byte by byte.
///
/// A text of at most `max_size` bytes is used verbatim: case, accents, trailing spaces and zero bytes count.
/// A longer one is folded to exactly 255 bytes: its first 190, ':', and the SHA-256 of the whole text in 64
/// lower-case hex digits. A 255-byte text that already looks like that is folded too, so no text is taken for
/// the folded form of another. The encoding never changes: old and new processes must agree about it.
///
/// Keys are made from plain text by the implicit constructors here, from values by key<"..."> (key.hpp) and
/// from projections by key_of (key_of.hpp). All three share one name space: equal bytes are the same lock.
///
/// A key can also name a row of the application's that is locked in place (dlock::row() in dlock/odb/row.hpp): its
/// bytes are then "table:id", and it is equal only to the key of the same row, never to a text that happens to read the
/// same.
///
/// Precondition: it is not moved-from; such a key may only be assigned or destroyed.
/// Thread safety: as a const std::string.
/// Cost: no round trip.
class lock_key {
 public:
  static constexpr std::size_t max_size = 255;
  static constexpr std::size_t readable_size = 190;  ///< what a folded key keeps of its text

  /// Implicit, so that acquire("report:daily") reads well.
  /// Errors: std::invalid_argument, the text is empty (or a null pointer).
  lock_key(std::string text);
  lock_key(std::string_view text);
  lock_key(std::nullptr_t) = delete;
  /// Text up to the first zero byte, or the end of the array: a key with zero bytes needs a string_view.
  template <class Pointer>
  requires(std::is_pointer_v<Pointer>&& std::convertible_to<Pointer, const char*>)  //
      lock_key(Pointer text)
      : lock_key(detail::checked_text(static_cast<const char*>(text))) {}
  /// A literal with a part in braces, "order:{o.id}", is std::invalid_argument: a key<"..."> was forgotten, and all
  /// orders would share one lock. As a std::string_view, "order:{o.id}"sv, it is a text like any other.
  template <class Char, std::size_t Size>
  requires std::same_as < std::remove_const_t<Char>,
  char > lock_key(Char (&text)[Size]) : lock_key(detail::checked_array(text, Size, std::is_const_v<Char>)) {}

  /// A key exactly as a store holds it, for tools that list locks and act on what they found: 1 to 255 bytes, never
  /// folded again.
  /// Errors: std::invalid_argument, any other size.
  static lock_key from_stored(std::string_view bytes);

  /// Names a row.
  /// Errors: std::invalid_argument, there is no table, or not one value for each of its id columns.
  static lock_key of_row(std::shared_ptr<const row_table> table, std::vector<row_value> id);

  /// The row, or null for a key that is a text.
  const row_id* row() const& noexcept { return row_.get(); }
  const row_id* row() const&& = delete;  ///< it would be gone with the key

  /// The bytes that go to the store. Valid as long as this key.
  std::string_view view() const& noexcept { return bytes_; }
  std::string_view view() const&& = delete;  ///< lock_key("k").view(): the bytes would be gone with the key
  /// The same as a new string: key<"order:{o.id}">(o).str().
  std::string str() const { return bytes_; }

  /// Computed once, at construction. Equal keys have equal hashes within one process; never store it or send it.
  std::uint64_t hash() const noexcept { return hash_; }

  /// Whether view() is a folded form.
  bool folded() const noexcept;

  /// Bytes of the text this key was made from; more than view().size() only when folded. A key made by
  /// from_stored() does not know its text and answers view().size().
  std::size_t original_size() const noexcept { return original_size_; }

  /// For messages: the key in quotes, unprintable bytes escaped, and, when folded, what became of the text.
  std::string explain() const;

  friend bool operator==(const lock_key& left, const lock_key& right) noexcept {
    return left.hash_ == right.hash_ && left.bytes_ == right.bytes_ && left.table() == right.table();
  }

  /// By bytes, as VARBINARY and BLOB columns order them; a text before a row.
  friend std::strong_ordering operator<=>(const lock_key& left, const lock_key& right) noexcept {
    if (const auto order = left.bytes_ <=> right.bytes_; order != 0) return order;
    return left.table() <=> right.table();
  }

 private:
  struct verbatim {};
  lock_key(verbatim, std::string bytes, std::size_t original_size) noexcept;

  std::string_view table() const noexcept { return row_ == nullptr ? std::string_view() : row_->table->table; }

  std::string bytes_;
  std::size_t original_size_;
  std::uint64_t hash_ = 0;
  std::shared_ptr<const row_id> row_{};
};

/// The key's bytes for a log line or a terminal: printable ASCII and well-formed UTF-8 text as they are,
/// backslashes doubled, everything else (control characters, broken UTF-8, invisible and direction-changing
/// characters) as \xHH. Different keys print differently. lock_key_formatter.hpp gives it to fmt and spdlog.
DLOCK_EXPORT std::string printable(const lock_key& key);

namespace detail {

DLOCK_EXPORT std::string printable_text(std::string_view text);

}  // namespace detail

}  // namespace dlock

template <>
struct std::hash<dlock::lock_key> {
  std::size_t operator()(const dlock::lock_key& key) const noexcept { return static_cast<std::size_t>(key.hash()); }
};
