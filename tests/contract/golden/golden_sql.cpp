// SPDX-License-Identifier: BSL-1.0
#include "contract/golden/golden_sql.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <span>
#include <sstream>

#include "dlock/detail/sha256.hpp"

namespace dlock::test {

namespace {

/// Sessions and numbers that are the same in each run.
id128 session_number(unsigned char number) {
  id128 id;
  id.bytes.fill(static_cast<unsigned char>(0xa0 + number));
  return id;
}

constexpr microseconds long_ttl = 1h;
constexpr std::size_t longest = 480;  // of a text that is shown whole

std::string replaced_all(std::string text, const std::string& from, const std::string& to) {
  if (from.empty()) return text;
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string hex_of(const std::string& text) {
  std::string hex;
  for (const char each : text) hex += fmt::format("{:02X}", static_cast<unsigned char>(each));
  return hex;
}

/// A transcript: the title of each step, and what was sent in it.
class transcript {
 public:
  transcript(statement_log& log, std::vector<std::pair<std::string, std::string>> hidden)
      : log_(log), hidden_(std::move(hidden)) {
    static_cast<void>(log_.take());
  }

  void step(const std::string& title) {
    text_ += "== " + title + '\n';
    std::vector<std::string> lines;
    for (auto& each : log_.take()) lines.push_back(shown(std::move(each)));
    for (std::size_t at = 0; at < lines.size();) {
      const auto [length, times] = repetition(lines, at);
      if (times > 1) text_ += fmt::format("-- {} times:\n", times);
      for (std::size_t i = 0; i != length; ++i) text_ += lines[at + i] + '\n';
      if (times > 1) text_ += "--\n";
      at += length * times;
    }
  }
  /// What was not sent, but is a text for others to send.
  void say(const std::string& title, const std::string& statement) {
    text_ += "== " + title + '\n' + shown(statement) + '\n';
  }
  const std::string& text() const noexcept { return text_; }

 private:
  /// How many lines from there on are repeated, and how often they stand there.
  static std::pair<std::size_t, std::size_t> repetition(const std::vector<std::string>& lines, std::size_t at) {
    for (std::size_t length = 1; length <= 4; ++length) {
      const auto is_again = [&](std::size_t from) {
        return from + length <= lines.size() && std::equal(lines.begin() + static_cast<std::ptrdiff_t>(at),
                                                           lines.begin() + static_cast<std::ptrdiff_t>(at + length),
                                                           lines.begin() + static_cast<std::ptrdiff_t>(from));
      };
      std::size_t times = 1;
      while (is_again(at + times * length)) ++times;
      if (times > 1) return {length, times};
    }
    return {1, 1};
  }

  std::string shown(std::string statement) const {
    for (const auto& [from, to] : hidden_) {
      statement = replaced_all(std::move(statement), from, to);
      statement = replaced_all(std::move(statement), hex_of(from), "<" + to + " in hex>");
    }
    // What differs from key to key, or from run to run: so equal statements stand in one line.
    static const std::vector<std::pair<std::regex, std::string>> varying{
        // SELECT GET_LOCK('# and the hash of a key's queue
        {std::regex("(53454c454354204745545f4c4f434b282723)(3[0-9]|6[1-6]){63}", std::regex::icase), "$1<queue>"},
        {std::regex("\\b[0-9]{12,}\\b"), "<number>"},
        {std::regex("verified_by(.?) ?= ?[0-9]+"), "verified_by$1 = <connection>"},
        {std::regex("golden [0-9]{3}"), "golden <n>"},
        {std::regex("676f6c64656e20([0-9a-f]{6})", std::regex::icase), "<golden n>"},
        {std::regex("\\b7[0-9]{3}\\b"), "<nonce>"},
        {std::regex("@@server_id\\)=\\s*X'[0-9A-F]+'"), "@@server_id)=<this server>"},
        {std::regex("@@server_uuid=\\s*X'[0-9A-F]+'"), "@@server_uuid=<this server>"},
        {std::regex("#probe [0-9a-f]{32}"), "#probe <random>"},
        {std::regex("'dlock:[0-9a-f]{40}'"), "'dlock:<lock tables>'"},
        {std::regex("/(<tables>)?0+1[0-9a-f]{3}\\b"), "/$1<attempt>"},
        {std::regex("(6e2?c2ba20)[0-9a-f]{8}", std::regex::icase), "$1<n>"},
        {std::regex("@@server_id\\)=\\s*X'[0-9A-F]+'"), "@@server_id)=<this server>"},
        {std::regex("@@server_uuid=\\s*X'[0-9A-F]+'"), "@@server_uuid=<this server>"},
        {std::regex("#probe [0-9a-f]{32}"), "#probe <random>"},
        {std::regex("/[0-9a-z]{4}000000001[0-9a-f]{3}"), "/<attempt>"},
        {std::regex("/0000000000001[0-9a-f]{3}"), "/<attempt>"}};
    for (const auto& [what, with] : varying) statement = std::regex_replace(statement, what, with);
    if (statement.size() <= longest) return statement;
    return fmt::format("{} ... {} ({} bytes, {})", statement.substr(0, longest / 2),
                       statement.substr(statement.size() - longest / 4), statement.size(),
                       dlock::detail::sha256_hex(statement).substr(0, 16));
  }

  statement_log& log_;
  const std::vector<std::pair<std::string, std::string>> hidden_;
  std::string text_{};
};

std::string title_of(const std::string& step) { return step.substr(0, step.find('\n')); }

std::vector<std::string> split_steps(const std::string& text) {
  std::vector<std::string> steps;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (steps.empty() || line.starts_with("== ")) steps.emplace_back();
    steps.back() += line + '\n';
  }
  return steps;
}

/// What is asked of one store about keys or rows.
class scene {
 public:
  scene(store& of, connection& on, transcript& to) : store_(of), on_(on), to_(to), caps_(of.caps()) {}

