// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.hpp"
#include "stores/sql/sql_connection.hpp"
#include "stores/sql/table_names.hpp"

namespace dlock::stores::sql {

/// Clean-up of lock tables (rule 11), step by step. Thread safety: all functions may be called from any thread.
class clean_up {
 public:
  /// `names` must outlive it. `before_sessions_go` is a statement that runs before rows of sessions are deleted, or
  /// empty.
  explicit clean_up(const table_names& names, std::string before_sessions_go = {})
      : names_(names), texts_(names), before_sessions_go_(std::move(before_sessions_go)) {}

  /// See store_admin::cleanup(). Does nothing while another thread is cleaning up.
  reply step(sql_connection& on, microseconds idle, std::size_t limit);

  /// Where the next step continues.
  struct cursor {
    std::string after{};               ///< the last key that was read; empty at the beginning
    std::optional<std::string> end{};  ///< the last key of the current window; empty for the end of the table
    std::set<id128> dead{};            ///< sessions that were dead at the beginning, and that no key read so far names
    std::vector<id128> forgotten{};    ///< those left at the end, which no key names, so they may be deleted
  };

  /// The statements, with the names of these tables.
  struct texts {
    explicit texts(const table_names& names);

    /// A statement about the keys of a window.
    struct of_window {
      sql_text to_the_end;  ///< of the table
      sql_text to_a_key;
    };
    sql_text dead_sessions;
    sql_text end_of_window;
    of_window idle_keys;
    of_window dead_holders;
    sql_text raise_floor;
    sql_text delete_session;
    sql_text free_key;
    sql_text delete_key;
  };

 private:
  const table_names& names_;
  const texts texts_;
  const std::string before_sessions_go_;
  base::mutex mutex_{};
  cursor at_ DLOCK_GUARDED_BY(mutex_){};
};

}  // namespace dlock::stores::sql
