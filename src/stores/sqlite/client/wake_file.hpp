// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.hpp"
#include "dlock/store_interface/id128.hpp"
#include "dlock/store_interface/store.hpp"
#include "stores/sqlite/client/file.hpp"

namespace dlock::stores::sqlite {

/// The file `<database>-wake`, by which processes of one machine wake each other. A slot belongs to one store object
/// that waits: a futex word on which it sleeps, and the hashes of the keys that it waits for, each with the locks that
/// its threads hold meanwhile. A lock of the open file on a byte proves that the slot is in use; the kernel drops it
/// when the process dies, so nothing needs cleaning up. Wrong content of the file can only cause a wake-up too many or
/// too few, another order, or a missed deadlock cycle.
///
/// The process reads and writes the file by pread() and pwrite(), and only the kernel uses the mapping, for futex
/// calls: a truncated file gives an error and never SIGBUS. Nothing else needs to be atomic: each field has one writer,
/// except for words and rings, where any new value will do.
///
/// Thread safety: slot functions are called by one thread at a time, the others by any.
class wake_file {
 public:
  static constexpr std::size_t slots = 256;        ///< the most store objects that wait at one time
  static constexpr std::size_t keys_of_slot = 64;  ///< the most keys that one of them waits for at one time
  static constexpr std::size_t held_of_key = 8;    ///< the most locks that are held while it waits for a key
  using hash = std::uint64_t;                      ///< of a key; never 0

  /// Opens nothing. `database` is the path of the database.
  explicit wake_file(std::string database) : database_(std::move(database)) {}
  wake_file(const wake_file&) = delete;
  wake_file& operator=(const wake_file&) = delete;

  class opened;
  /// Opens the file that the path leads to now, or at most `recent` ago. `create`: makes a missing file, with the
  /// rights of the database. Returns null if it does not exist, or can't be used for the reason in `why`.
  std::shared_ptr<opened> open(bool create, std::string& why);

  static constexpr std::chrono::seconds recent{1};

 private:
  bool is_present(bool create, std::chrono::steady_clock::time_point now) DLOCK_REQUIRES(mutex_);

  const std::string database_;
  base::mutex mutex_{};
  std::shared_ptr<opened> file_ DLOCK_GUARDED_BY(mutex_){};
  std::string real_path_ DLOCK_GUARDED_BY(mutex_){};
  std::chrono::steady_clock::time_point seen_at_ DLOCK_GUARDED_BY(mutex_){};
};

/// One opening of the file. A child of fork() has neither its descriptor nor its mapping, so each function does nothing
/// there.
class wake_file::opened {
 public:
  ~opened();
  opened(const opened&) = delete;
  opened& operator=(const opened&) = delete;

  // These throw std::bad_alloc.
  /// Notifies the first waiter for the key, in the order of their entries, that the key may be free. If it has not
  /// noticed an earlier ring, its process may be stopped, so the next one is notified too.
  enum class rung : std::uint8_t { none, own, other };
  rung ring(hash key) const;
  /// Whether a living process has entered the key.
  bool anyone(hash key) const;
  /// Rings the first living process that has entered the key after this one.
  void ring_behind(hash key) const;
  /// Of the living processes that have entered the key before this one (if `registered`, before its entry, otherwise at
  /// all): the time at which the first of them did so. 0 if there is none. `rings`: notifies it that the key may be
  /// free.
  std::int64_t first_other(hash key, bool registered, bool rings) const;
  /// The waiter that entered the key at that time is not rung any more, and nobody leaves the key to it, until its
  /// process notices that.
  void pass_over(hash key, std::int64_t since) const;
  /// How many living processes have entered the key before this one, and whether the first of them has not noticed a
  /// ring.
  struct waiters_ahead {
    unsigned count = 0;
    bool deaf = false;
  };
  waiters_ahead ahead(hash key) const;
  /// Notifies the first waiter of each key.
  void ring_all() const;
  struct waiter {
    hash key = 0;
    id128 session{};
    std::chrono::nanoseconds waited{0};
  };
  /// All living waiters, in the order of their entries.
  std::vector<waiter> waiters() const;
  /// A lock that a waiting thread holds.
  struct held_lock {
    hash key = 0;
    std::uint64_t number = 0;  ///< the fence, or the nonce of a row
    id128 session{};
    std::int64_t until = 0;  ///< by CLOCK_BOOTTIME, in us: the latest end of the wait

    friend bool operator==(const held_lock&, const held_lock&) noexcept = default;
  };
  struct nested_waiter {
    std::size_t slot = 0;
    hash key = 0;
    std::string name{};      ///< of the key, as the file has it, unchecked
    std::int64_t since = 0;  ///< by CLOCK_BOOTTIME, in ns: when it wrote what it holds
    row_grant row{};         ///< as in held_meanwhile
    std::vector<held_lock> held{};
  };
  /// The living waiters that hold locks.
  std::vector<nested_waiter> nested_waiters() const;

  // ---- the slot of this object
  bool claim_slot() noexcept;
  void leave_slot() noexcept;
  int slot() const noexcept { return slot_.load(); }  ///< -1 if there is none
  /// Returns the index of the entry, or -1 if the slot is full or the file can't be written.
  int enter(hash key, const id128& session) noexcept;
  /// Writes the locks that threads hold while they wait for the key of that entry, which has that name; at most
  /// held_of_key of them.
  void set_held(int entry, std::string_view name, std::span<const held_lock> held, const row_grant& row = {}) noexcept;
  /// Removes the entry. Returns whether it was rung since, perhaps for this key.
  bool leave(int entry) noexcept;
  /// Whether it was rung since the last call.
  bool was_rung(int entry) const noexcept;
  /// Whether the entry is still there.
  bool stands(int entry, hash key) const noexcept;
  /// Reads the word that sleep() compares. Returns false if the file can't be read.
  bool word(std::uint32_t& now) const noexcept;
  /// Sleeps until the word differs from `seen`, or for `at_most`. Returns false if the file has changed.
  bool sleep(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept;
  /// Makes the object of that slot do everything that it does after a sleep. Returns false if the file can't be
  /// written, so that a sleep that is about to begin does not end.
  bool wake(std::size_t slot) const noexcept;
  /// Wakes the own slot, if there is one.
  bool wake_self() const noexcept;

 private:
  friend class wake_file;
  struct descriptor;
  struct candidate;
  opened() = default;

  bool read(std::size_t at, void* to, std::size_t size) const noexcept;
  bool write(std::size_t at, const void* from, std::size_t size) const noexcept;
  template <class T>
  bool get(std::size_t at, T& to) const noexcept {
    return read(at, &to, sizeof to);
  }
  template <class T>
  bool put(std::size_t at, const T& from) const noexcept {
    return write(at, &from, sizeof from);
  }
  std::size_t own_slot() const noexcept { return static_cast<std::size_t>(slot_.load()); }
  std::size_t own_entry(int entry) const noexcept;
  bool set_used(std::size_t slot, std::uint32_t used) noexcept;
  bool in_use(std::size_t slot) const noexcept;
  enum class ring_result : std::uint8_t { gone, rung, rung_again };
  ring_result ring(const candidate& one) const noexcept;
  std::vector<candidate> candidates(hash key) const;

  descriptor* descriptor_ = nullptr;
  unsigned char* page_ = nullptr;  // only the kernel reads it
  file_id id_{};
  std::atomic<int> slot_{-1};
  std::uint32_t used_ = 0;   // entries below this number may be in use
  std::uint64_t taken_ = 0;  // a bit for each entry
};

}  // namespace dlock::stores::sqlite
