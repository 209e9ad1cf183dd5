// SPDX-License-Identifier: BSL-1.0
#include "dlock/trace.hpp"

#include <stdexcept>
#include <utility>
#include <vector>

#include "observers/event_details.hpp"

namespace dlock {

namespace {

using kind = event::kind;

class trace_observer final : public observer {
 public:
  trace_observer(std::shared_ptr<trace_sink> to, trace_options options)
      : to_(std::move(to)), options_(std::move(options)) {}

  void on(const event& event) override {
    const auto now = options_.now ? options_.now() : std::chrono::system_clock::now();
    const detail::shown_texts shown(event, options_.hash_keys);
    const std::string key = detail::printable_text(shown.key);
    std::vector<trace_attribute> attributes;
    if (!options_.system.empty()) attributes.push_back({"db.system.name", std::string_view(options_.system)});
    if (!options_.address.empty()) attributes.push_back({"server.address", std::string_view(options_.address)});
    if (options_.port != 0) attributes.push_back({"server.port", options_.port});
    if (!key.empty()) attributes.push_back({"dlock.key", std::string_view(key)});
    if (event.fence != 0) attributes.push_back({"dlock.fencing_token", static_cast<std::int64_t>(event.fence)});
    switch (event.what) {
      case kind::granted:
        attributes.push_back({"dlock.taken_over", event.taken_over});
        return tell_acquire(event, shown.text, "granted", now, attributes);
      case kind::busy: return tell_acquire(event, shown.text, "busy", now, attributes);
      case kind::acquire_failed:
        attributes.push_back({"error.type", to_string(event.what)});
        return tell_acquire(event, shown.text, "failed", now, attributes);
      case kind::released: return tell_hold(event, now, attributes);
      case kind::lost:
        attributes.push_back({"error.type", to_string(event.reason)});
        return tell_hold(event, now, attributes);
      default: break;
    }
    if (event.reason != loss_reason::none) attributes.push_back({"error.type", to_string(event.reason)});
    if (!event.text.empty()) attributes.push_back({"message", std::string_view(shown.text)});
    to_->on_event("dlock." + std::string(to_string(event.what)), now, attributes);
  }

 private:
  using time_point = std::chrono::system_clock::time_point;

  static time_point before(time_point now, std::chrono::microseconds time) {
    return now - std::chrono::duration_cast<time_point::duration>(time);
  }

  void tell_acquire(const event& event, std::string_view text, std::string_view result, time_point now,
                    std::vector<trace_attribute>& attributes) {
    attributes.push_back({"dlock.result", result});
    to_->on_span({.name = "dlock.acquire",
                  .what = trace_span::kind::client,
                  .begin = before(now, event.waited),
                  .end = now,
                  .failed = event.what == kind::acquire_failed,
                  .description = text,
                  .attributes = attributes});
  }

  void tell_hold(const event& event, time_point now, const std::vector<trace_attribute>& attributes) {
    const bool lost = event.what == kind::lost;
    to_->on_span({.name = "dlock.hold",
                  .begin = before(now, event.held),
                  .end = now,
                  .failed = lost,
                  .description = lost ? to_string(event.reason) : std::string_view{},
                  .attributes = attributes});
  }

  const std::shared_ptr<trace_sink> to_;
  const trace_options options_;
};

}  // namespace

std::shared_ptr<observer> make_trace_observer(std::shared_ptr<trace_sink> to, trace_options options) {
  if (to == nullptr) throw std::invalid_argument("dlock: make_trace_observer: the sink is null");
  return std::make_shared<trace_observer>(std::move(to), std::move(options));
}

}  // namespace dlock
