// SPDX-License-Identifier: BSL-1.0

/// What the answers of five masters mean together, and which masters count.

#include "contract/store/store_contract.hpp"
#include "stores/redis/client/protocol.hpp"
#include "stores/redis/redlock/master.hpp"
#include "stores/redis/redlock/votes.hpp"

namespace dlock::test {

namespace redis = stores::redis;
using namespace redis::redlock;

namespace {

constexpr majority five{3, 5};

/// y, n, g: yes, no, no such key. Y, N, G: of one that does not count. s: silent, and something may be left; e: an
/// error; -: not asked.
std::vector<ballot> all_of(std::string_view text) {
  std::vector<ballot> all;
  for (const char each : text) {
    ballot one{.votes = each != 'Y' && each != 'N' && each != 'G'};
    if (each == 'y' || each == 'Y') one.said = vote::yes;
    if (each == 'n' || each == 'N') one.said = vote::no;
    if (each == 'g' || each == 'G') one.said = vote::gone;
    if (each == 's') one.said = vote::silent;
    if (each == 'e') one.said = vote::refused;
    one.remains = each == 's';
    all.push_back(one);
  }
  return all;
}

outcome take(std::string_view text) { return take_outcome(all_of(text), five); }
outcome extend(std::string_view text) { return extend_outcome(all_of(text), five); }
outcome release(std::string_view text) { return release_outcome(all_of(text), five); }
outcome cancel(std::string_view text) { return cancel_outcome(all_of(text), five); }

struct found : sight {
  std::string by{};
};

/// What a poll finds on masters that answer with these: "value pttl", or "" for nothing.
found polled(const std::vector<std::string>& replies, std::string_view counts = "yyyyy") {
  std::vector<redis::answer> answers;
  for (const auto& each : replies) {
    redis::answer_reader reader;
    const auto space = each.find(' ');
    const auto text = each.empty() ? std::string("$-1\r\n")
                                   : "*2\r\n+" + each.substr(0, space) + "\r\n:" + each.substr(space + 1) + "\r\n";
    reader.feed(text.data(), text.size());
    answers.push_back(reader.next());
  }
  auto ballots = all_of(counts);
  for (std::size_t i = 0; i < ballots.size(); ++i) ballots[i].response = &answers[i];
  const auto seen = poll_result(ballots, five);
  return {seen, std::string(seen.value)};
}

}  // namespace

TEST_CASE("redlock: a key that restarted masters have forgotten does not prove that somebody else took it") {
  CHECK(extend("yyGGG") == outcome::failed);
  CHECK(extend("yyggg") == outcome::no);
  CHECK(extend("yyNNN") == outcome::no);
  CHECK(extend("yyGgG") == outcome::failed);
  CHECK(extend("ygnGn") == outcome::no);
  CHECK(release("yyGGG") == outcome::yes);
  CHECK(release("yyggg") == outcome::no);
  CHECK(release("yyNNN") == outcome::no);
  CHECK(release("GGGss") == outcome::yes);
  CHECK(cancel("yyGGG") == outcome::no);
}

TEST_CASE("redlock: a majority of the masters that count grants a key, and nothing less") {
  CHECK(take("yyyyy") == outcome::yes);
  CHECK(take("yyy--") == outcome::yes);
  CHECK(take("yyyss") == outcome::yes);
  CHECK(take("yyYnn") == outcome::no);
  CHECK(take("yyYYY") == outcome::failed);  // nobody else has it either
  CHECK(take("yynnn") == outcome::no);
  CHECK(take("yyn--") == outcome::no);
  CHECK(take("yy---") == outcome::failed);
  CHECK(take("eeeee") == outcome::failed);
}

TEST_CASE("redlock: an attempt is in doubt if what may be left of it can keep everybody out") {
  CHECK(take("yysss") == outcome::unknown);
  CHECK(take("sssss") == outcome::unknown);
  CHECK(take("yyss-") == outcome::failed);
  CHECK(take("ynnss") == outcome::no);
}

TEST_CASE("redlock: a lease is extended by a majority, and lost when no majority can have it") {
  CHECK(extend("yyynn") == outcome::yes);
  CHECK(extend("yyYss") == outcome::unknown);
  CHECK(extend("yynnn") == outcome::no);
  CHECK(extend("yyNNN") == outcome::no);
  CHECK(extend("yynns") == outcome::unknown);
  CHECK(extend("yynn-") == outcome::failed);
}

TEST_CASE("redlock: a key is freed when what is left of it keeps nobody out") {
  CHECK(release("yyyyy") == outcome::yes);
  CHECK(release("yyn--") == outcome::yes);
  CHECK(release("yyYss") == outcome::yes);
  CHECK(release("nnn--") == outcome::no);
  CHECK(release("ynnnn") == outcome::no);
  CHECK(release("yysss") == outcome::unknown);
  CHECK(release("yy---") == outcome::failed);
  CHECK(cancel("yyynn") == outcome::yes);
  CHECK(cancel("ynn--") == outcome::no);
  CHECK(cancel("yysss") == outcome::unknown);
}

TEST_CASE("redlock: a poll finds who has a majority, and when one is free without anybody's doing") {
  const auto held = polled({"a 50", "a 70", "a 60", "", "b 10"});
  CHECK(held.result == outcome::yes);
  CHECK(held.by == "a");
  CHECK(held.held);
  CHECK(held.remaining == 50ms);  // with the two others
  const auto split = polled({"a 50", "a 70", "b 60", "b 90", ""});
  CHECK(split.result == outcome::yes);
  CHECK_FALSE(split.held);
  CHECK(split.remaining == 60ms);
  CHECK(polled({"a 50", "", "", "", "b 10"}).result == outcome::absent);
  CHECK(polled({"a 0", "a 0", "a 0", "a 0", "a 0"}).result == outcome::yes);  // less than a millisecond is left
  CHECK(polled({"a 50", "a 70", "a 60", "", ""}, "yy---").result == outcome::failed);
  CHECK(polled({"", "", "", "", ""}, "yyYss").result == outcome::unknown);
}

TEST_CASE(
    "redlock: a master counts when it has been up for the delay, or for that long after another run of it was seen") {
  auto url = store_url::parse("redlock://a,b,c?restart_delay=60000");
  const auto settings = redis::redlock_settings::parse(url);
  master one(settings, settings.hosts[0]);
  const auto now = std::chrono::steady_clock::now();
  const auto wait = [&](const char* run, std::chrono::seconds up, microseconds later = 0us) {
    return one.votes_from({.run = run, .up = up}, now + later) - now;
  };
  CHECK(wait("first", 10s) == 51s);  // a part of a second is not known
  CHECK(wait("first", 61s) == 0s);
  CHECK(wait("second", 10h) == 60s);  // another server under its name, or its clock was set
  CHECK(wait("second", 10h, 20s) == 60s);
  CHECK(wait("second", 10h, 70s) == 70s);
  redis::server_facts durable{.run = "third", .up = 1s};
  durable.keeps = redis::persistence::always;
  CHECK(one.votes_from(durable, now) == now);
}

TEST_CASE("redlock: the name of a master that is not found is looked up again after a while, by one") {
  const auto settings =
      redis::redlock_settings::parse(store_url::parse("redlock://localhost,127.0.0.1,b?connect_timeout=1000"));
  master named(settings, settings.hosts[0]), by_address(settings, settings.hosts[1]);
  const auto now = std::chrono::steady_clock::now();
  for (auto* each : {&named, &by_address}) each->look_up(now, now + 1h, {});
  CHECK_FALSE(named.look_up_due(now + 1h));  // nobody misses it
  for (auto* each : {&named, &by_address}) each->not_found();
  CHECK_FALSE(named.look_up_due(now + 5999ms));
  CHECK(named.look_up_due(now + 6s));
  named.not_found();
  CHECK_FALSE(named.look_up_due(now + 11s));
  CHECK(named.look_up_due(now + 12s));
  CHECK_FALSE(by_address.look_up_due(now + 1h));
}

TEST_CASE("redlock: what was under way on a connection is known until that is answered, or an hour after its end") {
  unacknowledged_connections ends;
  const auto now = std::chrono::steady_clock::now();
  const connection_ref first{.master = 0, .run = "a", .client = 1}, second{.master = 1, .run = "b", .client = 2};
  ends.add(1, first, now);
  ends.add(1, second, now);
  ends.leave(1, first, now);
  ends.add(2, first, now + 59min);
  CHECK(ends.of(1) == std::vector{first, second});
  ends.add(2, second, now + 1h);
  CHECK(ends.of(1) == std::vector{second});  // it is open
  ends.add(2, second, now + 100h);
  CHECK(ends.of(1) == std::vector{second});
  ends.remove(1, second);
  CHECK(ends.of(1).empty());
}

TEST_CASE("redlock: a lease misses its key on a master where two renewals in a row found none") {
  missing_keys missing;
  const auto now = std::chrono::steady_clock::now();
  const std::vector<bool> none(3, false), first{true, false, false}, both{true, true, false};
  const auto again = [&](const std::vector<bool>& found, microseconds after = 0us) {
    return missing.again("lease", found, now + after, now + after + 10s);
  };
  CHECK(again(first) == none);
  CHECK(missing.again("another", both, now, now + 10s) == none);
  CHECK(again(both) == first);
  CHECK(again(both) == both);
  CHECK(again(none) == none);
  CHECK(missing.size() == 1);
  CHECK(again(both) == none);
  missing.forget("lease");
  CHECK(again(both) == none);
  CHECK(again(both, 10s) == none);  // that lease had ended
  for (int i = 0; i < 5000; ++i) missing.again(std::to_string(i), both, now + i * 1s, now + (i + 10) * 1s);
  CHECK(missing.size() < 2000);  // those that are not forgotten
}

TEST_CASE("redlock: a key is released when a majority has published that, once for each release") {
  published_releases published(2);
  CHECK_FALSE(published.add("k", "a"));
  CHECK_FALSE(published.add("other", "a"));
  CHECK(published.add("k", "a"));
  CHECK_FALSE(published.add("k", "a"));  // the third of three
  // Two attempts that are taken back, each on one master, free nothing that either of them could get.
  CHECK_FALSE(published.add("k", "b"));
  CHECK_FALSE(published.add("k", "c"));
  published.forget("k");
  CHECK_FALSE(published.add("k", "c"));
  CHECK(published.add("k", "c"));
}

TEST_CASE("redlock: what slow masters publish of other values hides no release") {
  published_releases published(3);
  // Two masters are late with a value that was taken back on them.
  CHECK_FALSE(published.add("k", "a"));
  CHECK_FALSE(published.add("k", "a"));
  CHECK_FALSE(published.add("k", "b"));
  CHECK(published.add("k", "a"));
  CHECK_FALSE(published.add("k", "b"));
  CHECK_FALSE(published.add("k", "a"));
  for (int i = 0; i != 10'000; ++i) CHECK_FALSE(published.add("k", std::to_string(i)));  // not all of them are kept
}

}  // namespace dlock::test
