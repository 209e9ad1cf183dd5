// SPDX-License-Identifier: BSL-1.0
#include "stores/redis/redlock/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "stores/findings.hpp"
#include "stores/redis/client/protocol.hpp"
#include "stores/reply_or_in_doubt.hpp"

namespace dlock::stores::redis::redlock {

namespace {

using ask_late = quorum_connection::ask_late;

/// Adds commands to a text. Scripts are sent with their texts, so that servers need not know them before.
struct plain_calls {
  command_text& to;

  void add(std::initializer_list<std::string_view> words) { to.add(words); }
  void add(setnx::script which, std::size_t keys, std::initializer_list<std::string_view> words) {
    to.call("EVAL", setnx::scripts[static_cast<std::size_t>(which)], keys, {words.begin(), words.size()});
  }
};

/// One row for each request, with each master's answer.
std::vector<std::vector<ballot>> count(std::span<const request> requests,
                                       const std::vector<quorum_connection::heard>& all) {
  std::vector<std::vector<ballot>> ballots(requests.size(), std::vector<ballot>(all.size()));
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (!all[m].sent) continue;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      auto& ballot = ballots[i][m];
      ballot.votes = all[m].votes;
      ballot.said = vote::silent;
      if (i < all[m].response.size()) {
        ballot.response = &all[m].response[i];
        ballot.said = vote_of(requests[i].action, all[m].response[i]);
      }
      ballot.remains = ballot.said == vote::silent || ballot.said == vote::yes;
    }
  }
  return ballots;
}

/// What servers answered instead of executing the request.
std::string refusals(const quorum_connection& on, std::span<const ballot> all) {
  std::string text;
  for (std::size_t m = 0; m < all.size(); ++m) {
    if (all[m].said == vote::refused)
      text += "; " + fault_of_error(all[m].response->text(), on.link(m).where().c_str()).text;
  }
  return text;
}

/// The number of notified waiters, at the master that notified most.
unsigned most_notified(std::span<const ballot> all) noexcept {
  unsigned most = 0;
  for (const auto& each : all) {
    if (each.said == vote::yes) most = std::max(most, setnx::waiters_in(*each.response));
  }
  return most;
}

/// Identifies a lease. Its value alone may stand for several keys.
std::string lease_of(const request& each, std::uint64_t attempt) {
  return setnx::value_of(each.session, attempt) + ' ' + std::string(each.resource);
}

}  // namespace

redlock_store::redlock_store(const redlock_settings& settings)
    : shared_key_store(settings.prefix, settings.wake),
      group_(std::make_shared<master_group>(settings)),
      published_(settings.quorum()) {
  for (const auto& host : settings.hosts) {
    redis_settings one = settings;
    one.hosts = {host};
    channels_.push_back(std::make_unique<master_channels>(
        std::move(one), std::string(setnx::channel_prefix) + prefix(),
        [this, said = false](const std::string& why) mutable {
          const auto too_many = group_->of.masters - group_->of.quorum + 1;
          if (!std::exchange(said, true) && ++mute_ == too_many) listeners_->waiters_poll(why);
        },
        [this](std::string_view key, std::string_view value) { return published_.add(key, value); }));
  }
}

void redlock_store::watch(std::string_view key, const id128& session, key_listener& listener) noexcept {
  for (const auto& each : channels_) each->channels.watch(key, session, listener);
}

void redlock_store::unwatch(std::string_view key, const id128&, key_listener& listener) noexcept {
  for (const auto& each : channels_) each->channels.unwatch(key, listener);
  published_.forget(key);
}

fault redlock_store::trouble(const quorum_connection& on) const {
  fault why = lost_connection(on.trouble());
  // Another connection helps if too few masters can be reached, but not if they do not count.
  why.connection = on.answering() < group_->of.quorum;
  why.transient = !on.lasts();
  return why;
}