  using resources = std::vector<lock_key>;

  session_record record(unsigned char who, microseconds ttl = long_ttl) const {
    return {.id = session_number(who), .ttl = ttl, .host = "golden-host", .pid = 4711, .label = "golden"};
  }
  void session(session_verb action, unsigned char who, const char* title, microseconds ttl = long_ttl) {
    if (!caps_.session_leases) return;
    static_cast<void>(store_.session(on_, action, record(who, ttl)));
    to_.step(title);
  }

  /// All verbs about so many keys or rows at once.
  void verbs(const resources& all, lease_kind kind, const std::string& what) {
    what_ = what;
    kind_ = kind;
    session_ = session_number(1);
    run(verb::take, all, "take: no such row");
    run(verb::insert, all, "insert");
    session_ = session_number(2);
    run(verb::take, all, "take: held by another");
    run(verb::take, all, "take: held by another, after a poll", [](request& q) { q.polled = true; });
    run(verb::poll, all, "poll: held");
    if (caps_.keeps_order) {
      run(verb::poll, all, "poll: in order", [](request& q) { q.in_order = true; });
      run(verb::take, all, "take: in order", [](request& q) { q.in_order = true; });
      run(verb::take, all, "take: in order, registered", [](request& q) { q.in_order = q.registered = true; });
    }
    run(verb::release, all, "release: of another's");
    run(verb::cancel, all, "cancel: of another's");
    session_ = session_number(1);
    if (kind != lease_kind::session) run(verb::extend, all, "extend", fences());
    if (caps_.passes_on && kind == lease_kind::session) run(verb::pass_on, all, "pass on", fences(), true);
    run(verb::release, all, "release", fences());
    run(verb::poll, all, "poll: free");
    run(verb::take, all, "take: free");
    run(verb::cancel, all, "cancel", nonces());
    run(verb::take, all, "take: free again");
    if (caps_.looks_for_waiters()) {
      run(verb::release, all, "release: looks for a waiter", [&](request& q) {
        fences()(q);
        q.wake = true;
      });
      run(verb::take, all, "take: free once more");
      run(verb::cancel, all, "cancel: looks for a waiter", [&](request& q) {
        nonces()(q);
        q.wake = true;
      });
      run(verb::take, all, "take: and again");
    }
    if (caps_.min_hold) {
      run(verb::release, all, "release: kept for a minimum time", [&](request& q) {
        fences()(q);
        q.min_hold = 1us;
      });
    } else {
      run(verb::release, all, "release: at last", fences());
    }
    take_over(all);
    members(all);
  }

