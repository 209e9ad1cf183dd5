// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>

#include "by_hand.hpp"
#include "support/sql_file.hpp"

namespace dlock::bench {

/// Makes the tables of the file `of`.sql in sql/, where @LOCKS@ is `database` and @TABLE@ is `table`.
inline void make_tables(raw_database& in, const std::string& of, const std::string& database,
                        const std::string& table) {
  for (auto& each : test::statements_of(of + ".sql"))
    in.run(test::replaced(test::replaced(std::move(each), "@LOCKS@", database), "@TABLE@", table));
}

}  // namespace dlock::bench
