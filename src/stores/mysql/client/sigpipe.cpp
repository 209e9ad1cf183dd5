// SPDX-License-Identifier: BSL-1.0
#include "stores/mysql/client/sigpipe.hpp"

#include "base/signals.hpp"
#include "stores/mysql/client/native.hpp"

namespace dlock::stores::mysql {

#if defined(MARIADB_PACKAGE_VERSION_ID) && MARIADB_PACKAGE_VERSION_ID >= 30300

namespace {

using methods = st_mariadb_methods;

/// The library's own methods, the same for all connections.
const methods* original = nullptr;

template <auto Member, class Result, class... Arguments>
Result guarded(Arguments... arguments) {
  const base::no_sigpipe guard;
  return (original->*Member)(arguments...);
}

template <auto Member, class Result, class... Arguments>
void guard(methods& into, Result (*methods::*)(Arguments...)) {
  if (original->*Member != nullptr) into.*Member = guarded<Member, Result, Arguments...>;
}

template <auto... Members>
void guard_all(methods& into) {
  (guard<Members>(into, Members), ...);
}

/// Makes a table of methods that all reads and writes pass through. The library has such a table so that plugins can
/// replace it.
methods guarded_methods(const methods& all) {
  original = &all;
  methods made = all;
  guard_all<&methods::db_close, &methods::db_command, &methods::db_skip_result, &methods::db_read_query_result,
            &methods::db_read_rows, &methods::db_read_one_row, &methods::db_read_prepare_response,
            &methods::db_read_stmt_result, &methods::db_stmt_get_result_metadata, &methods::db_stmt_get_param_metadata,
            &methods::db_stmt_read_all_rows, &methods::db_stmt_fetch, &methods::db_stmt_flush_unbuffered,
            &methods::db_read_execute_response>(made);
  return made;
}

/// Another minor version may have a longer table.
bool is_known_library() noexcept {
  return version_in(mysql_get_client_info()) / 100 == MARIADB_PACKAGE_VERSION_ID / 100;
}

}  // namespace

void keep_sigpipe_from(MYSQL* handle) noexcept {
  static const bool known = is_known_library();
  if (!known) return;
  static const methods made = guarded_methods(*handle->methods);
  if (handle->methods == original) handle->methods = &made;
}

#else

void keep_sigpipe_from(MYSQL*) noexcept {}

#endif

}  // namespace dlock::stores::mysql