  void operators(const lock_key& one) {
    auto* const admin = store_.admin();
    if (admin == nullptr) return;
    session_ = session_number(1);
    kind_ = caps_.session_leases ? lease_kind::session : lease_kind::expiring;
    what_ = "operators";
    run(verb::take, {one}, "take");
    std::vector<holder_info> found;
    static_cast<void>(admin->inspect(on_, asked(verb::poll, one), found));
    to_.step("inspect");
    static_cast<void>(admin->list(on_, "", 10, found));
    to_.step("list");
    store_overview all;
    static_cast<void>(admin->overview(on_, 10, all));
    to_.step("overview");
    waiter_overview waiting;
    static_cast<void>(admin->waiters(on_, one.view(), 10, waiting));
    to_.step("waiters");
    if (one.row() != nullptr) {
      std::vector<held_row> rows;
      static_cast<void>(admin->held_rows(on_, one.row()->table, 10, rows));
      to_.step("held rows");
    }
    static_cast<void>(admin->revoke(on_, asked(verb::poll, one)));
    to_.step("revoke");
    static_cast<void>(admin->cleanup(on_, 1us, 100));
    to_.step("clean-up");
    std::vector<store_finding> findings;
    static_cast<void>(admin->examine(on_, findings));
    to_.step("examine");
  }

  void lingers(const lock_key& one) {
    if (!caps_.lingers) return;
    session_ = session_number(1);
    kind_ = lease_kind::session;
    what_ = "a key that lingers";
    run(verb::insert, {one}, "insert");
    run(verb::reserve, {one}, "reserve", [&](request& q) {
      fences()(q);
      q.count = 16;
    });
  }

  void transactions(const lock_key& one) {
    auto* const in = store_.transactions();
    if (in == nullptr) return;
    session_ = session_number(1);
    auto q = asked(verb::poll, one);
    q.nonce = 7'001;
    q.fence = 42;
    to_.say("verify", in->verification_of(q).text);
    to_.say("release in a transaction", in->release_of(q).text);
    connection_identity out;
    static_cast<void>(in->blocker(on_, q, out));
    to_.step("blocker");
  }

 private:
  using change = std::function<void(request&)>;

  request asked(verb action, const lock_key& one) {
    return {.action = action, .resource = one.view(), .session = session_, .row = one.row(), .kind = kind_};
  }
  change fences() {
    return [this](request& q) {
      q.fence = granted_[std::string(q.resource)].fence;
      q.nonce = granted_[std::string(q.resource)].nonce;
    };
  }
  change nonces() {
    return [this](request& q) { q.nonce = granted_[std::string(q.resource)].nonce; };
  }

