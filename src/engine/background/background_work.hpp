// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "base/mutex.hpp"
#include "engine/background/notifier.hpp"
#include "engine/background/session_keeper.hpp"
#include "engine/registry/grant.hpp"
#include "engine/statements/statement_executor.hpp"

namespace dlock::engine {

/// The result of a release.
enum class release_result : std::uint8_t {
  freed,  ///< the key is free, or an inner lease remains
  lost,   ///< the grant was not ours any more
  later,  ///< the store did not answer; the background tries again
};

/// Frees in the background what could not be freed at once: grants whose transaction has ended, lost grants, releases
/// without an answer, attempts of unknown outcome, and rows of sessions that are over. Each has a time for its next try
/// and an end of all tries. Tries that are due at the same time share a batch. It also keeps the lost grants until the
/// notifier takes them. Adding never fails. Thread safety: all functions may be called from any thread.
class background_work final : public statement_owner {
 public:
  /// How long a lost key waits at most for the notification of its holder before it is freed. In each case it waits for
  /// the margin, which is the time that the holder has to stop.
  static constexpr microseconds longest_notice = std::chrono::seconds{1};

  struct hooks {
    /// A release was answered by yes or no. Called under the lock.
    std::function<void(const grant&, const statement&, instant)> answered;
    /// A release whose result was not reported yet was answered, or takes too long. Called without a lock.
    std::function<void(const std::shared_ptr<grant>&, release_result, const fault&, instant)> released;
    /// open_releases() has become less. Called without a lock.
    std::function<void()> fewer;
    /// tick() must be called no later than then.
    std::function<void(instant)> sooner;
    /// Called after begin_end(), when nothing remains.
    std::function<void()> drained;
  };

  background_work(service_context& shared, statement_executor& statements, session_keeper& sessions, notifier& news,
                  hooks callbacks);

  /// Releases, before everything else, a grant whose last lease has ended, and whose transaction has ended too.
  void release_now(std::shared_ptr<grant> grant, instant now) noexcept;
  /// Releases a grant whose release was already reported without an answer, or that no caller ever got.
  void release_later(std::shared_ptr<grant> grant, instant now) noexcept;
  /// Releases a lost grant a margin after `lost_at`, once its holder was notified, or longest_notice after `lost_at` if
  /// a callback of the holder blocks.
  void release_lost(std::shared_ptr<grant> grant, instant now) noexcept;
  /// Has the notifier notify the holder of a lost grant.
  void notify_holder(std::shared_ptr<grant> lost) noexcept;
  /// Takes the next of those grants, for the notifier. null if there is none.
  std::shared_ptr<grant> next_lost() noexcept;
  /// Cancels an attempt of unknown outcome (rule 6). `doubt` is the connection that may still run it, or null if the
  /// attempt was answered. `lasting`: no end of a connection makes the cancellation certain, so it is repeated until
  /// `give_up`.
  void cancel_later(std::shared_ptr<grant> grant, std::shared_ptr<doubt> doubt, instant give_up, instant now,
                    bool lasting = false) noexcept;
  /// Deletes the row of a session that is over, from `earliest` on, once the holder of `notify_first` was notified, or
  /// from `not_before` on if a callback of that holder blocks.
  void close(const std::shared_ptr<session>& session, std::shared_ptr<grant> notify_first, instant earliest,
             instant not_before, instant give_up, instant now) noexcept;

  /// Whether it still has to free that attempt.
  bool has_attempt(const id128& session, std::uint64_t nonce) noexcept;
  /// The number of releases that have not ended.
  std::size_t open_releases() const noexcept { return releases_.load(); }

  /// Sends what is due. Returns when to call it again.
  instant tick(instant now) noexcept;
  /// Tries everything once more and ends, no later than at `until`. A key that must not be freed by then stays held
  /// until its expiry.
  void begin_end(instant now, instant until) noexcept;

