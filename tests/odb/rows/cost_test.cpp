// SPDX-License-Identifier: BSL-1.0
// What docs/row-locks.md says that things cost, counted where the statements arrive.
#include "odb/rows/row_fixture.hpp"
//
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "dlock/odb/claim.hpp"
#include "dlock/odb/database.hpp"
#include "dlock/odb/lock_row.hpp"

using namespace dlock::test;
using dlock::claim;
using dlock::lock_row;

namespace {

struct cost_scene : rows {
  cost_scene() {
    for (int id = 1; id <= 3; ++id) add(order{.id = id, .status = "paid"});
    // Once for each connection: statements are prepared, the table is looked at.
    lock_row<order>(locks, db, 1).commit();
    for (auto& row : claim<order>(locks, db, all, 5)) row.commit();
    for (auto& row : claim<order>(others, db, all, 5)) row.commit();
    fixture->watch();
    ours_before_ = locks.statements();
  }

  /// As "BEGIN, 2, COMMIT": what the application's connections sent since the last call.
  std::string theirs() {
    std::string words;
    int between = 0;
    const auto flush = [&] {
      if (between != 0) words += (words.empty() ? "" : ", ") + std::to_string(std::exchange(between, 0));
    };
    for (const auto& each : fixture->sent()) {
      const auto word = upper(each.substr(0, each.find_first_of(" ;")));
      if (word != "BEGIN" && word != "COMMIT" && word != "ROLLBACK") {
        ++between;
        continue;
      }
      flush();
      words += (words.empty() ? "" : ", ") + word;
    }
    flush();
    return words;
  }
  /// Statements of the service's own connections since the last call.
  std::uint64_t ours() {
    const auto now = locks.statements();
    return now - std::exchange(ours_before_, now);
  }

  const odb::query<order> all{"ORDER BY id"};

 private:
  static std::string upper(std::string text) {
    for (char& c : text) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    return text;
  }
  std::uint64_t ours_before_ = 0;
};

}  // namespace

TEST_CASE_METHOD(cost_scene, "row cost: of locking, loading, writing and releasing one row", "[rows]") {
  auto row = lock_row<order>(locks, db, 1);
  CHECK(theirs() == "BEGIN, 1, COMMIT");
  CHECK(ours() == 1);
  row.update();
  CHECK(theirs() == "BEGIN, 2, COMMIT");
  CHECK(ours() == 0);
  {
    odb::transaction mine(dlock::begin_write(db));
    static_cast<void>(theirs());
    row.update(mine);
    CHECK(theirs() == "2");
    mine.commit();
  }
  static_cast<void>(theirs());
  row.commit();
  CHECK(theirs() == "BEGIN, 2, COMMIT");
  CHECK(ours() == 0);
  auto again = lock_row<order>(locks, db, 1);
  static_cast<void>(theirs());
  static_cast<void>(ours());
  again.release();
  CHECK(theirs().empty());
  CHECK(ours() == 1);
}

TEST_CASE_METHOD(cost_scene, "row cost: of a claim, for any number of rows", "[rows]") {
  {
    const auto claimed = claim<order>(locks, db, all, 3);
    REQUIRE(claimed.size() == 3);
    CHECK(theirs() == "BEGIN, 3, COMMIT");
    CHECK(ours() == 0);
    // Nothing is free; and nobody is dead.
    CHECK(claim<order>(others, db, all, 3).empty());
    CHECK(theirs() == "BEGIN, 1, COMMIT, BEGIN, 1, COMMIT");
  }
  static_cast<void>(ours());
  const auto claimed = claim<order>(locks, db, all, 5);
  REQUIRE(claimed.size() == 3);
  CHECK(theirs() == "BEGIN, 3, COMMIT, BEGIN, 1, COMMIT");
  CHECK(ours() == 0);
}