  /// `again`: with a new nonce beside the fence.
  void run(verb action, const resources& all, const std::string& title, const change& changed = {},
           bool again = false) {
    const bool grants = action == verb::take || action == verb::insert || action == verb::take_over || again;
    std::vector<request> batch;
    for (const auto& each : all) {
      auto& q = batch.emplace_back(asked(action, each));
      if (kind_ != lease_kind::session) q.ttl = long_ttl;
      if (changed) changed(q);
      if (grants) q.nonce = ++nonce_;
      if (action == verb::release || action == verb::extend) q.kind = kind_;
    }
    std::sort(batch.begin(), batch.end(), [](const auto& a, const auto& b) { return a.resource < b.resource; });
    std::vector<reply> replies(batch.size());
    const auto most = caps_.batch ? batch.size() : 1;
    for (std::size_t at = 0; at < batch.size(); at += most) {
      store_.execute(on_, std::span(batch).subspan(at, most), std::span(replies).subspan(at, most));
    }
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (grants && replies[i].result == outcome::yes) {
        granted_[std::string(batch[i].resource)] = {replies[i].fence, batch[i].nonce};
      }
      if (action == verb::poll && replies[i].result == outcome::yes)
        seen_[std::string(batch[i].resource)] = replies[i].holder;
    }
    to_.step(fmt::format("{}, {}: {} -> {}", what_, all.size(), title, outcomes(replies)));
  }
  /// Of a holder whose session has ended.
  void take_over(const resources& all) {
    // What ends with a connection is free a little later.
    const bool bound = !caps_.expiring_leases;
    if (!caps_.session_leases || bound || kind_ != lease_kind::session) return;
    session_ = session_number(3);
    static_cast<void>(store_.session(on_, session_verb::open, record(3)));
    run(verb::take, all, "take: by a session that ends");
    static_cast<void>(store_.session(on_, session_verb::close, record(3)));
    session_ = session_number(1);
    run(verb::poll, all, "poll: its session is gone");
    run(verb::take_over, all, "take over", [this](request& q) { q.expected = &seen_[std::string(q.resource)]; });
    run(verb::release, all, "release", fences());
  }
  /// Readers, permits, and an exclusive caller that waits for them.
  void members(const resources& all) {
    if (!caps_.shares || all.size() > 1 || all.front().row() != nullptr || kind_ != lease_kind::session) return;
    const auto nonce = nonce_;  // those of what follows stay
    const auto as_member = [this](std::uint32_t permits, bool polled) {
      return [this, permits, polled](request& q) {
        if (q.action != verb::take) nonces()(q);
        q.units = 1;
        q.permits = permits;
        q.polled = polled;
      };
    };
    run(verb::take, all, "a reader joins a free key", as_member(0, true));
    if (auto* const in = store_.transactions()) {
      auto q = asked(verb::poll, all.front());
      as_member(0, false)(q);
      q.fence = 42;
      to_.say("verify a reader", in->verification_of(q).text);
    }
    run(verb::release, all, "a reader leaves", as_member(0, false));
    run(verb::take, all, "a reader joins", as_member(0, false));
    run(verb::poll, all, "poll: members");
    run(verb::release, all, "a reader leaves", as_member(0, false));
    run(verb::take, all, "a permit", as_member(2, false));
    run(verb::cancel, all, "a permit is cancelled", as_member(2, false));
    run(verb::close, all, "close");
    run(verb::open, all, "open");
    run(verb::close, all, "close again");
    run(verb::poll, all, "poll: closed, without members");
    run(verb::take, all, "take: of a closed key", [this](request& q) {
      q.polled = true;
      q.expected = &seen_[std::string(q.resource)];
    });
    run(verb::release, all, "release: of a key that was shared", fences());
    nonce_ = nonce;
  }
  static std::string outcomes(const std::vector<reply>& replies) {
    constexpr const char* names[] = {"yes", "no", "absent", "unknown", "failed"};
    std::map<std::string, int> counts;
    for (const auto& each : replies) ++counts[names[static_cast<std::size_t>(each.result)]];
    std::string text;
    for (const auto& [name, count] : counts) text += (text.empty() ? "" : ", ") + fmt::format("{} {}", count, name);
    return text;
  }

  struct grant_of {
    std::uint64_t fence = 0;
    std::uint64_t nonce = 0;
  };
  store& store_;
  connection& on_;
  transcript& to_;
  const capabilities caps_;
  std::string what_{};
  lease_kind kind_ = lease_kind::session;
  id128 session_{};
  std::uint64_t nonce_ = 7'000;
  std::map<std::string, grant_of> granted_{};
  std::map<std::string, seen> seen_{};
};

lock_key name_number(std::size_t i) { return lock_key(fmt::format("golden {:03}", i)); }

scene::resources first(std::size_t count, const std::function<lock_key(std::size_t)>& make) {
  scene::resources all;
  for (std::size_t i = 0; i != count; ++i) all.push_back(make(i));
  return all;
}

}  // namespace

std::string steps_beside(const std::string& plain, const std::string& variant) {
  const auto known = split_steps(plain);
  auto next = known.begin();
  std::string beside, before;
  bool told = true;  // of the place in the variant
  for (const auto& step : split_steps(variant)) {
    const bool there = next != known.end() && title_of(*next) == title_of(step);
    const bool same = there && *next == step;
    if (there) ++next;
    if (!same) {
      if (!there && !told) beside += "-- after " + before + '\n';
      beside += step;
    }
    before = title_of(step);
    told = !same;
  }
  for (; next != known.end(); ++next) beside += "-- not: " + title_of(*next) + '\n';
  return beside;
}