std::unique_ptr<quorum_connection> redlock_store::open(microseconds limit, const std::stop_token& cancel,
                                                       fault& why) const {
  auto made = std::make_unique<quorum_connection>(group_);
  const bool open = made->open(clock::now() + std::min<microseconds>(limit, group_->settings.connect_timeout), cancel);
  if (!open) {
    why = trouble(*made);
    why.connection = true;
  }
  return open || !made->refusal().empty() ? std::move(made) : nullptr;
}

void redlock_store::prepare() {
  fault why;
  const auto connection = open(group_->settings.connect_timeout, {}, why);
  if (connection == nullptr) fail(name(), why);
  if (const auto refusal = connection->refusal(); !refusal.empty()) throw std::invalid_argument(refusal);
}

std::unique_ptr<connection> redlock_store::connect(microseconds limit, fault& why,
                                                   const std::stop_token& cancel) noexcept {
  try {
    auto made = open(limit, cancel, why);
    if (made != nullptr && made->answering() >= group_->of.quorum) return made;
  } catch (const std::exception&) {
    why.transient = why.connection = true;
  }
  return nullptr;
}

// ---- verbs ----------------------------------------------------------------------------------------------------------

std::chrono::microseconds redlock_store::timeout(std::span<const request> requests) const noexcept {
  microseconds most = group_->settings.master_timeout;
  for (const auto& each : requests) {
    if (each.ttl > microseconds{0}) most = std::min(most, each.ttl / 2);
  }
  return most;
}

void redlock_store::execute(connection& on, std::span<const request> requests, std::span<reply> replies) noexcept {
  reply_or_in_doubt(on, replies, [&] {
    auto& link = static_cast<quorum_connection&>(on);
    const auto most = group_->settings.restart_delay;
    const auto too_long = [&](const request& each) { return most.count() > 0 && each.ttl > most; };
    if (std::any_of(requests.begin(), requests.end(), too_long)) {
      fault why;
      why.text = fmt::format("a ttl is longer than restart_delay={} ms, after which a restarted master counts again",
                             most.count());
      return std::fill(replies.begin(), replies.end(), reply{.result = outcome::failed, .why = std::move(why)});
    }
    switch (requests.front().action) {
      case verb::take:
      case verb::insert: return take(link, requests, replies);
      case verb::take_over:  // a dead holder's key no longer exists
      case verb::close:
      case verb::open:
      case verb::pass_on:
      case verb::reserve: return std::fill(replies.begin(), replies.end(), reply{.result = outcome::no});
      default: return run(link, requests, replies);
    }
  });
}

void redlock_store::take(quorum_connection& on, std::span<const request> requests, std::span<reply> replies) const {
  if (on.counting() < group_->of.quorum) {
    return std::fill(replies.begin(), replies.end(), reply{.result = outcome::failed, .why = trouble(on)});
  }
  command_text calls;
  for (const auto& each : requests) setnx::add_request(plain_calls{calls}, prefix(), each);
  const auto all = on.ask(calls, clock::now() + timeout(requests), ask_late::no);
  auto ballots = count(requests, all);
  auto problem = trouble(on);
  // The commands that undo it may still be in progress on these connections. On other connections the same value could
  // be granted again first, and then be deleted, so only an attempt with another number may follow.
  if (std::any_of(all.begin(), all.end(), [](const auto& each) { return each.sent; })) problem.connection = false;
  take_back(on, requests, ballots);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    replies[i] = {.result = take_outcome(ballots[i], group_->of), .fence = requests[i].nonce};
    replies[i].statements = i == 0 ? 1 : 0;
    if (replies[i].result != outcome::failed && replies[i].result != outcome::unknown) continue;
    replies[i].why = problem;
    replies[i].why.text += refusals(on, ballots[i]);
  }
}

