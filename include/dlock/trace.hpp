// SPDX-License-Identifier: BSL-1.0
#pragma once

/// Spans and span events for a tracing system, with the names of OpenTelemetry's semantic conventions. dlock links no
/// tracing library: a trace_sink of yours passes them on.
///
///   dlock::lock_service locks{url, {.observer = dlock::make_trace_observer(sink, {.system = "mysql"})}};
///
/// | span           | kind     | from, to                        | status                                               |
/// |----------------|----------|---------------------------------|------------------------------------------------------|
/// | dlock.acquire  | client   | the call, its answer            | error if the database failed; busy is none           |
/// | dlock.hold     | internal | the grant, the end of the lease | error if the lease was lost                          |
///
/// | attribute              | of                       | value                                                       |
/// |------------------------|--------------------------|-------------------------------------------------------------|
/// | db.system.name         | all, if an option says it| "mysql", "mariadb", "sqlite", "redis", ...                  |
/// | server.address, .port  | likewise                 |                                                             |
/// | error.type             | a span that failed       | "acquire_failed", or the loss_reason: "renewal refused"     |
/// | dlock.key              | all about a key          | as printable() writes it                                    |
/// | dlock.fencing_token    | a grant's                |                                                             |
/// | dlock.result           | dlock.acquire            | "granted", "busy", "failed"                                 |
/// | dlock.taken_over       | dlock.acquire            | from a holder that died                                     |
///
/// Every other event is a span event "dlock.<kind>", such as dlock.renewal_late, with dlock.key and `message`.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "dlock/export.hpp"
#include "dlock/observer.hpp"

namespace DLOCK_EXPORT dlock {

struct trace_attribute {
  std::string_view name{};
  std::variant<std::string_view, std::int64_t, bool> value{};
};

/// What it refers to lives until the call returns.
struct trace_span {
  enum class kind { client, internal };

  std::string_view name{};
  kind what = kind::internal;
  std::chrono::system_clock::time_point begin{};
  std::chrono::system_clock::time_point end{};
  bool failed = false;  ///< status Error; otherwise Unset
  std::string_view description{};
  std::span<const trace_attribute> attributes{};
};

/// Exceptions count as event::kind::observer_failed.
/// Thread safety: called as observer::on() is. What a call did is reported on its thread, so the caller's span is the
/// current one there; what happened in the background has no such thread.
class trace_sink {
 public:
  virtual ~trace_sink() = default;
  /// A span that has ended.
  virtual void on_span(const trace_span& span) = 0;
  /// Something that took no time.
  virtual void on_event(std::string_view name, std::chrono::system_clock::time_point at,
                        std::span<const trace_attribute> attributes) = 0;
};

struct trace_options {
  std::string system{};    ///< db.system.name; empty if unknown
  std::string address{};   ///< server.address; empty if unknown
  std::int64_t port = 0;   ///< server.port; 0: none
  bool hash_keys = false;  ///< as that of spdlog_observer_options
  /// Only for tests: another clock. Default: the system's.
  std::function<std::chrono::system_clock::time_point()> now{};
};

/// Reports the spans and span events of this page to the sink.
/// Errors: std::invalid_argument, the sink is null.
/// Thread safety: any thread, if the sink is.
DLOCK_EXPORT std::shared_ptr<observer> make_trace_observer(std::shared_ptr<trace_sink> to, trace_options options = {});

}  // namespace dlock
