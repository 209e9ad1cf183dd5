// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Every statement that the SQL stores send, in golden files. A change of the code that is to change no statement
/// leaves these files as they are; one that is to change a statement shows which.

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contract/row/row_contract.hpp"

namespace dlock::test {

/// What connections of this process sent to the database.
class statement_log {
 public:
  virtual ~statement_log() = default;
  /// Statements since the last call, in their order, each as it was sent; a prepared one with its placeholders.
  virtual std::vector<std::string> take() = 0;
};

/// Plays everything that a store is asked for and compares what it sent with tests/contract/golden/<name>.sql. With
/// DLOCK_WRITE_GOLDEN=1 in the environment it writes that file.
/// `hidden`: what differs from run to run, such as names of tables, and what stands in its place.
void check_golden(const std::string& name, store_fixture& fixture, statement_log& log,
                  std::vector<std::pair<std::string, std::string>> hidden);
/// The same of rows in a table of each shape.
void check_golden_rows(const std::string& name, const std::vector<row_shape>& shapes,
                       const std::function<std::unique_ptr<statement_log>()>& make_log,
                       const std::function<std::vector<std::pair<std::string, std::string>>(row_scene&)>& hidden);
/// Those whose statements differ.
inline std::vector<row_shape> golden_shapes() {
  return {{},
          {.id = row_id_kind::text, .owner_not_null = true},
          {.id = row_id_kind::composite, .fence_is_version = true},
          {.renewal = row_renewal::column}};
}

}  // namespace dlock::test
