// SPDX-License-Identifier: BSL-1.0

/// Who holds keys: one by its prepared statement, many by one SELECT.

#include "stores/mysql/lease_table/polls.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "stores/mysql/client/reply_or_in_doubt.hpp"
#include "stores/mysql/client/text.hpp"
#include "stores/mysql/lease_table/rows.hpp"

namespace dlock::stores::mysql::lease_table {

namespace {

seen seen_of(const mysql_poll_row& row) {
  seen shown;
  shown.fence = row.fence;
  shown.holder = id_of(row.holder.view());
  if (!shown.holder) return shown;
  shown.nonce = row.nonce;
  shown.kind = row.kept != 0 ? lease_kind::session : lease_kind::expiring;
  shown.gone = row.kept != 0 && row.gone != 0;
  shown.expired = row.remaining_us <= 0;
  shown.remaining = microseconds{std::max<std::int64_t>(0, row.remaining_us)};
  if (row.gone == 0) {
    shown.who =
        describe_holder({row.host.bytes.data(), row.host.size}, row.pid, {row.label.bytes.data(), row.label.size});
  }
  return shown;
}

/// The row of a result that has its columns from the second on.
mysql_poll_row poll_row_of(const mysql_rows::value_type& from) {
  mysql_poll_row row;
  const auto fields = row.fields();
  for (std::size_t i = 0; i != fields.size(); ++i) fields[i].put(from.at(i + 1));
  return row;
}

std::string keys_text(const lease_sql& statements, std::span<const request> requests) {
  std::string keys;
  for (const auto& each : requests) keys += (keys.empty() ? "" : ",") + mysql_literal(each.resource);
  return sql::write_values(statements.text(text_id::batch_poll), {{"keys", keys}});
}

/// The requests are told apart by their bytes, as the column does it.
void answer_keys(const mysql_rows& found, std::span<const request> requests, std::span<reply> replies) {
  for (const auto& row : found) {
    const auto key = row.at(0).value_or("");
    const auto holder = seen_of(poll_row_of(row));
    for (std::size_t i = 0; i != requests.size(); ++i) {
      if (requests[i].resource != key) continue;
      replies[i].result = outcome::yes;
      replies[i].holder = holder;
    }
  }
}

/// The requests are told apart by their numbers: what the server takes for the same id is its own matter.
void answer_rows(const mysql_row_sql& sql, const mysql_rows& found, std::span<const request> requests,
                 std::span<reply> replies) {
  for (const auto& row : found) {
    const auto number = static_cast<std::size_t>(std::strtoull(row.at(0).value_or("0").c_str(), nullptr, 10));
    if (number >= requests.size()) continue;
    replies[number].result = outcome::yes;
    replies[number].holder = seen_in_row(sql, *requests[number].row->table, {row.begin() + 1, row.end()});
  }
}

reply execute_polls(lease_connection& on, const lease_sql& statements, const mysql_row_sql& row_sql,
                    std::span<const request> requests, std::span<reply> replies) {
  const bool keys = requests.front().row == nullptr;
  reply whole;
  mysql_rows found;
  const auto text = keys ? keys_text(statements, requests) : row_sql.poll_all(requests);
  if (!on.fits(text)) {
    whole.why = lease_connection::too_large();
    whole.statements = 0;
    return whole;
  }
  whole.result = on.query(text, "poll several", &found, nullptr, whole.why);
  if (whole.result != outcome::yes) return whole;
  for (auto& each : replies) each = {.result = outcome::absent};
  keys ? answer_keys(found, requests, replies) : answer_rows(row_sql, found, requests, replies);
  return whole;
}

}  // namespace

reply poll_key(lease_connection& on) {
  reply answer;
  mysql_poll_row row;
  answer.result = on.poll(row, answer.why);
  if (answer.result == outcome::yes) answer.holder = seen_of(row);
  return answer;
}

bool one_poll_can(std::span<const request> requests) noexcept {
  const auto& first = requests.front();
  return std::all_of(requests.begin(), requests.end(), [&](const request& each) {
    if (each.action != verb::poll || (each.row == nullptr) != (first.row == nullptr)) return false;
    if (each.row == nullptr) return !each.resource.empty() && each.resource.size() <= 255;
    return each.row->table == first.row->table && !each.row->values.empty() &&
           each.row->values.size() == each.row->table->id.size();
  });
}

void poll_all(lease_connection& on, const lease_sql& statements, const mysql_row_sql& row_sql,
              std::span<const request> requests, std::span<reply> replies) noexcept {
  const auto whole =
      reply_or_in_doubt(on, "poll", [&] { return execute_polls(on, statements, row_sql, requests, replies); });
  for (std::size_t i = 0; i != replies.size(); ++i) {
    if (whole.result != outcome::yes) replies[i] = reply{.result = whole.result};
    replies[i].statements = i == 0 ? whole.statements : 0;
  }
  if (whole.result == outcome::yes) return;
  try {
    for (auto& each : replies) each.why = whole.why;
  } catch (...) {
    for (auto& each : replies) each.why.transient = true;
  }
}

}  // namespace dlock::stores::mysql::lease_table
