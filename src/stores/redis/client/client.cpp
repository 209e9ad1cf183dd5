// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/client/client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "stores/redis/client/protocol.hpp"

namespace dlock::stores::redis {

void script_connection::name_server(std::string_view data) {
  auto named = identity();
  const bool survives = server.keeps == persistence::always;
  named.server = fmt::format("{} {}", data, survives ? address_in(named.incarnation) : server.run);
  set_identity(std::move(named));
}

void script_connection::is_refused() noexcept {
  interrupt();
  auto seen =
      made_at_;  // the first connection identifies the server; later refusals must not end connections made since
  refusals_->compare_exchange_strong(seen, seen + 1);
}

void script_calls::add_call(std::size_t script, std::size_t keys, std::span<const std::string_view> words) {
  begins_.push_back(text_.text().size());
  text_.call("EVALSHA", on_.hashes[script], keys, words);
}

void script_calls::add(std::initializer_list<std::string_view> words) {
  begins_.push_back(text_.text().size());
  text_.add(words);
}

std::string_view script_calls::command(std::size_t which) const noexcept {
  const auto all = text_.text();
  const auto end = which + 1 < begins_.size() ? begins_[which + 1] : all.size();
  return all.substr(begins_[which], end - begins_[which]);
}

std::vector<answer> script_calls::run() {
  auto answers = on_.ask(text_);
  command_text again;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].is_error() || !is_unknown_script(answers[i].text())) continue;
    if (which.empty()) {
      for (const auto& text : on_.scripts) again.add({"SCRIPT", "LOAD", text});
    }
    again.add(command(i));
    which.push_back(i);
  }
  if (!which.empty()) {
    auto response = on_.ask(again);
    for (std::size_t i = 0; i < which.size(); ++i) answers[which[i]] = std::move(response[on_.scripts.size() + i]);
  }
  const auto elsewhere = [](const answer& each) { return each.is_error() && is_elsewhere(each.text()); };
  if (std::any_of(answers.begin(), answers.end(), elsewhere)) on_.is_refused();
  return answers;
}

bool redis_client::greet(script_connection& connection, const std::string& where, fault& why) const {
  greeting::result found;
  {
    const base::lock_guard lock(mutex_);
    found.hashes = hashes_;
  }
  // A server that has lost the scripts says so when they are called.
  const bool first = found.hashes.empty();
  const greeting hello(settings_, first ? scripts_ : std::span<const std::string>{});
  const auto response = connection.ask(hello.text());
  if (!hello.judge(response, where, found, why)) {
    const bool refused =
        std::any_of(response.begin(), response.end(), [](const answer& each) { return each.is_error(); });
    if (!refused && !response.back() && !connection.problem().text.empty()) {  // more than a missing reply
      why = lost_connection(fmt::format("{}: {}", where, connection.problem().text));
      why.transient = !connection.problem().lasts;
    }
    return false;
  }
  connection.server = std::move(found.server);
  {
    const base::lock_guard lock(mutex_);
    if (first) hashes_ = found.hashes;
    auto& here = connection.server;
    if (!here.promotion.empty()) {
      promoted_primary_ = here;
    } else if (here.run == promoted_primary_.run) {
      here.promotion = promoted_primary_.promotion;
    }
  }
  connection.scripts = scripts_;
  connection.hashes = std::move(found.hashes);
  connection.set_identity(
      {.server = {}, .incarnation = fmt::format("{} {}", where, connection.server.run), .id = found.client});
  return true;
}

stream_socket redis_client::connect(const store_url::endpoint& host, clock::time_point until,
                                    const std::stop_token& cancel) const {
  if (!settings_.socket.empty()) {
    return stream_socket::connect({stream_socket::at_path(settings_.socket)}, settings_.tls, {}, until, cancel);
  }
  if (!names_.answers(host.host, until, cancel)) throw std::runtime_error("the name service does not answer in time");
  const auto all = stream_socket::look_up(host.host, host.port);
  return stream_socket::connect(all, settings_.tls, host.host, until, cancel);
}

