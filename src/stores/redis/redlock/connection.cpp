// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/connection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace dlock::stores::redis::redlock {

using namespace std::chrono_literals;

namespace {
/// How soon a cancellation or an interruption is noticed.
constexpr auto glance = 20ms;

/// Makes late replies be dropped, even after an exception.
struct forget_at_end {
  const std::vector<std::unique_ptr<master_link>>& links;
  ~forget_at_end() {
    const auto now = quorum_connection::clock::now();
    for (const auto& each : links) each->forget(now);
  }
};
}  // namespace

master_group::master_group(const redlock_settings& all) : settings(all) {
  for (const auto& host : all.hosts) masters.push_back(std::make_unique<master>(all, host));
}

quorum_connection::quorum_connection(std::shared_ptr<master_group> of) : of_(std::move(of)) {
  const auto number = of_->connections.fetch_add(1) + 1;
  // The masters count as one server, whichever of them can be reached, because the others know what one has forgotten.
  identity_ = {.server = "redlock", .incarnation = of_->here, .id = number};
  for (std::size_t i = 0; i < of_->masters.size(); ++i) {
    links_.push_back(std::make_unique<master_link>(*of_->masters[i], i, number, of_->ends));
  }
  polled_.resize(links_.size());
}

void quorum_connection::interrupt() noexcept { interrupted_ = true; }

bool quorum_connection::alive() noexcept {
  if (!usable()) return false;
  try {
    wait(clock::now());
  } catch (const std::exception&) {
    return false;
  }
  majority_ = answering() >= of_->of.quorum;
  return usable() && !look_up_due(clock::now());
}

bool quorum_connection::look_up_due(clock::time_point now) const {
  if (of_->looks_up) return false;  // one at a time, so that not all wait for the name service
  for (std::size_t i = 0; i < links_.size(); ++i) {
    if (!links_[i]->ready() && of_->masters[i]->look_up_due(now)) return !of_->looks_up.exchange(true);
  }
  return false;
}

void quorum_connection::wait(clock::time_point until) {
  for (std::size_t i = 0; i < links_.size(); ++i) polled_[i] = {links_[i]->descriptor(), links_[i]->wanted(), 0};
  const auto now = clock::now();
  const auto remaining = until <= now ? 0ms
                                      : std::min<std::chrono::milliseconds>(
                                            std::chrono::ceil<std::chrono::milliseconds>(until - now), glance);
  ::poll(polled_.data(), polled_.size(), static_cast<int>(remaining.count()));
  const auto then = clock::now();
  bool more = false;
  for (std::size_t i = 0; i < links_.size(); ++i) {
    const bool before = links_[i]->ready();
    links_[i]->step(polled_[i].revents, then);
    more = more || (links_[i]->ready() && !before);
  }
  if (more) refuse_twins(then);
}

void quorum_connection::catch_up(clock::time_point until) {
  wait(clock::now());
  for (auto now = clock::now(); now < until && !interrupted_; now = clock::now()) {
    if (std::none_of(links_.begin(), links_.end(), [now](const auto& link) { return link->coming(now); })) return;
    wait(std::min(until, now + 1ms));
  }
}

/// Removes a second name of one server, which would vote twice.
void quorum_connection::refuse_twins(clock::time_point now) {
  for (std::size_t i = 1; i < links_.size(); ++i) {
    for (std::size_t j = 0; j < i && links_[i]->ready(); ++j) {
      if (!links_[j]->ready() || links_[i]->end().run != links_[j]->end().run) continue;
      links_[i]->refuse(fmt::format("dlock: {}: {} and {} are one server", of_->settings.name, links_[j]->where(),
                                    links_[i]->where()),
                        now);
    }
  }
}

bool quorum_connection::open(clock::time_point until, const std::stop_token& cancel) {
  for (const auto& each : of_->masters) each->ask_for_name(cancel);
  for (const auto& each : of_->masters) each->look_up(clock::now(), until, cancel);
  // A slow name service without an answer keeps no call from the former addresses.
  const auto begun = clock::now();
  auto end = begun < until ? until : begun + of_->settings.master_timeout;
  bool tried = false;
  for (auto now = clock::now(); now < end && !interrupted_ && !cancel.stop_requested(); now = clock::now()) {
    wait(tried ? end : now);
    // A master that is down is tried once; the caller makes the next attempt.
    const auto open = [&](const auto& link) { return !link->ready() && !link->down(); };
    if (tried && std::none_of(links_.begin(), links_.end(), open)) break;
    tried = true;
    if (answering() >= of_->of.quorum) end = std::min(end, clock::now() + of_->settings.master_timeout);
  }
  of_->looks_up = false;
  majority_ = answering() >= of_->of.quorum;
  return usable();
}

std::vector<quorum_connection::heard> quorum_connection::ask(std::span<const command_text> each,
                                                             clock::time_point until, ask_late late) {
  std::vector<heard> all(links_.size());
  const auto nothing = [](const command_text& text) { return text.commands() == 0; };
  if (std::all_of(each.begin(), each.end(), nothing)) return all;
  catch_up(until);
  std::vector<std::size_t> breaks(links_.size());
  {
    const forget_at_end forget{links_};
    const auto begun = clock::now();
    for (std::size_t i = 0; i < links_.size(); ++i) {
      auto& link = *links_[i];
      if (nothing(each[i]) || !link.ready() || (link.late() && late == ask_late::no)) continue;
      all[i].sent = true;
      breaks[i] = link.breaks();
      all[i].votes = link.votes(begun);
      link.send(each[i], all[i].response, begun);
    }
    const auto misses = [&](std::size_t i) {
      return all[i].sent && links_[i]->breaks() == breaks[i] && !links_[i]->late() &&
             all[i].response.size() < each[i].commands();
    };
    for (bool last = false;;) {
      bool any = false;
      for (std::size_t i = 0; i < links_.size(); ++i) any = any || misses(i);
      if (!any || interrupted_ || last) break;
      last = clock::now() >= until;  // so that messages that came while this thread did not run are read
      wait(until);
    }
  }
  if (answering() < of_->of.quorum) majority_ = false;
  return all;
}

std::size_t quorum_connection::counting() const {
  const auto now = clock::now();
  return static_cast<std::size_t>(
      std::count_if(links_.begin(), links_.end(), [&](const auto& link) { return link->votes(now) && !link->late(); }));
}

std::size_t quorum_connection::answering() const {
  return static_cast<std::size_t>(
      std::count_if(links_.begin(), links_.end(), [](const auto& link) { return link->ready() && !link->late(); }));
}

bool quorum_connection::lasts() const {
  return of_->of.blocks(static_cast<std::size_t>(
      std::count_if(links_.begin(), links_.end(), [](const auto& link) { return link->lasts(); })));
}

std::string quorum_connection::trouble() const {
  const auto now = clock::now();
  std::string all;
  std::size_t good = 0;
  for (const auto& link : links_) {
    const auto why = link->trouble(now);
    if (why.empty()) ++good;
    if (!why.empty()) all += (all.empty() ? "" : "; ") + why;
  }
  return fmt::format("{} of {} masters must agree, and {} can be counted on{}{}", of_->of.quorum, links_.size(), good,
                     all.empty() ? "" : ": ", all);
}

std::string quorum_connection::refusal() const {
  for (const auto& link : links_) {
    if (!link->refusal().empty()) return link->refusal();
  }
  return {};
}

}  // namespace dlock::stores::redis::redlock
