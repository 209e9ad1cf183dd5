// SPDX-License-Identifier: BSL-1.0
#include "engine/registry/service_context.hpp"

#include <errno.h>
#include <unistd.h>

#include <cstring>

#include "base/option_fields.hpp"

namespace dlock::engine {

namespace {

std::string host_name() {
  std::array<char, 256> text{};
  if (::gethostname(text.data(), text.size() - 1) != 0) return "unknown";
  return text.data();
}

service_options completed(service_options options) {
  validate(options);
  options.defaults = as_options(detail::settled(options.defaults));
#ifdef _GNU_SOURCE
  if (options.label.empty()) options.label = std::string(::program_invocation_short_name).substr(0, 64);
#endif
  return options;
}

constinit thread_local event_sink* sink_here = nullptr;
constinit thread_local const application_code* application_code_here = nullptr;

std::uint64_t first_nonce() {
  std::uint64_t bits = 0;
  std::memcpy(&bits, id128::random().bytes.data(), sizeof bits);
  // Leaves room to count up within the 48 bits that the owner's text of a row has for it. The numbers are even.
  return bits >> 17U & ~std::uint64_t{1};
}

}  // namespace

call_settings::call_settings(const lock_options& given, const detail::lock_settings& of_service) : at_(&of_service) {
  if (detail::gives_any(given)) at_ = &own_.emplace(detail::settled(given, of_service));
}

service_context::service_context(service_options given)
    : options(completed(std::move(given))),
      defaults(detail::settled(options.defaults)),
      time(options.time != nullptr ? *options.time : system_time()),
      host(host_name()),
      pid(::getpid()),
      nonces_(first_nonce()) {}

application_code::application_code(const service_context& of) noexcept
    : of_(of), outer_(std::exchange(application_code_here, this)) {}

application_code::~application_code() { application_code_here = outer_; }

bool application_code::runs_for(const service_context& of) noexcept {
  const auto* at = application_code_here;
  while (at != nullptr && &at->of_ != &of) at = at->outer_;
  return at != nullptr;
}

std::string with_store_name(const std::string& store, std::string_view text) {
  if (text.starts_with("dlock: ")) text.remove_prefix(7);
  // The text of an error about a file contains its path.
  const auto file = store.substr(0, store.find('?')).substr(store.find(':') + 1);
  const bool named = text.find(store) != std::string_view::npos ||
                     (!file.empty() && !file.starts_with("//") && text.find(file + "'") != std::string_view::npos);
  return named ? std::string(text) : store + ": " + std::string(text);
}

void service_context::tell_through(event_sink* sink) noexcept { sink_here = sink; }

void service_context::deliver(const event& happened) noexcept {
  if (options.observer == nullptr) return;
  if (sink_here != nullptr) return sink_here->tell(happened);
  const application_code here(*this);
  try {
    options.observer->on(happened);
  } catch (...) {
    // The contract of observer: its failures change nothing; lock_service::count() shows them.
    count_up(event::kind::observer_failed);
  }
}

}  // namespace dlock::engine