store_url::endpoint redis_client::ask_sentinel(const store_url::endpoint& sentinel, clock::time_point until,
                                               const std::stop_token& cancel) const {
  redis_connection connection(connect(sentinel, until, cancel), settings_.statement_timeout);
  connection.answer_by(until);
  command_text question;
  add_login(question, settings_.sentinel_user, settings_.sentinel_password);
  question.add({"SENTINEL", "get-master-addr-by-name", settings_.sentinel});
  for (const auto& response : connection.ask(question)) {
    if (!response) throw std::runtime_error("the sentinel does not answer in time");
    if (response.is_error()) throw std::runtime_error(fault_of_error(response.text(), "sentinel").text);
    if (response.is_nothing())
      throw std::runtime_error(fmt::format("the sentinel knows no primary '{}'", settings_.sentinel));
    if (response.size() != 2) continue;  // the reply to AUTH
    return {std::string(response[0].text()), static_cast<std::uint16_t>(response[1].number())};
  }
  throw std::runtime_error("the sentinel's answer is no address");
}

std::unique_ptr<script_connection> redis_client::open(const store_url::endpoint& host, clock::time_point until,
                                                      const std::stop_token& cancel, fault& why) const {
  auto where = settings_.where(host);
  try {
    auto primary = host;
    if (!settings_.sentinel.empty()) {
      primary = ask_sentinel(host, until, cancel);
      where = settings_.where(primary);
    }
    auto made =
        std::make_unique<script_connection>(connect(primary, until, cancel), settings_.statement_timeout, refusals_);
    made->answer_by(until);
    const std::stop_callback ends(cancel, [&on = *made] { on.interrupt(); });
    if (greet(*made, where, why)) {
      made->answer_by(clock::time_point::max());
      return made;
    }
  } catch (const lasting_problem& problem) {
    why = lost_connection(fmt::format("{}: {}", where, problem.what()));
    why.transient = false;
  } catch (const std::runtime_error& problem) {
    why = lost_connection(fmt::format("{}: {}", where, problem.what()));
  }
  return nullptr;
}

std::unique_ptr<script_connection> redis_client::open(microseconds limit, const std::stop_token& cancel,
                                                      fault& why) noexcept {
  try {
    const auto& hosts = settings_.hosts;
    const auto first = last_.load();
    const auto begun = clock::now();
    const auto each = std::min<microseconds>(limit / static_cast<long>(hosts.size()), settings_.connect_timeout);
    std::string tried;
    fault all;  // transient if one host's problem is, because that host may help later
    all.connection = true;
    for (std::size_t i = 0; i < hosts.size() && !cancel.stop_requested(); ++i) {
      const auto which = (first + i) % hosts.size();
      const auto until = begun + static_cast<long>(i + 1) * each;
      if (auto made = open(hosts[which], std::max(until, clock::now() + each / 2), cancel, why)) {
        last_ = which;
        return made;
      }
      tried += (tried.empty() ? "" : "; ") + why.text;
      all.transient = all.transient || why.transient;
      all.full = all.full || why.full;
    }
    all.transient = all.transient || tried.empty();
    all.text = tried.empty() ? "cancelled" : std::move(tried);
    why = std::move(all);
  } catch (const std::exception&) {
    why.transient = why.connection = true;
  }
  return nullptr;
}

bool end_lost_connection(redis_connection& on, const connection_identity& lost) noexcept {
  try {
    const auto& here = on.identity();
    if (address_in(here.incarnation) != address_in(lost.incarnation))
      return false;  // the statement may still run there
    if (here.incarnation != lost.incarnation) return true;
    const auto response = on.ask({"CLIENT", "KILL", "ID", std::to_string(lost.id)});
    return response && !response.is_error();
  } catch (const std::exception&) {
    return false;
  }
}

}  // namespace dlock::stores::redis
