// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace dlock::simulation {

/// What stands for a thread: a function on a stack of its own, with thread_local variables of its own. All fibres run
/// on one thread of the system, one at a time, until they give way.
class fibre {
 public:
  explicit fibre(std::function<void()> body);
  fibre(const fibre&) = delete;
  fibre& operator=(const fibre&) = delete;
  /// One that is not over is left as it is: its stack, and what is on it, is lost.
  ~fibre();

  /// Runs it until it gives way or is over. Not from inside a fibre.
  void resume();
  /// The present one gives way. Precondition: there is one.
  static void give_way();
  /// Null outside of fibres.
  static fibre* current() noexcept;
  bool over() const noexcept { return over_; }
  /// The lowest address of its stack, and how many bytes that has.
  const std::pair<void*, std::size_t>& stack() const noexcept { return stack_; }

 private:
  /// What the language's runtime keeps for a thread that is in the midst of an exception.
  struct exceptions {
    void* caught = nullptr;
    unsigned uncaught = 0;
  };
  void swap_thread_state();

  std::function<void()> body_;
  std::vector<std::uint64_t> locals_;
  exceptions exceptions_{};
  std::pair<void*, std::size_t> stack_{};
  boost::context::fiber mine_{};
  boost::context::fiber back_{};
  bool over_ = false;
};

class random_source;

/// While a run is under way, what the system gives is decided by its seed: random bytes (ids of sessions, nonces) come
/// from there. And nobody else is there, so a mutex costs nothing. Null: the run is over.
void bytes_come_from(random_source* source) noexcept;

}  // namespace dlock::simulation
