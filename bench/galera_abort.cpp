// SPDX-License-Identifier: BSL-1.0

/// What a client learns of a transaction that a Galera cluster ends while the transaction reads, because another node
/// changed a row of it. By the client library alone, without dlock; docs/measurements.md has the results.
///
///   dlock_galera_abort <port> <port> all|first [transactions] [check]
///
/// A connection at the first node runs transactions: a guarded UPDATE, many short SELECTs (prepared), an INSERT,
/// COMMIT. At a random moment of each, a connection at the second node changes the guarded row. `all` reads each result
/// to its end; `first` takes one row and frees the result, as ODB loads an object by its id. With `check` the guarded
/// UPDATE is sent again after the SELECTs and before COMMIT.

#include <mysql.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <future>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using std::chrono::microseconds;

class client {
 public:
  explicit client(const char* port) : my_(mysql_init(nullptr)) {
    if (mysql_real_connect(my_, "127.0.0.1", "dlock_owner", "owner-pw", "app", static_cast<unsigned>(std::atoi(port)),
                           nullptr, CLIENT_FOUND_ROWS) == nullptr) {
      throw std::runtime_error(mysql_error(my_));
    }
  }
  ~client() {
    if (read_ != nullptr) mysql_stmt_close(read_);
    mysql_close(my_);
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  /// The error's number; 0: none.
  unsigned send(const std::string& sql) { return mysql_query(my_, sql.c_str()) == 0 ? 0 : mysql_errno(my_); }
  void must(const std::string& sql) {
    if (send(sql) != 0) throw std::runtime_error(sql + ": " + mysql_error(my_));
  }
  long number(const std::string& sql) {
    must(sql);
    MYSQL_RES* const rows = mysql_store_result(my_);
    const MYSQL_ROW row = rows == nullptr ? nullptr : mysql_fetch_row(rows);
    if (row == nullptr) throw std::runtime_error(sql + ": " + mysql_error(my_));
    const long value = std::atol(row[0]);
    mysql_free_result(rows);
    return value;
  }
  bool in_transaction() const { return (my_->server_status & SERVER_STATUS_IN_TRANS) != 0; }
  unsigned long long changed() { return mysql_affected_rows(my_); }

  /// One row by its id. The error's number; `late`: it came after the row.
  unsigned read(int id, bool to_the_end, bool& late) {
    if (read_ == nullptr) {
      const std::string_view sql = "SELECT v FROM plain WHERE id = ?";
      read_ = mysql_stmt_init(my_);
      if (mysql_stmt_prepare(read_, sql.data(), sql.size()) != 0) throw std::runtime_error(mysql_stmt_error(read_));
    }
    MYSQL_BIND in, out;
    std::memset(&in, 0, sizeof in);
    std::memset(&out, 0, sizeof out);
    int value = 0;
    in.buffer_type = out.buffer_type = MYSQL_TYPE_LONG;
    in.buffer = &id;
    out.buffer = &value;
    late = false;
    // MariaDB's library may leave the statement's own number at 0.
    const auto failed = [&](int code) {
      return code != 1 ? 0U : mysql_stmt_errno(read_) != 0 ? mysql_stmt_errno(read_) : mysql_errno(my_);
    };
    if (mysql_stmt_bind_param(read_, &in) || mysql_stmt_execute(read_) != 0) return mysql_stmt_errno(read_);
    if (mysql_stmt_bind_result(read_, &out)) return mysql_stmt_errno(read_);
    auto error = failed(mysql_stmt_fetch(read_));
    if (error == 0 && to_the_end && (error = failed(mysql_stmt_fetch(read_))) != 0) late = true;
    mysql_stmt_free_result(read_);
    return error;
  }

 private:
  MYSQL* my_;
  MYSQL_STMT* read_ = nullptr;
};

struct outcome {
  bool confirmed = false;  ///< no statement failed, COMMIT included
  bool late = false;       ///< an error came after the row of a SELECT
};

struct settings {
  int transactions = 400;
  bool to_the_end = true;
  bool check = false;
};

/// The guarded UPDATE: whether it says that the row is ours, in a transaction.
bool guard(client& at, long holder) {
  return at.send("UPDATE guarded SET n = n + 1 WHERE id = 1 AND holder = " + std::to_string(holder)) == 0 &&
         at.changed() == 1 && at.in_transaction();
}

outcome transact(client& at, long holder, int number, int reads, const settings& how) {
  outcome result;
  const auto work = [&] {
    if (!guard(at, holder)) return false;
    for (int i = 0; i != reads; ++i) {
      if (at.read(i % 5 + 1, how.to_the_end, result.late) != 0) return false;
    }
    if (how.check && !guard(at, holder)) return false;
    if (at.send("INSERT INTO written VALUES (" + std::to_string(number) + ")") != 0) return false;
    if (how.check && !guard(at, holder)) return false;
    return at.send("COMMIT") == 0;
  };
  at.must("BEGIN");
  result.confirmed = work();
  if (!result.confirmed) at.send("ROLLBACK");
  return result;
}

void run(const char* first, const char* second, const settings& how) {
  client a(first), b(second), look(first);
  for (const char* const sql : {"CREATE OR REPLACE TABLE guarded (id INT PRIMARY KEY, holder INT, n INT) ENGINE=InnoDB",
                                "INSERT INTO guarded VALUES (1, 0, 0)",
                                "CREATE OR REPLACE TABLE plain (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
                                "INSERT INTO plain VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)",
                                "CREATE OR REPLACE TABLE written (id INT PRIMARY KEY) ENGINE=InnoDB"}) {
    a.must(sql);
  }
  // What is looked at, and where a transaction begins, is what was committed anywhere before.
  for (auto* const each : {&a, &b, &look}) each->must("SET SESSION wsrep_sync_wait = 7");
  std::mt19937 random(1);
  int refused = 0, late = 0, kept = 0, confirmed = 0, undone = 0;
  microseconds length = 5ms;
  long counted = 0;
  for (int number = 1; number <= how.transactions; ++number) {
    const auto after = microseconds(random() % static_cast<unsigned long>(length.count() + 1));
    std::promise<void> begin;
    auto other = std::async(std::launch::async, [&, begun = begin.get_future()] {
      begun.wait();
      std::this_thread::sleep_for(after);
      while (b.send("UPDATE guarded SET holder = holder + 1 WHERE id = 1") != 0) continue;
    });
    const auto from = steady::now();
    begin.set_value();
    const auto result = transact(a, number - 1, number, static_cast<int>(random() % 600), how);
    length = (7 * length + std::chrono::duration_cast<microseconds>(steady::now() - from)) / 8;
    other.get();
    const long n = look.number("SELECT n FROM guarded WHERE id = 1");
    const bool written = look.number("SELECT COUNT(*) FROM written WHERE id = " + std::to_string(number)) == 1;
    ++(result.confirmed ? confirmed : refused);
    if (!result.confirmed && written) ++kept;
    if (result.confirmed && n == counted) ++undone;  // a transaction that was committed has counted itself
    if (result.late) ++late;
    counted = n;
  }
  std::printf("refused: %d, %d of them by an error after the row of a SELECT; what %d of them had written is there\n",
              refused, late, kept);
  std::printf("confirmed: %d; the guarded UPDATE of %d of them is not there\n", confirmed, undone);
}

}  // namespace

int main(int argc, char** argv) try {
  settings how;
  const std::string_view reads = argc > 3 ? argv[3] : "";
  if (reads != "all" && reads != "first") {
    std::fprintf(stderr, "usage: %s <port> <port> all|first [transactions] [check]\n", argv[0]);
    return 2;
  }
  how.to_the_end = reads == "all";
  if (argc > 4) how.transactions = std::atoi(argv[4]);
  how.check = argc > 5 && std::string_view(argv[5]) == "check";
  run(argv[1], argv[2], how);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
