// SPDX-License-Identifier: BSL-1.0
#pragma once

/// For resources that a lock protects but can't verify: a file, a device, a service, another database. A writer passes
/// its fencing token, and the resource refuses a token lower than the greatest it has seen.
///
/// Check and write must be one step. A check that is not in the same critical section, statement or transaction as the
/// write proves nothing: the process may be stopped between the two, and a newer holder may write meanwhile.
/// Where the data is in the database that the locks live in, lease::verify() is better: see docs/transactions.md.

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "dlock/detail/invoke.hpp"
#include "dlock/error.hpp"
#include "dlock/export.hpp"
#include "dlock/runs_later.hpp"

namespace DLOCK_EXPORT dlock {

/// A token lower than one that the resource has seen: a newer holder was there. Nothing was written.
class stale_fence : public error {
 public:
  stale_fence(std::uint64_t token, std::uint64_t seen, const std::string& text)
      : error(errc::stale_fence, text), token_(token), seen_(seen) {}
  std::uint64_t token() const noexcept { return token_; }
  /// The greatest one before.
  std::uint64_t seen() const noexcept { return seen_; }

 private:
  std::uint64_t token_;
  std::uint64_t seen_;
};

/// The check as code, for the program that owns the resource. Remembers the greatest token of each resource that was
/// named, as long as it lives: after a restart, tell it what the resource knows (admit() the stored token) before
/// anybody writes.
///
///   fence_gate gate;
///   gate.require("report:daily", token, [&] { archive.write(text); });
///
/// `write` runs while no other caller passes with the same resource, so that no older token can write after a newer
/// one. A token counts as seen before `write` runs, also if that throws. An equal token is admitted: it is the same
/// holder.
///
/// Precondition: the token is not 0, which is that of an empty lease; std::invalid_argument otherwise. `write` does not
/// come back to the same resource.
/// Thread safety: all functions from any thread.
/// Cost: no statement.
class fence_gate {
 public:
  fence_gate();
  ~fence_gate();
  fence_gate(const fence_gate&) = delete;
  fence_gate& operator=(const fence_gate&) = delete;

  /// Runs `write` and gives true, or gives false if a greater token was seen.
  template <std::invocable F>
  bool admit(std::string_view resource, std::uint64_t token, F&& write) {
    const passage alone(*this, resource, token);
    if (!alone.admitted()) return false;
    check_writes<std::invoke_result_t<F>>();
    static_cast<void>(detail::invoke(std::forward<F>(write)));
    return true;
  }
  /// Runs `write` and gives what that gives.
  /// Errors: stale_fence, a greater token was seen; then `write` does not run.
  template <std::invocable F>
  decltype(auto) require(std::string_view resource, std::uint64_t token, F&& write) {
    const passage alone(*this, resource, token);
    check_writes<std::invoke_result_t<F>>();
    if (!alone.admitted()) alone.refuse(resource, token);
    return detail::invoke(std::forward<F>(write));
  }

  /// Only the check: enough where one thread both checks and writes. Without a name: a gate for one resource.
  bool admit(std::string_view resource, std::uint64_t token) {
    return admit(resource, token, [] {});
  }
  bool admit(std::uint64_t token) { return admit(std::string_view(), token); }
  void require(std::string_view resource, std::uint64_t token) {
    require(resource, token, [] {});
  }
  void require(std::uint64_t token) { require(std::string_view(), token); }

  /// The greatest token admitted so far; 0: none.
  std::uint64_t seen(std::string_view resource = {}) const;

 private:
  template <class R>
  static constexpr void check_writes() noexcept {
    static_assert(!detail::suspended<R> && !runs_later<std::remove_cvref_t<R>>,
                  "dlock: the write returns a coroutine or a future, which may write when a newer holder has written: "
                  "wait for it inside the function");
  }
  struct entry;
  struct entries;
  // While it lives, no other caller passes with that resource.
  class passage {
   public:
    passage(fence_gate& gate, std::string_view resource, std::uint64_t token);
    ~passage();
    passage(const passage&) = delete;
    passage& operator=(const passage&) = delete;
    bool admitted() const noexcept { return admitted_; }
    [[noreturn]] void refuse(std::string_view resource, std::uint64_t token) const;

   private:
    entry& entry_;
    bool admitted_;
  };

  const std::unique_ptr<entries> entries_;
};

/// The check as SQL: check and write in one statement. The column is a BIGINT NOT NULL DEFAULT 0 of the table that is
/// written.
///
///   const fenced_update save{.table = "report", .assignments = "body = ?", .condition = "id = ?"};
///   save.sql();  // UPDATE report SET body = ?, fence = ? WHERE (id = ?) AND fence <= ?
///
/// An aggregate; its texts are SQL and go into the statement as they are: never text from outside.
struct fenced_update {
  std::string table{};
  std::string assignments{};     ///< if empty, only the token is written
  std::string condition{};       ///< names the one row, as by its primary key
  std::string column = "fence";  ///< of the token

  /// What the driver counts as affected rows of an UPDATE.
  enum class rows {
    found,    ///< those that matched: CLIENT_FOUND_ROWS (ODB has it), SQLite, most databases
    changed,  ///< those that got other values: the default of MySQL's client library
  };
  enum class verdict {
    written,
    refused,  ///< a newer holder was there, or there is no such row
    ask,      ///< refused, or the row had these very values already: seen_sql() tells
  };

  /// The statement, in which the token is two parameters: the last of SET, and the last of all.
  /// Errors: std::invalid_argument, naming the field that is empty and must not be.
  std::string sql() const;
  /// The same with the token written into it.
  /// Errors: as sql(); std::invalid_argument, token 0.
  std::string sql(std::uint64_t token) const;
  /// SELECT column FROM table WHERE (condition) FOR UPDATE. After verdict::ask: our token means that the row has our
  /// values; anything else, or no row, means refused. A SELECT without FOR UPDATE could show what was there before the
  /// newer holder.
  /// Errors: as sql().
  std::string seen_sql() const;

  /// What the number of affected rows means. One row: written. None: with rows::found refused; with rows::changed it
  /// can't be known.
  static verdict judge(std::uint64_t affected, rows counted) noexcept;
};

}  // namespace dlock