void redlock_store::take_back(quorum_connection& on, std::span<const request> requests,
                              std::vector<std::vector<ballot>>& ballots) const {
  std::vector<command_text> calls(on.size());
  std::vector<std::vector<std::size_t>> asked(on.size());  // the indices of the requests
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (take_outcome(ballots[i], group_->of) == outcome::yes) continue;
    auto undo = requests[i];
    undo.action = verb::cancel;
    for (std::size_t m = 0; m < on.size(); ++m) {
      if (!ballots[i][m].remains) continue;
      setnx::add_request(plain_calls{calls[m]}, prefix(), undo);
      asked[m].push_back(i);
    }
  }
  // Also to late masters, which execute this after the earlier commands.
  const auto all = on.ask(calls, clock::now() + group_->settings.master_timeout, ask_late::yes);
  for (std::size_t m = 0; m < on.size(); ++m) {
    for (std::size_t at = 0; at < all[m].response.size(); ++at) {
      ballots[asked[m][at]][m].remains = all[m].response[at].is_error();  // then it deleted nothing
    }
  }
}

void redlock_store::run(quorum_connection& on, std::span<const request> requests, std::span<reply> replies,
                        holders polled) const {
  command_text calls;
  for (const auto& each : requests) setnx::add_request(plain_calls{calls}, prefix(), each);
  const auto action = requests.front().action;
  const bool frees = action == verb::release || action == verb::cancel;
  if (frees) {
    for (const auto& each : requests) {
      missing_.forget(lease_of(each, action == verb::release ? each.fence : each.nonce));
    }
  }
  const auto all = on.ask(calls, clock::now() + timeout(requests), frees ? ask_late::yes : ask_late::no);
  const auto ballots = count(requests, all);
  if (action == verb::extend) restore(on, requests, ballots);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto& reply = replies[i];
    reply = {};
    switch (action) {
      case verb::poll: {
        const auto sight = poll_result(ballots[i], group_->of);
        reply.result = sight.result;
        if (sight.result != outcome::yes) break;
        if (polled == holders::of_majority && !sight.held) {
          reply.result = outcome::absent;
          break;
        }
        reply.holder = setnx::holder_in(sight.value);
        reply.holder.remaining = sight.remaining;
        break;
      }
      case verb::extend: reply.result = extend_outcome(ballots[i], group_->of); break;
      case verb::release:
        reply.result = release_outcome(ballots[i], group_->of);
        if (reply.result == outcome::yes) reply.waiters = most_notified(ballots[i]);
        break;
      default: reply.result = cancel_outcome(ballots[i], group_->of); break;
    }
    reply.statements = i == 0 ? 1 : 0;
    if (reply.result != outcome::failed && reply.result != outcome::unknown) continue;
    reply.why = trouble(on);
    reply.why.text += refusals(on, ballots[i]);
  }
}

void redlock_store::restore(quorum_connection& on, std::span<const request> requests,
                            const std::vector<std::vector<ballot>>& ballots) const {
  std::vector<command_text> calls(on.size());
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (extend_outcome(ballots[i], group_->of) != outcome::yes) continue;
    auto again = requests[i];
    again.action = verb::take;
    again.nonce = again.fence;  // the value that it has on the others
    std::vector<bool> missing(on.size());
    for (std::size_t m = 0; m < on.size(); ++m) missing[m] = ballots[i][m].said == vote::gone;
    const auto now = clock::now();
    const auto twice = missing_.again(lease_of(again, again.nonce), missing, now, now + again.ttl);
    for (std::size_t m = 0; m < on.size(); ++m) {
      if (twice[m]) setnx::add_request(plain_calls{calls[m]}, prefix(), again);
    }
  }
  on.ask(calls, clock::now() + timeout(requests), ask_late::no);
}

// ---- what comes after a lost connection ----------------------------------------------------------------------------

