// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/master.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <utility>

namespace dlock::stores::redis::redlock {

using namespace std::chrono_literals;

namespace {

constexpr std::chrono::milliseconds first_pause = 100ms;
constexpr std::chrono::milliseconds longest_pause = 5s;
/// A reachable server replies sooner.
constexpr std::chrono::milliseconds moment = 20ms;
/// How long the requests in progress of a closed connection are remembered.
constexpr auto ends_last = 1h;
/// For how many connect_timeouts a name is kept under which there is no server.
constexpr int names_last = 6;
/// How many are remembered for one connection: statements on older ones have long been executed.
constexpr std::ptrdiff_t most_ends = 100;

redlock_settings settings_of(const redlock_settings& all, const store_url::endpoint& host) {
  auto one = all;
  one.name = fmt::format("{}: {}", all.name, all.where(host));
  return one;
}

}  // namespace

// ---- what all connections share -------------------------------------------------------------------------------------

master::master(const redlock_settings& all, const store_url::endpoint& host)
    : where(all.where(host)), settings(settings_of(all, host)), host_(host) {}

void master::look_up(stream_socket::clock::time_point now, stream_socket::clock::time_point until,
                     const std::stop_token& cancel) {
  std::vector<stream_socket::peer> found;
  std::string why;
  try {
    if (!names_.answers(host_.host, until, cancel))
      throw std::runtime_error("the name service does not answer in time");
    found = stream_socket::look_up(host_.host, host_.port);
  } catch (const std::runtime_error& problem) {
    why = problem.what();
  }
  const base::lock_guard lock(mutex_);
  why_ = std::move(why);
  look_up_at_ = now + (found.empty() ? 10 : 1) * names_last * settings.connect_timeout;
  not_found_ = false;
  if (!found.empty()) addresses_ = std::move(found);
}

void master::not_found() {
  const base::lock_guard lock(mutex_);
  not_found_ = true;
}

bool master::look_up_due(stream_socket::clock::time_point now) {
  if (is_address(host_.host)) return false;
  const base::lock_guard lock(mutex_);
  if (!not_found_ || now < look_up_at_) return false;
  look_up_at_ = now + names_last * settings.connect_timeout;
  not_found_ = false;
  return true;
}

std::vector<stream_socket::peer> master::addresses() const {
  const base::lock_guard lock(mutex_);
  if (addresses_.empty()) throw std::runtime_error(why_);
  return addresses_;
}

stream_socket::clock::time_point master::votes_from(const server_facts& server, stream_socket::clock::time_point now) {
  // A server that writes before it replies has forgotten nothing.
  if (server.keeps == persistence::always) return now;
  const auto delay = settings.restart_delay;
  const base::lock_guard lock(mutex_);
  // Its clock may have been set since it was started, and another server may have got its name.
  if (!run_.empty() && run_ != server.run) new_until_ = now + delay;
  run_ = server.run;
  const auto rounded = std::max(0s, server.up - 1s);
  return std::max(new_until_, now + delay - std::min<std::chrono::milliseconds>(delay, rounded));
}

void unacknowledged_connections::add(std::uint64_t connection, const connection_ref& end, time_point now) {
  const base::lock_guard lock(mutex_);
  std::erase_if(all_, [now](const entry& each) { return each.until <= now; });
  const auto of_it = [connection](const entry& each) { return each.connection == connection; };
  if (std::count_if(all_.begin(), all_.end(), of_it) == most_ends) {
    all_.erase(std::find_if(all_.begin(), all_.end(), of_it));
  }
  all_.push_back({.connection = connection, .end = end});
}

void unacknowledged_connections::leave(std::uint64_t connection, const connection_ref& end, time_point now) {
  const base::lock_guard lock(mutex_);
  for (auto& each : all_) {
    if (each.connection == connection && each.end == end) each.until = now + ends_last;
  }
}

void unacknowledged_connections::remove(std::uint64_t connection, const connection_ref& end) {
  const base::lock_guard lock(mutex_);
  std::erase_if(all_, [&](const entry& each) { return each.connection == connection && each.end == end; });
}

std::vector<connection_ref> unacknowledged_connections::of(std::uint64_t connection) const {
  const base::lock_guard lock(mutex_);
  std::vector<connection_ref> ends;
  for (const auto& each : all_) {
    if (each.connection == connection) ends.push_back(each.end);
  }
  return ends;
}

// ---- a link ---------------------------------------------------------------------------------------------------------

master_link::~master_link() {
  if (ready()) ended(clock::now());
}

void master_link::ended(clock::time_point now) noexcept {
  if (pending_.empty()) return ends_.remove(connection_, end_);
  ends_.leave(connection_, end_, now);
}

short master_link::wanted() const noexcept {
  switch (state_) {
    case state::down: return 0;
    case state::connecting: return awaited_;
    case state::greeting:
    case state::ready: break;
  }
  return POLLIN;
}

bool master_link::coming(clock::time_point now) const noexcept {
  return state_ != state::down && state_ != state::ready && now - begun_ < moment;
}

void master_link::step(short events, clock::time_point now) {
  switch (state_) {
    case state::down:
      if (refusal_.empty() && now >= retry_at_) begin(now);
      return;
    case state::connecting:
      if (events != 0) return connect(now);
      break;
    case state::greeting:
      if (events != 0) read(now);
      if (state_ == state::greeting && pending_.empty()) return greeted(now);
      break;
    case state::ready:
      if (events != 0) read(now);
      if (late_ && now - late_since_ >= to_.settings.statement_timeout) close("no answer in time", now);
      return;
  }
  if (state_ != state::down && now >= until_) close("no answer in time", now);
}

void master_link::connect(clock::time_point now) {
  try {
    awaited_ = socket_.go_on(to_.settings.tls, to_.host());
    if (awaited_ == 0) greet(now);
  } catch (const lasting_problem& problem) {
    close(problem.what(), now, true);
  } catch (const std::runtime_error& problem) {
    close(problem.what(), now);
  }
}

void master_link::greet(clock::time_point now) {
  asked_.emplace(to_.settings, std::span<const std::string>{});
  state_ = state::greeting;
  link_.emplace(std::move(socket_), 0ms);
  hello_.clear();
  send(asked_->text(), hello_, now);
}

void master_link::begin(clock::time_point now) {
  try {
    const auto all = to_.addresses();
    pending_.clear();
    late_ = false;
    begun_ = now;
    until_ = now + to_.settings.connect_timeout / static_cast<long>(all.size());
    tried_ = all.size();
    state_ = state::connecting;
    awaited_ = POLLOUT;
    socket_ = stream_socket::begin(all[address_ % all.size()]);
  } catch (const std::runtime_error& problem) {
    close(problem.what(), now);
  }
}

void master_link::close(const std::string& why, clock::time_point now, bool lasts) {
  const bool was_ready = ready();
  if (was_ready) ended(now);
  ++breaks_;
  why_ = why;
  lasts_ = lasts;
  link_.reset();
  socket_ = stream_socket();
  state_ = state::down;
  pending_.clear();
  late_ = false;
  if (!refusal_.empty()) return;
  // Retries at once after it has worked. Otherwise tries all of its addresses before a pause.
  if (was_ready || ++address_ % std::max<std::size_t>(tried_, 1) != 0) return begin(now);
  to_.not_found();
  pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
  retry_at_ = now + pause_;
}

void master_link::refuse(const std::string& why, clock::time_point now) {
  refusal_ = why;
  close(why, now);
}

void master_link::send(const command_text& commands, std::vector<answer>& response, clock::time_point now) {
  pending_.push_back({&response, commands.commands()});
  if (!link_->send(commands)) close("the connection broke", now);
}

void master_link::forget(clock::time_point now) noexcept {
  if (state_ != state::ready || pending_.empty()) return;
  for (auto& each : pending_) each.to = nullptr;
  if (!std::exchange(late_, true)) late_since_ = now;
}

void master_link::read(clock::time_point now) {
  for (auto next = link_->sent_meanwhile(); next; next = link_->sent_meanwhile()) {
    if (pending_.empty()) return close("it sent an answer without a request", now);
    auto* const to = pending_.front().to;
    if (--pending_.front().answers == 0) pending_.pop_front();  // it has come, even if memory ran out for it
    if (to != nullptr) to->push_back(std::move(next));
  }
  if (!link_->usable()) {
    const auto problem = link_->problem();
    return close(problem.text.empty() ? "the connection broke" : problem.text, now, problem.lasts);
  }
  if (pending_.empty()) late_ = false;
}

void master_link::greeted(clock::time_point now) {
  greeting::result found;
  fault why;
  if (!asked_->judge(hello_, "hello", found, why)) return close(why.text, now, !why.transient);
  if (const auto why_not = found.server.refusal(to_.settings); !why_not.empty()) return refuse(why_not, now);
  votes_from_ = to_.votes_from(found.server, now);
  end_ = {number_, found.server.run, found.client};
  ends_.add(connection_, end_, now);
  state_ = state::ready;
  pause_ = 0ms;
}

std::string master_link::trouble(clock::time_point now) const {
  std::string what;
  if (!refusal_.empty() || state_ == state::down) {
    what = why_.empty() ? "not connected yet" : why_;
  } else if (state_ != state::ready) {
    what = why_.empty() ? "no answer yet" : why_;
  } else if (late_) {
    what = "no answer in time";
  } else if (!votes(now)) {
    what = fmt::format("was started not long ago, and counts in {} ms (restart_delay)",
                       std::chrono::ceil<std::chrono::milliseconds>(votes_from_ - now).count());
  }
  return what.empty() ? what : fmt::format("{}: {}", to_.where, what);
}

}  // namespace dlock::stores::redis::redlock
