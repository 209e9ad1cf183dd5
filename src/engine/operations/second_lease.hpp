// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <memory>
#include <optional>

#include "engine/operations/extension.hpp"
#include "engine/operations/lock_request.hpp"

namespace dlock::engine {

/// A part of an operation: one lease more on what the same owner holds already.
class second_lease {
 public:
  second_lease(parts& with, const lock_request& asked) : with_(with), request_(asked) {}
  second_lease(const second_lease&) = delete;
  second_lease& operator=(const second_lease&) = delete;
  ~second_lease();

  enum class found : std::uint8_t {
    nothing,  ///< the owner does not hold the key, or by a lease that is out of the caller's reach: as for a stranger
    being_freed,  ///< it does not any more, but a transaction's outcome has left the key to be freed by the background
    entered,      ///< start() must follow
  };
  /// Throws lock_refused where the options, or the way in which the key is held, forbid to enter it again.
  found find(const lock_key& key, instant now);
  /// Finished: the lease is there. Throws lock_lost, store_error; std::invalid_argument for options that an inner lease
  /// can't have.
  action start(instant now);
  action resume(instant now);
  /// `first`: it is the only one.
  std::shared_ptr<grant> take(bool& first) noexcept;

 private:
  void refuse(grant& mine, instant now) const;
  void honour(instant now) const;
  action finish() noexcept;

  parts& with_;
  const lock_request& request_;
  std::shared_ptr<grant> held_{};
  bool first_ = false;
  std::optional<extension> extension_{};
  instant last_{};
};

}  // namespace dlock::engine
