// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/lease_table/store.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include "stores/findings.hpp"

namespace dlock::stores::sqlite::lease_table {

namespace {

double megabytes(const std::string& path) {
  struct stat is {};
  return ::stat(path.c_str(), &is) == 0 ? static_cast<double>(is.st_size) / 1e6 : 0;
}

class examination {
 public:
  examination(lease_connection& with, std::vector<store_finding>& to) : with_(with), found_(to) {}

  reply run() {
    if (!check_durability() || !check_others()) return answer_;
    check_rights();
    check_file_system();
    check_log();
    return answer_;
  }

 private:
  /// Reads the rows of a statement.
  bool ask(const std::string& text, sql::sql_rows& rows) {
    const auto statements = answer_.statements + 1;
    answer_ = with_.read({text, "examine"}, {}, rows);
    answer_.statements = statements;
    return answer_.result == outcome::yes;
  }

  bool check_durability() {
    sql::sql_rows modes, levels;
    if (!ask("PRAGMA journal_mode", modes) || !ask("PRAGMA synchronous", levels)) return false;
    const auto journal = std::string(modes.at(0).text(0)), synchronous = std::to_string(levels.at(0).integer(0));
    const auto value =
        fmt::format("SQLite {}, journal_mode = {}, synchronous = {}", ::sqlite3_libversion(), journal, synchronous);
    if (journal == "wal" && synchronous == "2") {
      found_.good("durability", value, "A confirmed grant survives a crash of the machine.");
    } else {
      found_.problem("durability", value, "A crash may lose confirmed grants.",
                     "Find the program that changes the file's journal mode, and stop that.");
    }
    return true;
  }

  /// Checks tables of the application in the same file.
  bool check_others() {
    sql::sql_rows tables;
    if (!ask("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", tables))
      return false;
    std::string others;
    for (const auto& table : tables) {
      const auto name = table.text(0);
      if (!name.starts_with(with_.file().names.prefix())) others.append(others.empty() ? "" : ", ").append(name);
    }
    if (others.empty()) {
      found_.good("other tables", "none");
    } else {
      found_.note("other tables", others,
                  "A transaction that writes to this file for longer than ttl - margin loses all leases.",
                  "Keep such transactions short, or give the locks a file of their own. Rows can be locked in place "
                  "only in this one.");
    }
    return true;
  }

  void check_rights() {
    const auto& path = with_.file().settings.path;
    const auto wrong = not_writable(path) + folder_not_writable(path);
    if (wrong.empty()) return found_.good("rights", "the file and its folder can be written to");
    found_.problem("rights", wrong, "This user can't take locks.",
                   "Let one group write to the folder, the file, -wal and -shm: docs/operations.md, SQLite files.");
  }

  void check_file_system() {
    const auto& file = with_.file();
    const auto& path = file.settings.path;
    if (const char* const kind = network_file_system(file.host->file_system(path))) {
      return found_.problem("file system", kind, "SQLite can't keep processes of several machines apart there.",
                            "Use a folder on a disk of this host, or a database server.");
    }
    if (const auto names = file.host->names(path); names > 1) {
      return found_.problem("file system", fmt::format("the file has {} names (hard links)", names),
                            "Each name has its own -wal file, so two programs could hold one key.",
                            "Remove the other names, or copy the file.");
    }
    found_.good("file system", path);
  }

  void check_log() {
    const auto& path = with_.file().settings.path;
    const double log = megabytes(path + "-wal");
    const auto value = fmt::format("{:.1f} MB, -wal {:.1f} MB", megabytes(path), log);
    if (log < 64) return found_.good("file size", value);
    found_.warning("file size", value,
                   "A program keeps a read transaction open, so the log can't be written back and grows.",
                   "Find the programs that have the file open, with fuser or lsof.");
  }

  lease_connection& with_;
  findings found_;
  reply answer_{.result = outcome::yes, .statements = 0};
};

}  // namespace

reply sqlite_admin::examine(connection& connection, std::vector<store_finding>& out) noexcept {
  return sql::attempt<lease_connection>(connection, "examine", [&](lease_connection& on) {
    findings found(out);
    auto answer = examination(on, out).run();
    if (answer.result == outcome::yes) answer = examine_tables(on, found);
    return answer.result == outcome::yes ? examine_keys(on, found) : answer;
  });
}

}  // namespace dlock::stores::sqlite::lease_table
