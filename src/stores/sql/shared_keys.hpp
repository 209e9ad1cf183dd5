// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Readers and permits (lock_options::mode), written once for all databases. docs/protocol.md, "Members", has the
/// rules.

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/holder_info.hpp"
#include "stores/sql/optional_table.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// The words in which databases differ.
struct member_words {
  std::string_view same_fence;  ///< returns the fence of the row `l`
  std::string_view lock_row;    ///< the end of a SELECT that locks the rows that it reads
  std::string_view share_row;   ///< likewise, shared
  /// What a transaction of the application does to its member's row ({mine}), so that nobody removes it before the end
  /// of that transaction. `share_row` follows.
  std::string_view verify;
  /// A condition: no other process than :wake_id sleeps as a waiter for :key. Empty where a statement can't see that.
  std::string_view nobody_waits = {};
  /// Always true: the connection keeps in mind which process a DELETE of a member of :key has to wake, if it found one.
  /// `nobody_waits` says which processes count; :bell is the key's closing_bell.
  std::string_view finds_waiter = {};
};

/// The table of members, and the keys that they share. Thread safety: all functions may be called from any thread.
class shared_keys {
 public:
  /// `names` has the lock tables and the database's words; `file` is the text of sql/member-*.sql; `creates`: the URL
  /// says schema=create.
  /// `database`: what stands before the table's name where another database may be the current one.
  shared_keys(const table_names& names, const member_words& words, std::string_view file, bool creates,
              const std::string& database = {});
  ~shared_keys();

  /// Whether execute() must be called for it.
  static bool concerns(const request& asked) noexcept {
    return asked.units != 0 || asked.action == verb::close || asked.action == verb::open ||
           (asked.expected != nullptr && asked.expected->shared != membership::none);
  }
  /// A release or cancel of a member, unless another process than `own` waits for the key: then the answer is no.
  reply leave_if_nobody_waits(sql_connection& on, const request& asked, const id128& own);
  /// A release or cancel of a member, which finds the first waiter by `finds_waiter` of member_words.
  reply leave_and_find(sql_connection& on, const request& asked, const id128& own);
  /// How a key is shared now.
  struct sharing {
    membership shared = membership::none;
    bool has_members = false;
  };
  reply read_sharing(sql_connection& on, std::string_view key, sharing& found);
  /// Expands also {member}, and the words of the statements about members.
  const table_names& names() const noexcept { return names_; }
  /// Whether that session stands for the members of a key.
  static bool is_shared(const id128& session) noexcept;

  /// Makes the table if it is missing and the URL allows that, so that programs whose user may not make tables find it.
  void make(sql_connection& on);
  /// A request that concerns members, except a poll.
  reply execute(sql_connection& on, const request& asked);
  /// After a poll that has shown the members' session: sets the holder for whom the caller must wait.
  void look(sql_connection& on, const request& asked, reply& polled);
  /// Replaces each holder in `all` that stands for members by these.
  reply name_members(sql_connection& on, std::vector<holder_info>& all);
  /// Counts the keys that have had members, and have none.
  reply count_free(sql_connection& on, std::uint64_t& found);
  /// Revokes the sessions of all members of a key.
  reply revoke(sql_connection& on, std::string_view key);
  /// One step of clean-up: removes dead members, and frees keys without members that were not opened for `idle`.
  reply clean(sql_connection& on, microseconds idle, std::size_t limit);

  /// For a transaction of the application: the statement that verifies a member, and what must be its end. Their
  /// parameters are those of row_sql::about_key(), nonce, and what `verify` of member_words has.
  const std::string& verification() const noexcept { return verification_; }
  const std::string& end_of_verification() const noexcept { return end_of_verification_; }
  /// A SELECT that finds a row if its transaction sees the member.
  const std::string& sees() const noexcept { return sees_; }

 private:
  template <class Run>
  reply with_table(sql_connection& on, Run run);
  /// The statement, which is made at its first use and lives as long as this object.
  const sql_text& text(const char* source, const char* doing, row_wait if_locked = row_wait::accept) const;
  reply look_for_table(sql_connection& on);
  reply join(sql_connection& on, const request& asked);
  reply downgrade(sql_connection& on, const request& asked);
  reply make_open(sql_connection& on, const request& asked);
  reply insert_open(sql_connection& on, const request& asked);
  reply close(sql_connection& on, const request& asked);
  reply take_closed(sql_connection& on, const request& asked);
  reply remove(sql_connection& on, std::string_view key, const id128& dead);
  bool finds_use(sql_connection& on);
  reply free_idle(sql_connection& on, std::string_view key);
  struct state;
  reply read_state(sql_connection& on, std::string_view key, state& found);

  table_names names_;
  const optional_table table_;
  const bool creates_;
  std::string verification_{};
  std::string end_of_verification_{};
  std::string sees_{};
  std::atomic<bool> used_{false};
  struct known_text;
  mutable base::mutex mutex_{};
  mutable std::vector<std::unique_ptr<const known_text>> texts_ DLOCK_GUARDED_BY(mutex_){};
  std::atomic<bool> looked_{false};                 // whether other programs share keys
  std::string cleaned_ DLOCK_GUARDED_BY(mutex_){};  ///< the last key that a step of clean-up has looked at
};

}  // namespace dlock::stores::sql