bool redlock_store::terminate(connection& on, const connection_identity& lost) noexcept {
  try {
    if (lost.incarnation != group_->here) return false;
    auto& link = static_cast<quorum_connection&>(on);
    const auto open = group_->ends.of(lost.id);
    std::vector<command_text> calls(link.size());
    std::vector<std::vector<connection_ref>> ended(link.size());
    std::vector<bool> unsure(link.size(), false);
    for (const auto& end : open) {
      const auto& master = link.link(end.master);
      if (!master.ready()) {
        unsure[end.master] = true;
      } else if (master.end().run != end.run) {
        group_->ends.remove(lost.id, end);  // the master was restarted
      } else {
        calls[end.master].add({"CLIENT", "KILL", "ID", std::to_string(end.client)});
        ended[end.master].push_back(end);
      }
    }
    const auto all = link.ask(calls, clock::now() + group_->settings.master_timeout, ask_late::no);
    for (std::size_t m = 0; m < link.size(); ++m) {
      for (std::size_t at = 0; at < ended[m].size(); ++at) {
        // The reply is how many were ended, so 0 where it had ended already.
        const bool gone = at < all[m].response.size() && !all[m].response[at].is_error();
        if (gone) group_->ends.remove(lost.id, ended[m][at]);
        if (!gone) unsure[m] = true;
      }
    }
    // A grant that may still arrive at fewer masters excludes nobody, and ends by its expiry.
    return !group_->of.blocks(static_cast<std::size_t>(std::count(unsure.begin(), unsure.end(), true)));
  } catch (const std::exception&) {
    return false;
  }
}

// ---- operators ------------------------------------------------------------------------------------------------------

void redlock_store::poll(connection& on, std::span<const request> keys, std::span<reply> replies) {
  run(static_cast<quorum_connection&>(on), keys, replies, holders::of_majority);
}

reply redlock_store::scan(connection& on, std::string_view after, std::set<std::string>& keys) {
  auto& link = static_cast<quorum_connection&>(on);
  std::size_t scanned = 0;
  for (std::size_t m = 0; m < link.size(); ++m) {
    const auto ask = [&](const command_text& commands) {
      std::vector<command_text> calls(link.size());
      calls[m] = commands;
      auto all = link.ask(calls, clock::now() + group_->settings.statement_timeout, ask_late::no);
      all[m].response.resize(commands.commands());
      return std::move(all[m].response);
    };
    scanned += scan_server(ask, after, keys).result == outcome::yes ? 1 : 0;
  }
  // Each majority must have had one of these masters.
  if (group_->of.blocks(scanned)) return {.result = outcome::yes};
  return {.result = outcome::failed, .why = trouble(link)};
}

reply redlock_store::examine(connection& on, std::vector<store_finding>& out) noexcept {
  return reply_or_in_doubt(on, [&]() -> reply {
    auto& link = static_cast<quorum_connection&>(on);
    command_text ping;
    ping.add({"PING"});
    link.ask(ping, clock::now() + group_->settings.master_timeout, ask_late::no);
    findings found(out);
    const auto now = clock::now();
    std::size_t counting = 0;
    for (std::size_t i = 0; i != link.size(); ++i) {
      const auto& master = link.link(i);
      const auto trouble = master.late() ? std::string("it answers late") : master.trouble(now);
      if (trouble.empty()) {
        ++counting;
        found.good("master " + master.where(), "counts");
      } else {
        found.warning("master " + master.where(), trouble, "It has no vote now.",
                      "Mend it. A server that was restarted gets its vote back after restart_delay.");
      }
    }
    const auto quorum = group_->settings.quorum();
    const auto value = fmt::format("{} of {} masters, {} are needed", counting, link.size(), quorum);
    if (counting < quorum) {
      found.problem("majority", value, "No key is granted and no lease renewed.", "Mend the masters above.");
    } else if (counting == quorum && counting != link.size()) {
      found.warning("majority", value, "If one more master fails, no key is granted.", "Mend the masters above.");
    } else {
      found.good("majority", value);
    }
    return {.result = outcome::yes};
  });
}

}  // namespace dlock::stores::redis::redlock
