// SPDX-License-Identifier: GPL-2.0-or-later
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/context.hpp"
#include "engine/keeper.hpp"

namespace dlock::detail {

/// A statement that must still be answered: kept until it is, or until it no longer matters.
struct chore {
  enum class kind {
    release,  ///< by session and fence
    cancel,   ///< an attempt of unknown outcome, by session and nonce (rule 6)
    close,    ///< delete a session row that nobody uses any more
    let_go,   ///< release a grant whose last lease ended inside a transaction which has its outcome now
  };
  kind what{};
  std::shared_ptr<session> by{};
  std::shared_ptr<grant> of{};  ///< let_go
  std::optional<lock_key> key{};
  std::uint64_t nonce = 0;
  std::uint64_t fence = 0;
  microseconds min_hold{0};
  connection_identity lost{};       ///< cancel: the connection that may still run the attempt
  bool settled = false;             ///< cancel: that connection is gone for sure
  bool lasting = false;             ///< cancel: that can't be known; it is tried until give_up
  bool kept = true;                 ///< cancel: what the attempt asked for
  bool ghost = true;                ///< cancel: counted by keeper::haunted()
  instant give_up{};                ///< after that the server's own expiry has done the work
  instant held_back{};              ///< not before: so long nobody else is to get the key
  std::shared_ptr<grant> untold{};  ///< nor before the holder of this one has been told that it is lost, ...
  instant told_by{};                ///< ... or until then, should a callback of somebody else's block the herald
  instant again{};                  ///< tried in vain; the next time not before

  /// The statement about its key: release by session and fence, cancel by session and nonce.
  request ask(verb with) const noexcept {
    return {.action = with,
            .resource = key->view(),
            .session = by->id,
            .row = key->row(),
            .nonce = nonce,
            .fence = fence,
            .min_hold = min_hold};
  }
};

/// Does chores in the background, each again a beat after it failed, and cleans the tables up now and then (rule 11).
/// Never on the keeper's thread or connection.
class chores {
 public:
  using releases = std::function<void(const std::shared_ptr<grant>&)>;

  chores(context& shared, keeper& sessions, herald& news, releases let_go)
      : shared_(shared), sessions_(sessions), news_(news), let_go_(std::move(let_go)) {}

  /// False: too late, run() has ended.
  bool add(chore one);
  /// The same without memory: one that was made before.
  bool add(std::list<chore>& made) noexcept;
  /// Something that a chore waits for has happened.
  void wake() noexcept;
  /// One try, on the calling thread, within `limit`. True: nothing remains to be done.
  bool attempt(chore& one, microseconds limit) { return attempt(one, limit, nullptr); }

  void run();
  /// Waits until all releases are done that are known now, or until then.
  void wait_released(instant until);
  /// Ends run() after one more, bounded round over what is left.
  void stop() noexcept;

 private:
  bool attempt(chore& one, microseconds limit, bool* unreachable);
  bool attempt_or_later(chore& one, microseconds limit, bool* unreachable) noexcept;
  bool cancel(chore& one, connection& on);
  static instant due(const chore& one);
  instant next_due() const;  // under the mutex
  void round(bool last);
  void end();
  void given_up(const chore& one) noexcept;
  void sweep(instant now);
  reply send_sweep(connection& on);

  context& shared_;
  keeper& sessions_;
  herald& news_;
  const releases let_go_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable rounds_;  // one has ended
  std::list<chore> waiting_;
  std::size_t in_round_ = 0;        // releases that a round has taken out of waiting_
  std::atomic<bool> stop_{false};   // set under the mutex
  bool over_ = false;               // run() has ended
  connection* sweeping_ = nullptr;  // guarded by mutex_: in the middle of a sweep
  // The thread's own:
  instant next_sweep_{};
  instant tell_swept_{};  // not before, unless there is nothing more to sweep
  std::uint64_t swept_ = 0;
};

}  // namespace dlock::detail
