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

/// Plays everything that a store is asked for. Returns the steps, and what was sent in each.
/// `hidden`: what differs from run to run, such as names of tables, and what stands in its place.
std::string golden_steps(store_fixture& fixture, statement_log& log,
                         std::vector<std::pair<std::string, std::string>> hidden);
/// The steps of a variant that the plain ones do not have, or have with other statements. Together with the plain steps
/// this says everything: a step that is missing is named, too.
std::string steps_beside(const std::string& plain, const std::string& variant);
/// Compares them with tests/contract/golden/<name>.sql. With DLOCK_WRITE_GOLDEN=1 in the environment it writes that
/// file.
void check_golden(const std::string& name, const std::string& steps);
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
