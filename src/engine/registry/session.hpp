// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

#include "dlock/error.hpp"
#include "dlock/store_interface/id128.hpp"
#include "engine/machines/session_machine.hpp"
#include "engine/statements/statement.hpp"

namespace dlock::engine {

struct grant;
class session_pins;
class waker;

/// A session of this process, which keeps the leases of one ttl class.
struct session {
  session(session_pins& counts, const id128& named, std::chrono::microseconds lives, std::chrono::microseconds margin,
          instant sent)
      : pins(counts), id(named), ttl(lives), machine(lives, margin, sent), deadline(machine.deadline()) {}

  session_pins& pins;
  const id128 id;
  const std::chrono::microseconds ttl;
  // Guarded by the mutex of session_keeper:
  session_machine machine;
  grant* first = nullptr;    // grants under its id, of any kind: an intrusive list
  std::size_t users = 0;     // pins
  std::size_t in_doubt = 0;  // attempts without an outcome
  instant idle_since{};      // when it was noticed that the last user had left; the epoch while it has users
  bool over = false;         // retired, and never used again (rule 5)
  bool renewing = false;     // a renewal is in progress
  bool hurried = false;      // another renewal is needed right after that
  waker* renewer = nullptr;  // of the task that waits for the next renewal
  // Guarded by the mutex of background_work, once it is over:
  statement closing{};
  std::shared_ptr<session> next_closing{};
  // Its row stays until `earliest`, and until the holder of `notify_first` was notified, or until `not_before`.
  std::shared_ptr<grant> notify_first{};
  instant not_before{};
  instant earliest{};
  instant give_up{};
  // Any thread:
  trust deadline;
  std::atomic<loss_reason> why{loss_reason::none};  // set before the deadline is ended
  /// Deleting the row frees all keys of the session. That must not happen before others may take the key of a lost
  /// lease.
  void not_freed_before(instant when) noexcept {
    auto now = freed_from_.load();
    while (now < when && !freed_from_.compare_exchange_weak(now, when)) {
    }
  }
  instant freed_from() const noexcept { return freed_from_.load(); }

 private:
  std::atomic<instant> freed_from_{instant{}};
};

class session_pin;

/// Counts the pins of its sessions.
class session_pins {
 public:
  virtual void unpin(session& session) noexcept = 0;
  /// Returns an empty pin if the session is over, and `over` does not allow that.
  virtual session_pin pin_again(const std::shared_ptr<session>& session, bool over) noexcept = 0;

 protected:
  ~session_pins() = default;
};

/// Keeps a session in use while it lives. It may be empty.
class session_pin {
 public:
  session_pin() = default;
  /// `pinned` counts it already.
  explicit session_pin(std::shared_ptr<session> pinned) noexcept : session_(std::move(pinned)) {}
  session_pin(session_pin&& other) noexcept = default;
  session_pin& operator=(session_pin&& other) noexcept {
    session_pin before(std::move(*this));
    session_ = std::move(other.session_);
    return *this;
  }
  ~session_pin() {
    if (session_ != nullptr) session_->pins.unpin(*session_);
  }

  /// Another pin on the same session; empty if the session is over.
  session_pin again() const noexcept {
    return session_ == nullptr ? session_pin() : session_->pins.pin_again(session_, false);
  }
  /// Another pin even if the session is over, for a statement that names it.
  session_pin share() const noexcept { return session_->pins.pin_again(session_, true); }

  explicit operator bool() const noexcept { return session_ != nullptr; }
  session* operator->() const noexcept { return session_.get(); }
  const std::shared_ptr<session>& get() const noexcept { return session_; }

 private:
  std::shared_ptr<session> session_{};
};

}  // namespace dlock::engine
