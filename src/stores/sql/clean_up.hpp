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
  /// `names` must outlive it. `before_sessions_go`: a text that is sent before rows of sessions are deleted; empty:
  /// there is none.
  explicit clean_up(const table_names& names, std::string before_sessions_go = {})
      : names_(names), texts_(names), before_sessions_go_(std::move(before_sessions_go)) {}

  /// What store_admin::cleanup() says. While another thread is at it, it does nothing.
  reply step(sql_connection& on, microseconds idle, std::size_t limit);

  /// Where the next step goes on.
  struct cursor {
    std::string after{};               ///< behind this key; empty: at the beginning
    std::optional<std::string> end{};  ///< of the window that it is in: this key; empty: the end of the table
    std::set<id128> dead{};            ///< sessions that were dead at the beginning, and were not met on the way
    std::vector<id128> forgotten{};    ///< those left at the end: no key names them, so they may go
  };

  /// The statements, with the names of these tables.
  struct texts {
    explicit texts(const table_names& names);

    /// About the keys of a window.
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
