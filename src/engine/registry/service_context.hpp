// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/lock_settings.hpp"
#include "base/text.hpp"
#include "dlock/export.hpp"
#include "dlock/observer.hpp"
#include "dlock/service_options.hpp"
#include "dlock/store_interface/clock.hpp"
#include "dlock/store_interface/store.hpp"

namespace dlock::engine {

/// The text of an error with the name of its store, each once, without "dlock: ".
DLOCK_EXPORT std::string with_store_name(const std::string& store, std::string_view text);

/// The settings of one call, with nothing left open. A call without options shares the service's, which are known to be
/// valid, so that nothing is copied or checked again.
class call_settings {
 public:
  call_settings(const lock_options& given, const detail::lock_settings& of_service);
  call_settings(const call_settings&) = delete;
  call_settings& operator=(const call_settings&) = delete;

  operator const detail::lock_settings&() const noexcept { return *at_; }

 private:
  std::optional<detail::lock_settings> own_{};
  const detail::lock_settings* at_;
};

/// Takes the events of a thread that must not call the observer itself, because it would have to wait for it.
class event_sink {
 public:
  virtual void tell(const event& happened) noexcept = 0;

 protected:
  ~event_sink() = default;
};

/// The data that all parts of a service share: its options, its identity, and its counters. Nothing in here depends on
/// the parts.
class service_context {
 public:
  explicit service_context(service_options given);

  const service_options options;  ///< with defaults that leave nothing open
  const detail::lock_settings defaults;
  environment& time;
  const std::string host;
  const std::int64_t pid;

  /// The settings of a call with these options.
  call_settings settled(const lock_options& given) const { return {given, defaults}; }
  session_record record(const id128& id, microseconds ttl) const noexcept {
    return {.id = id, .ttl = ttl, .host = host, .pid = pid, .label = options.label};
  }
  /// The process as messages and marks name it.
  std::string who() const { return detail::describe_process(host, pid, options.label); }
  /// Names one attempt; never the same twice in a session. `promises`: see promises_to_look().
  std::uint64_t next_nonce(bool promises = false) noexcept {
    return nonces_.fetch_add(2, std::memory_order_relaxed) + (promises ? 1 : 0);
  }

  /// Counts the event and calls the observer on this thread; an exception of the observer is counted and dropped.
  void notify(const event& happened) noexcept {
    count_up(happened.what);
    if (options.observer != nullptr) deliver(happened);
  }
  /// The two halves of notify().
  void count_up(event::kind kind) noexcept {
    counts_[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  }
  DLOCK_EXPORT void deliver(const event& happened) noexcept;
  /// From now on the present thread's events go to that sink, or with null to the observer again.
  static void tell_through(event_sink* sink) noexcept;
  std::uint64_t count(event::kind kind) const noexcept { return counts_[static_cast<std::size_t>(kind)].load(); }

  /// Attempts at rows whose outcome no registry has yet.
  std::atomic<unsigned> row_attempts{0};

 private:
  std::atomic<std::uint64_t> nonces_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(event::kind::observer_failed) + 1> counts_{};
};

/// While it exists, the present thread runs code of the application for that service: a handler, a callback on a lost
/// token, an observer. That code can't wait for the end of the service, which waits for that code.
class application_code {
 public:
  explicit application_code(const service_context& of) noexcept;
  application_code(const application_code&) = delete;
  application_code& operator=(const application_code&) = delete;
  ~application_code();
  /// Whether the present thread runs code for that service.
  static bool runs_for(const service_context& of) noexcept;

 private:
  const service_context& of_;
  const application_code* const outer_;
};

/// Counts itself in service_context::row_attempts.
class row_attempt {
 public:
  row_attempt() = default;
  explicit row_attempt(service_context& in) noexcept : in_(&in) { ++in.row_attempts; }
  row_attempt(row_attempt&& from) noexcept : in_(std::exchange(from.in_, nullptr)) {}
  row_attempt& operator=(row_attempt&& from) noexcept {
    end();
    in_ = std::exchange(from.in_, nullptr);
    return *this;
  }
  ~row_attempt() { end(); }
  void end() noexcept {
    if (in_ != nullptr) --std::exchange(in_, nullptr)->row_attempts;
  }

 private:
  service_context* in_ = nullptr;
};

}  // namespace dlock::engine
