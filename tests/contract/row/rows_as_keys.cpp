// SPDX-License-Identifier: BSL-1.0

/// The suites about keys, on rows: each key is the row with that text as its id, in one table of the application's.

#include "contract/row/row_contract.hpp"
#include "support/forwarding_store.hpp"

namespace dlock::test {

namespace {

/// The table, and what all stores on it know of its rows.
class keyed_rows {
 public:
  lock_key row_of(std::string_view key) const { return scene_.key({std::string(key)}); }
  /// Whether there was no such row.
  bool make(std::string_view key) {
    const std::lock_guard lock(mutex_);
    if (!made_.emplace(key).second) return false;
    scene_.make(std::string(key));
    return true;
  }
  /// The last attempt of a session at a row that was granted: for a release it names the grant beside the fence.
  std::uint64_t granted(const request& asked) {
    const std::lock_guard lock(mutex_);
    return nonces_[{asked.session, std::string(asked.resource)}];
  }
  void note(const request& asked) {
    const std::lock_guard lock(mutex_);
    nonces_[{asked.session, std::string(asked.resource)}] = asked.nonce;
  }
  row_fixture& fixture() const { return *scene_.fixture; }

 private:
  row_scene scene_{{.id = row_id_kind::text}};
  std::mutex mutex_{};
  std::set<std::string, std::less<>> made_{};
  std::map<std::pair<id128, std::string>, std::uint64_t> nonces_{};
};

/// Answers requests about keys by the rows. An insert makes the row and takes it.
class rows_store final : public forwarding_store, private store_admin {
 public:
  explicit rows_store(std::shared_ptr<keyed_rows> rows)
      : forwarding_store(rows->fixture().open()), rows_(std::move(rows)) {}

  const std::string& name() const noexcept override { return name_; }
  capabilities caps() const noexcept override {
    auto all = inner().caps();
    all.any_key = all.min_hold = all.passes_on = false;
    all.batch = rows_->fixture().locks_rows();  // a file has no round trips
    return all;
  }
  void prepare() override {}
  void execute(connection& by, std::span<const request> requests, std::span<reply> replies) noexcept override {
    std::deque<lock_key> rows;
    std::vector<request> sent;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i != requests.size(); ++i) {
      auto each = requests[i];
      replies[i] = {.result = outcome::no, .statements = 0};
      if (each.action == verb::insert && !rows_->make(each.resource)) continue;  // it is there
      if (each.action == verb::insert) each.action = verb::take;
      if (each.action == verb::release || each.action == verb::extend) each.nonce = rows_->granted(each);
      rows.push_back(rows_->row_of(each.resource));
      each.resource = rows.back().view();
      each.row = rows.back().row();
      sent.push_back(each);
      places.push_back(i);
    }
    if (sent.empty()) return;
    const auto answered = executed(inner(), by, sent);
    for (std::size_t i = 0; i != sent.size(); ++i) {
      replies[places[i]] = answered[i];
      if (answered[i].fence != 0) rows_->note(requests[places[i]]);
    }
  }
  store_admin* admin() noexcept override { return this; }

 private:
  reply inspect(connection& by, const request& key, std::vector<holder_info>& found) noexcept override {
    const auto row = rows_->row_of(key.resource);
    const auto before = found.size();
    auto answered = inner().admin()->inspect(by, {.row = row.row()}, found);
    for (auto i = before; i != found.size(); ++i) found[i].key = key.resource;
    return answered;
  }
  reply revoke(connection& by, const request& key) noexcept override {
    const auto row = rows_->row_of(key.resource);
    return inner().admin()->revoke(by, {.row = row.row()});
  }
  reply list(connection&, std::string_view, std::size_t, std::vector<holder_info>&) noexcept override { return {}; }
  reply cleanup(connection&, microseconds, std::size_t) noexcept override { return {}; }
  reply examine(connection& by, std::vector<store_finding>& found) noexcept override {
    return inner().admin()->examine(by, found);
  }

  const std::shared_ptr<keyed_rows> rows_;
  const std::string name_ = "rows of " + inner().name();
};

class rows_fixture final : public store_fixture {
 public:
  std::shared_ptr<store> open() override { return std::make_shared<rows_store>(rows_); }
  void pass(microseconds time) override { rows_->fixture().pass(time); }
  void stop_clock() override { rows_->fixture().stop_clock(); }
  environment& time() override { return rows_->fixture().time(); }
  bool may_be_contended() const override { return true; }

 private:
  const std::shared_ptr<keyed_rows> rows_ = std::make_shared<keyed_rows>();
};

}  // namespace

std::unique_ptr<store_fixture> make_store_fixture() { return std::make_unique<rows_fixture>(); }

}  // namespace dlock::test
