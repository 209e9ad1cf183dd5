// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace dlock::command {

using milliseconds = std::chrono::milliseconds;

/// The store, and the format of the output.
struct common_options {
  std::optional<std::string> url{};
  std::optional<std::string> config{};
  bool json = false;
  milliseconds timeout{10'000};
};

enum class on_busy { wait, fail, skip };

struct run_options {
  std::string key{};
  milliseconds ttl{30'000};
  std::optional<milliseconds> wait{};
  milliseconds min_hold{0};
  milliseconds max_hold{0};
  std::optional<on_busy> busy{};
  std::optional<milliseconds> kill_after{};
  std::string label{};
  bool free_on_failure = false;  ///< min_hold applies only after a success
  bool hide_url = false;
  bool leave_children = false;
  bool lead = false;
  bool once = false;
  std::optional<milliseconds> valid{};  ///< with once
  bool shared = false;
  std::size_t permits = 0;  ///< 0: none
  bool verbose = false;
  std::vector<std::string> command{};
};

/// A key or a row. With `table` the key is the row's id, or its values in the order of the primary key.
struct key_options {
  std::string key{};
  std::string table{};
  bool escaped = false;  ///< the key is written as list prints it
};

struct list_options {
  std::string prefix{};
  std::string after{};
  std::string table{};
  std::size_t limit = 1000;
  bool keys_only = false;
  bool no_rows = false;
};

struct waiters_options {
  key_options key{};
  std::size_t limit = 100;
};

struct done_options {
  key_options key{};
  bool forget = false;
};

enum class until { forever, free, held };

struct watch_options {
  key_options key{};
  milliseconds interval{500};
  until end = until::forever;
  std::optional<milliseconds> limit{};
};

struct top_options {
  milliseconds interval{2'000};
  std::size_t rows = 0;       ///< 0 for as many as the terminal has room for
  std::size_t refreshes = 0;  ///< 0 for no limit
};

struct schema_options {
  std::string database{};  ///< mysql, sqlite, redis, zookeeper
  std::string scheme{};
  std::string prefix{};
  std::string table{};
  std::string name{};  ///< of the database
  std::string user{};
  std::string host = "%";
  std::string rows{};  ///< a table that needs lock columns
};

struct gc_options {
  milliseconds idle{std::chrono::hours{24}};
  std::size_t step = 100;
  bool dry_run = false;
};

struct bench_options {
  milliseconds time{10'000};
  std::string prefix = "dlock-bench:";
};

struct timeline_options {
  std::vector<std::string> files{};
  std::string out{};
  std::string key{};  ///< a prefix
  std::string from{};
  std::string to{};
  std::size_t most_keys = 60;
};

struct all_options {
  common_options common{};
  run_options run{};
  list_options list{};
  key_options show{};
  waiters_options waiters{};
  key_options force{};
  done_options done{};
  watch_options watch{};
  top_options top{};
  bool doctor_strict = false;
  schema_options schema{};
  gc_options gc{};
  bench_options bench{};
  timeline_options timeline{};
};

}  // namespace dlock::command