void check_golden(const std::string& name, const std::string& text) {
  const auto file = std::filesystem::path(DLOCK_GOLDEN_FOLDER) / (name + ".sql");
  if (std::getenv("DLOCK_WRITE_GOLDEN") != nullptr) {
    std::ofstream(file) << text;
    return;
  }
  std::ifstream from(file);
  const std::string expected{std::istreambuf_iterator<char>(from), std::istreambuf_iterator<char>()};
  if (expected == text) return;
  // The first line that differs, with the step that it belongs to; the whole is beside the test program.
  std::ofstream(name + ".sql.now") << text;
  std::istringstream was(expected);
  std::istringstream is(text);
  std::string before;
  std::string now;
  std::string title;
  while (true) {
    const bool more_before = static_cast<bool>(std::getline(was, before));
    const bool more_now = static_cast<bool>(std::getline(is, now));
    if (!more_before) before = "(the end)";
    if (!more_now) now = "(the end)";
    if (before != now || (!more_before && !more_now)) break;
    if (now.starts_with("==")) title = now;
  }
  FAIL("other statements than in " << file << ", and all of them in ./" << name << ".sql.now\n"
                                   << title << "\n- " << before << "\n+ " << now);
}

std::string golden_steps(store_fixture& fixture, statement_log& log,
                         std::vector<std::pair<std::string, std::string>> hidden) {
  transcript to(log, std::move(hidden));
  const auto store = fixture.open();
  to.step("the store begins, without tables of its own");
  const auto on = connect(*store);
  to.step("a connection");
  scene play(*store, *on, to);
  play.session(session_verb::open, 1, "session: open");
  play.session(session_verb::open, 2, "session: open, prepared before");
  play.session(session_verb::renew, 1, "session: renew");
  play.session(session_verb::remove_expired, 2, "session: remove if it has expired");
  std::size_t next = 0;
  for (const std::size_t count : {1, 2, 64}) {
    const auto keys = [&] { return first(count, [&](std::size_t) { return name_number(next++); }); };
    if (store->caps().session_leases) play.verbs(keys(), lease_kind::session, "keys, by session");
    if (store->caps().expiring_leases) play.verbs(keys(), lease_kind::expiring, "keys, expiring");
    if (store->caps().renewed_leases) play.verbs(keys(), lease_kind::column, "keys, renewed");
  }
  play.operators(name_number(0));
  play.transactions(name_number(0));
  play.lingers(name_number(next));
  play.session(session_verb::close, 1, "session: close");
  return to.text();
}

void check_golden_rows(const std::string& name, const std::vector<row_shape>& shapes,
                       const std::function<std::unique_ptr<statement_log>()>& make_log,
                       const std::function<std::vector<std::pair<std::string, std::string>>(row_scene&)>& hidden) {
  std::string text;
  for (const auto& shape : shapes) {
    row_scene rows(shape);
    const auto store = rows.fixture->open();
    const auto on = connect(*store);
    std::vector<lock_key> all;
    // Numbers that shown() hides, and one region.
    for (std::int64_t i = 0; i != 64; ++i) all.push_back(rows.make_numbered(7'101 + 3 * i));
    const auto log = make_log();
    transcript to(*log, hidden(rows));
    scene play(*store, *on, to);
    play.session(session_verb::open, 1, "session: open");
    play.session(session_verb::open, 2, "session: open, prepared before");
    const auto kinds = shape.renewal == row_renewal::column ? std::vector{lease_kind::column, lease_kind::expiring}
                                                            : std::vector{lease_kind::session, lease_kind::expiring};
    for (const std::size_t count : {1, 2, 64}) {
      for (const auto kind : kinds) {
        play.verbs({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count)}, kind,
                   fmt::format("rows, kind {}", static_cast<int>(kind)));
      }
    }
    play.operators(all[0]);
    play.transactions(all[0]);
    text +=
        fmt::format("#### rows: id {}, {}{}{}\n", static_cast<int>(shape.id),
                    shape.renewal == row_renewal::column ? "column" : "session",
                    shape.owner_not_null ? ", owner not null" : "", shape.fence_is_version ? ", fence is version" : "");
    text += to.text();
  }
  check_golden(name, text);
}

}  // namespace dlock::test
