// SPDX-License-Identifier: BSL-1.0
#include "client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <stop_token>
#include <thread>

#include "dlock/error.hpp"
#include "dlock/store_interface/store_url.hpp"
#include "exit_code.hpp"
#include "output.hpp"
#include "url_source.hpp"

namespace dlock::command {

namespace {

/// Interrupts a connection at the end of the time limit, unless it is destroyed before.
class time_limit {
 public:
  time_limit(connection& of, milliseconds limit)
      : thread_([this, &of, limit](const std::stop_token& end) {
          std::unique_lock lock(mutex_);
          if (!wake_.wait_for(lock, end, limit, [] { return false; }) && !end.stop_requested()) of.interrupt();
        }) {}
  time_limit(const time_limit&) = delete;
  time_limit& operator=(const time_limit&) = delete;

 private:
  std::mutex mutex_{};
  std::condition_variable_any wake_{};
  std::jthread thread_;  // the last member: it ends before what it uses
};

/// A value of a primary key, from the command line.
row_value value_of(const row_table& table, std::size_t column, const std::string& text) {
  // MySQL reports which columns are text. For SQLite a number written as text equals the number in a column of numbers.
  const bool number = column < table.id_text.size() && table.id_text[column].charset.empty();
  if (!number) return text;
  std::int64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed == std::errc{} && end == text.data() + text.size()) return value;
  std::uint64_t large = 0;
  const auto [last, wrong] = std::from_chars(text.data(), text.data() + text.size(), large);
  if (wrong == std::errc{} && last == text.data() + text.size()) return large;
  throw failure(exit_code::usage, fmt::format("the id '{}' is not a number, but column {} of {} holds numbers", text,
                                              table.id.at(column), table.table));
}

}  // namespace

client::client(const common_options& options) : options_(options) {}
client::~client() = default;

void client::open() {
  if (store_ != nullptr) return;
  const auto url = need_url(options_);
  name_ = store_url::parse(url).redacted();
  store_ = open_store(without_making_tables(url));
}

store& client::where() {
  open();
  if (!started_) store_->prepare();
  started_ = true;
  return *store_;
}

const std::string& client::name() {
  where();
  return name_;
}

store_admin& client::admin() {
  if (auto* const admin = where().admin()) return *admin;
  throw failure(exit_code::usage, name() + " does not show who holds its locks");
}

void client::fail(const char* doing, const fault& why) {
  const auto code = why.connection ? errc::store_unreachable : errc::store_failed;
  throw store_error(code, fmt::format("{}: {}: {}", name(), doing, why.text), why.native, why.sqlstate, why.transient);
}

connection& client::link() {
  auto& store = where();
  if (link_ != nullptr && link_->alive()) return *link_;
  fault why;
  link_ = store.connect(std::chrono::duration_cast<std::chrono::microseconds>(options_.timeout), why);
  if (link_ == nullptr) {
    why.connection = true;
    fail("connect", why);
  }
  return *link_;
}

reply client::ask(const char* doing, const std::function<reply(connection&)>& question) {
  auto& on = link();
  reply answer;
  {
    const time_limit limit(on, options_.timeout);
    answer = question(on);
  }
  if (answer.result == outcome::failed || answer.result == outcome::unknown) {
    if (answer.why.text.empty())
      answer.why.text = fmt::format("no reply within {} ms (--timeout)", options_.timeout.count());
    fail(doing, answer.why);
  }
  return answer;
}

std::shared_ptr<const row_table> client::table(const std::string& name) {
  std::vector<std::shared_ptr<const row_table>> found;
  ask("find the table", [&](connection& on) { return admin().row_tables(on, name, found); });
  if (found.empty()) throw failure(exit_code::usage, this->name() + " can't lock rows of tables");
  return found.front();
}

lock_key client::key_of(const key_options& named) {
  const auto text = named.escaped ? unescaped(named.key) : named.key;
  if (named.table.empty()) {
    if (text.empty()) throw failure(exit_code::usage, "the key is empty; a key has at least one byte");
    // `list` shows a long key as the store holds it, so it must not be folded once more.
    if (text.size() == lock_key::max_size && lock_key::from_stored(text).folded()) return lock_key::from_stored(text);
    return lock_key(std::string_view(text));
  }
  const auto of = table(named.table);
  std::vector<row_value> id;
  std::string_view rest = text;
  for (std::size_t i = 0; i != of->id.size(); ++i) {
    // The last column takes the rest, which may contain ':'.
    const auto end = i + 1 == of->id.size() ? rest.size() : rest.find(':');
    if (end == std::string_view::npos) {
      throw failure(exit_code::usage, fmt::format("the id '{}' has {} parts, and the primary key of {} has {} columns",
                                                  named.key, i + 1, of->table, of->id.size()));
    }
    id.push_back(value_of(*of, i, std::string(rest.substr(0, end))));
    rest.remove_prefix(std::min(rest.size(), end + 1));
  }
  return lock_key::of_row(of, std::move(id));
}

std::vector<holder_info> client::holders(const lock_key& key) {
  std::vector<holder_info> found;
  const request about{.action = verb::poll, .resource = key.view(), .row = key.row()};
  ask("inspect", [&](connection& on) { return admin().inspect(on, about, found); });
  for (auto& each : found) each.key = key.view();
  return found;
}

lock_service& client::locks() {
  where();
  if (locks_ == nullptr) {
    service_options options{.label = "dlock", .connections = 1, .cleanup_interval = std::chrono::milliseconds{0}};
    locks_ = std::make_unique<lock_service>(store_, options);
  }
  return *locks_;
}

}  // namespace dlock::command