 private:
  struct work {
    statement send{};
    std::shared_ptr<grant> about{};
    bool gone = false;  ///< the connection in doubt was gone before `send` was sent
  };
  static constexpr std::size_t most_at_once = 64;
  static constexpr std::size_t levels = 3;
  using lock_type = base::unique_lock;

  bool has_room() const noexcept DLOCK_REQUIRES(mutex_) { return under_way_ * 2 <= most_at_once; }

  /// When the margin of a lost grant has passed.
  instant margin_end(const grant& lost) const noexcept;
  instant time_of(const grant& lost) const noexcept DLOCK_REQUIRES(mutex_);
  instant time_of(const session& over) const noexcept DLOCK_REQUIRES(mutex_);
  /// Unlocks the mutex. Clang can't analyse it, because it does not know which mutex a lock that is passed in locks.
  void pump_and_tell(lock_type& lock, instant now) noexcept DLOCK_REQUIRES(mutex_) DLOCK_NO_THREAD_SAFETY_ANALYSIS;
  void answered(statement& statement) noexcept override;
  void closed(session& session, instant now) noexcept DLOCK_REQUIRES(mutex_);
  /// Whether the attempt has a final result, which it sets. Otherwise it must be tried again.
  static bool resolved(const work& done, release_result& result) noexcept;
  // These four unlock the mutex meanwhile.
  void finish(const std::shared_ptr<grant>& grant, release_result result, const fault& why, instant now) noexcept
      DLOCK_REQUIRES(mutex_);
  void try_again(const std::shared_ptr<grant>& grant, bool answered, const fault& why, instant now) noexcept
      DLOCK_REQUIRES(mutex_);
  void pump(instant now, grant_list<linked_by_deferral>& over) noexcept DLOCK_REQUIRES(mutex_);
  void check_drained() noexcept DLOCK_REQUIRES(mutex_);

  /// `left`: takes lost readers whose margin is over, and whose member others of this process go on with.
  std::shared_ptr<grant> next_due(instant now, grant_list<linked_by_deferral>& left) noexcept DLOCK_REQUIRES(mutex_);
  std::shared_ptr<session> next_closing(instant now) noexcept DLOCK_REQUIRES(mutex_);
  void prepare(work& into, instant now) noexcept DLOCK_REQUIRES(mutex_);
  instant next_time(instant now) const noexcept DLOCK_REQUIRES(mutex_);

  service_context& shared_;
  statement_executor& statements_;
  session_keeper& sessions_;
  notifier& news_;
  const hooks hooks_;
  std::atomic<std::size_t> releases_{0};
  mutable base::mutex mutex_;
  std::array<work, most_at_once> works_ DLOCK_GUARDED_BY(mutex_){};
  std::size_t under_way_ DLOCK_GUARDED_BY(mutex_) = 0;
  grant_list<linked_by_deferral> now_ DLOCK_GUARDED_BY(mutex_){};   // release_now
  grant_list<linked_by_deferral> lost_ DLOCK_GUARDED_BY(mutex_){};  // release_lost, first try; by margin_end()
  grant_list<linked_by_loss> unnotified_ DLOCK_GUARDED_BY(mutex_){};
  /// All entries of a level have the same pause, so the first entry is due first.
  std::array<grant_list<linked_by_deferral>, levels> retries_ DLOCK_GUARDED_BY(mutex_){};
  std::shared_ptr<session> closings_ DLOCK_GUARDED_BY(mutex_){};  // links through next_closing
  std::size_t closing_ DLOCK_GUARDED_BY(mutex_) = 0;              // of them under way
  instant hold_until_ DLOCK_GUARDED_BY(mutex_){};                 // nothing could be sent
  instant end_by_ DLOCK_GUARDED_BY(mutex_) = instant::max();
  bool ending_ DLOCK_GUARDED_BY(mutex_) = false;
};

}  // namespace dlock::engine
