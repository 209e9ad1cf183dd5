// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

namespace dlock::test {

/// A file that many processes append records to. A record is a line and one write, so what a killed process had logged
/// is there, whole. Record::line() makes the line, Record::parse() reads it. Everything throws std::system_error.
template <class Record>
class record_log {
 public:
  explicit record_log(const std::string& path)
      : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ < 0) fail(path);
  }
  ~record_log() { ::close(file_); }
  record_log(const record_log&) = delete;
  record_log& operator=(const record_log&) = delete;

  void append(const Record& record) const {
    const std::string line = record.line();
    if (::write(file_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) fail(path_);
  }
  static std::vector<Record> read(const std::string& path) {
    std::ifstream in(path);
    if (!in) fail(path);
    return records_of(in);
  }
  /// The last ones, oldest first.
  static std::vector<Record> tail(const std::string& path) {
    std::ifstream in(path, std::ios::ate);
    const std::streamoff near_end = 16'384;
    in.seekg(std::max<std::streamoff>(in.tellg() - std::streampos{near_end}, 0));
    std::string part;
    std::getline(in, part);  // probably not a whole line
    return records_of(in);
  }
  /// What Record::holder_after() says of the last records, from 0 on.
  static std::int64_t last_holder(const std::string& path) {
    std::int64_t holder = 0;
    for (const auto& record : tail(path)) holder = record.holder_after(holder);
    return holder;
  }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw std::system_error(errno, std::system_category(), path);
  }
  static std::vector<Record> records_of(std::ifstream& in) {
    std::vector<Record> all;
    // One without its end is just being written: a reader may see a part of that.
    for (std::string line; std::getline(in, line) && !in.eof();) all.push_back(Record::parse(line));
    return all;
  }

  const std::string path_;
  const int file_;
};

}  // namespace dlock::test
