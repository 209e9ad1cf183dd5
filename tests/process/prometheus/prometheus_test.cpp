// SPDX-License-Identifier: BSL-1.0

/// A real Prometheus scrapes the running sample 12_metrics, and answers what the sample printed. What monitoring/ has
/// is asked of it, too.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "dlock/metrics.hpp"
#include "support/calls.hpp"
#include "support/program_output.hpp"
#include "support/scratch_folder.hpp"

namespace dlock::test {

namespace {

using nlohmann::json;

std::string text_of(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// The body of an answer; empty: there was none, or it was no good one.
std::string get(std::uint16_t port, const std::string& path) {
  const int to = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    const auto ask = "GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n";
    static_cast<void>(!::send(to, ask.data(), ask.size(), MSG_NOSIGNAL));
    char part[65536];
    for (ssize_t got; (got = ::recv(to, part, sizeof part, 0)) > 0;) answer.append(part, static_cast<std::size_t>(got));
  }
  ::close(to);
  const auto body = answer.find("\r\n\r\n");
  const bool good = answer.starts_with("HTTP/1.0 200") || answer.starts_with("HTTP/1.1 200");
  return good && body != std::string::npos ? answer.substr(body + 4) : std::string{};
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned char>(c));
    out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : code;
  }
  return out;
}

/// The sample, and a Prometheus that scrapes it ten times a second.
class monitored_sample {
 public:
  monitored_sample() {
    std::ofstream(folder / "prometheus.yml")
        << "global: {scrape_interval: 100ms, scrape_timeout: 100ms, evaluation_interval: 100ms}\n"
        << "rule_files: ['" DLOCK_TEST_MONITORING "/alerts.yml']\n"
        << "scrape_configs:\n  - job_name: dlock\n    static_configs:\n      - targets: ['127.0.0.1:" << sample_port
        << "']\n";
    prometheus.emplace(std::vector<std::string>{"prometheus", "--config.file=" + (folder / "prometheus.yml"),
                                                "--storage.tsdb.path=" + (folder / "data"),
                                                "--web.listen-address=127.0.0.1:" + std::to_string(port)},
                       folder / "prometheus.log");
    INFO(text_of(folder / "prometheus.log"));
    REQUIRE(eventually([&] { return get(port, "/-/ready") != ""; }, 60s));
  }

  /// What the sample printed behind that word; 0: nothing yet.
  long printed(const std::string& word) const {
    std::istringstream in(text_of(folder / "sample.log"));
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(word + " ")) return std::stol(line.substr(word.size() + 1));
    }
    return 0;
  }
  json ask(const std::string& query) const {
    const auto answer = get(port, "/api/v1/query?query=" + escaped(query));
    return answer.empty() ? json{} : json::parse(answer);
  }
  /// The value of a query that has one; -1: it has none.
  double value(const std::string& query) const {
    const auto answer = ask(query);
    if (!answer.is_object() || answer.at("data").at("result").size() != 1) return -1;
    return std::stod(answer.at("data").at("result").at(0).at("value").at(1).get<std::string>());
  }

  const scratch_folder folder{};
  const std::uint16_t sample_port = free_port();
  const std::uint16_t port = free_port();
  child_process sample{{DLOCK_TEST_METRICS_SAMPLE, "--wait", "--port", std::to_string(sample_port), "--db",
                        "sqlite:" + (folder / "locks.db"), "--jobs", "20"},
                       folder / "sample.log"};
  std::optional<child_process> prometheus{};
};

/// Names that begin with dlock_ in a text, without what Prometheus adds to a histogram's.
std::set<std::string> metrics_in(const std::string& text) {
  std::set<std::string> names;
  for (std::size_t at = 0; (at = text.find("dlock_", at)) != std::string::npos;) {
    auto end = at;
    while (end != text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) ++end;
    auto name = text.substr(at, end - at);
    for (const char* const suffix : {"_bucket", "_sum", "_count"}) {
      if (name.ends_with(suffix)) name.resize(name.size() - std::string(suffix).size());
    }
    names.insert(name);
    at = end;
  }
  return names;
}

/// The queries of the dashboard, for this sample.
std::vector<std::string> dashboard_queries() {
  std::vector<std::string> all;
  const auto dashboard = json::parse(text_of(DLOCK_TEST_MONITORING "/grafana-dashboard.json"));
  for (const auto& panel : dashboard.at("panels")) {
    for (const auto& target : panel.at("targets")) {
      auto query = target.at("expr").get<std::string>();
      for (const auto& [from, to] :
           std::map<std::string, std::string>{{"$job", ".*"}, {"$service", ".*"}, {"$__rate_interval", "5s"}}) {
        for (std::size_t at = 0; (at = query.find(from)) != std::string::npos;) query.replace(at, from.size(), to);
      }
      all.push_back(query);
    }
  }
  return all;
}

}  // namespace

TEST_CASE("monitoring: a real Prometheus answers the numbers that the sample printed") {
  const monitored_sample s;
  REQUIRE(eventually([&] { return s.printed("released") != 0; }, 120s));
  const auto granted = s.printed("granted");
  CHECK(granted == 80);
  CHECK(eventually(
      [&] { return s.value("dlock_events_total{event=\"granted\",service=\"shop\"}") == static_cast<double>(granted); },
      60s));
  CHECK(s.value("dlock_events_total{event=\"released\"}") == static_cast<double>(s.printed("released")));
  CHECK(s.value("dlock_acquire_wait_seconds_count{result=\"granted\"}") == static_cast<double>(granted));
  CHECK(s.value("sum(dlock_leases_lost_total)") == 0);
  CHECK(s.value("dlock_held_keys") == 0);
  CHECK(s.value("dlock_oldest_hold_seconds") == 0);
  // What the dashboard asks has an answer, and no alert fires for a sample that is well.
  for (const auto& query : dashboard_queries()) {
    INFO(query);
    const auto answer = s.ask(query);
    CHECK(answer.value("status", "") == "success");
  }
  const auto rules = json::parse(get(s.port, "/api/v1/rules"));
  std::size_t alerts = 0;
  for (const auto& group : rules.at("data").at("groups")) {
    for (const auto& rule : group.at("rules")) {
      INFO(rule.dump());
      CHECK(rule.at("state") == "inactive");
      CHECK(rule.value("lastError", "") == "");
      ++alerts;
    }
  }
  CHECK(alerts == 9);
}

TEST_CASE("monitoring: dashboard and alerts name metrics, events and reasons that there are") {
  const metrics of;
  std::set<std::string> names, labels;
  for (const auto& each : of.read()) {
    names.insert(each.name);
    for (const auto& sample : each.samples) {
      for (const auto& label : sample.labels) labels.insert(label.value);
    }
  }
  for (const char* const file : {"/grafana-dashboard.json", "/alerts.yml", "/alerts_test.yml"}) {
    const auto text = text_of(std::string(DLOCK_TEST_MONITORING) + file);
    const auto found = metrics_in(text);
    CHECK(found.size() > 3);
    for (const auto& each : found) {
      INFO(file << ": " << each);
      CHECK(names.contains(each));
    }
    // event="a" and event=~"a|b", in YAML or escaped in JSON.
    for (std::size_t at = 0; (at = text.find("event=", at)) != std::string::npos;) {
      at += 6;
      while (text[at] == '~' || text[at] == '\\' || text[at] == '"') ++at;
      const auto end = text.find_first_of("\\\"", at);
      std::istringstream words(text.substr(at, end - at));
      for (std::string word; std::getline(words, word, '|');) {
        INFO(file << ": event " << word);
        CHECK(labels.contains(word));
      }
    }
  }
}

}  // namespace dlock::test
