// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>

#include "engine/operations/extension.hpp"

namespace dlock::engine {

/// The result of acquiring one key.
struct acquired {
  std::shared_ptr<grant> held{};  ///< null if the key was busy until the end of the wait
  bool entered_again = false;     ///< the owner held the key before, and this is a further lease
  bool first = false;             ///< the place of this lease on the stack decides which calls may enter again
  std::string why_busy{};         ///< if it was busy: the text for lock_timeout
};

/// A part of an operation: makes a further lease on what the same owner holds already.
class reentry_attempt {
 public:
  /// `asked` must outlive it.
  reentry_attempt(engine_services& services, const detail::lock_settings& asked) noexcept
      : services_(services), terms_(asked) {}
  reentry_attempt(const reentry_attempt&) = delete;
  reentry_attempt& operator=(const reentry_attempt&) = delete;
  ~reentry_attempt();

  enum class found : std::uint8_t {
    nothing,      ///< the owner does not hold the key, or by a lease that is out of the caller's reach: as for another
                  ///< owner
    being_freed,  ///< it does not any more, but a transaction's outcome has left the key to be freed by the background
    entered,      ///< enter() must follow, then take()
  };
  /// Throws lock_refused if the options, or the way in which the key is held, forbid to enter it again. `named`: the
  /// program named the owner.
  found find(const owner_state& owner, bool named, const lock_key& key, instant now);
  /// Throws lock_lost, store_error; std::invalid_argument for options that an inner lease can't have.
  task<void> enter(flow& f);
  acquired take() noexcept;

  // The steps of enter(), for a caller that needs no frame as long as nothing is to be sent.
  /// Whether extend() must follow. Throws lock_lost, std::invalid_argument.
  bool check(instant now);
  task<void> extend(flow& f);

 private:
  void refuse(grant& mine, instant now) const;
  void honour(instant now) const;

  engine_services& services_;
  const detail::lock_settings& terms_;
  std::shared_ptr<grant> held_{};
  bool first_ = false;
  instant last_{};
};

}  // namespace dlock::engine
