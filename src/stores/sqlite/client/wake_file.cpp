// SPDX-License-Identifier: BSL-1.0
#include "stores/sqlite/client/wake_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <set>
#include <system_error>
#include <tuple>
#include <type_traits>

#include "stores/sqlite/client/errors.hpp"

namespace dlock::stores::sqlite {

namespace {

struct file_header {
  char magic[8];
  std::uint32_t version;
  std::uint32_t slots;
  std::uint32_t keys;
  std::uint32_t zero[11];

  friend bool operator==(const file_header& a, const file_header& b) noexcept {
    return std::memcmp(&a, &b, sizeof(file_header)) == 0;
  }
};

struct slot_head {
  std::uint32_t word;  ///< a futex
  std::uint32_t used;  ///< the entries below this number may be in use
};

struct file_table {
  file_header header;
  std::array<slot_head, wake_file::slots> heads;
};

struct file_entry {
  wake_file::hash key;   ///< 0 if free
  std::int64_t since;    ///< by CLOCK_BOOTTIME, in ns; defines the order
  std::uint32_t rung;    ///< fresh_ring or passed_over until the waiter notices it
  std::uint32_t nested;  ///< not 0 if waiting threads hold locks, see file_nested
  unsigned char session[16];
};

constexpr std::uint32_t fresh_ring = 1;
constexpr std::uint32_t seen_ring = 2;
constexpr std::uint32_t passed_over = 3;

using entries = std::array<file_entry, wake_file::keys_of_slot>;

struct file_nested {
  std::int64_t since;  ///< by CLOCK_BOOTTIME, in ns
  std::uint32_t held_count;
  std::uint32_t name_size;
  char name[256];  ///< of the key that they wait for
  row_grant row;   ///< the row's grant, if it is a row
  std::array<wake_file::opened::held_lock, wake_file::held_of_key> held;
};

constexpr file_header expected{
    {'d', 'l', 'o', 'c', 'k', 'w', 'a', 'k'}, 2, wake_file::slots, wake_file::keys_of_slot, {}};
constexpr std::size_t page = 4096;
constexpr std::size_t nested_after = page + wake_file::slots * sizeof(entries);
constexpr std::size_t file_size = nested_after + wake_file::slots * wake_file::keys_of_slot * sizeof(file_nested);
constexpr off_t locks_at = 1 << 30;  // bytes behind the end of the file, one for each slot
static_assert(std::is_trivially_copyable_v<file_table> && sizeof(file_table) <= page && sizeof(file_entry) == 40);
static_assert(std::is_trivially_copyable_v<file_nested> && sizeof(file_nested) == 616);
static_assert(wake_file::keys_of_slot == 64, "opened::taken_ has a bit for each");

constexpr std::size_t head_at(std::size_t slot) noexcept {
  return offsetof(file_table, heads) + slot * sizeof(slot_head);
}
constexpr std::size_t entry_at(std::size_t slot, std::size_t entry) noexcept {
  return page + slot * sizeof(entries) + entry * sizeof(file_entry);
}
constexpr std::size_t nested_at(std::size_t slot, std::size_t entry) noexcept {
  return nested_after + (slot * wake_file::keys_of_slot + entry) * sizeof(file_nested);
}

std::int64_t boot_time() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

/// The lock on the byte of a slot. Locks of the open file, unlike those of the process, end with this very descriptor.
struct ::flock byte_of(std::size_t slot, short kind) noexcept {
  struct ::flock range {};
  range.l_type = kind;
  range.l_whence = SEEK_SET;
  range.l_start = locks_at + static_cast<off_t>(slot);
  range.l_len = 1;
  return range;
}

bool try_lock(int descriptor, std::size_t slot, short kind) noexcept {
  auto range = byte_of(slot, kind);
  return ::fcntl(descriptor, F_OFD_SETLK, &range) == 0;
}

bool is_locked_by_another(int descriptor, std::size_t slot) noexcept {
  auto range = byte_of(slot, F_WRLCK);
  return ::fcntl(descriptor, F_OFD_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

/// Returns 0, or errno. Not a private futex, because processes share the word.
int futex(unsigned char* word, int action, std::uint32_t value, const timespec* limit) noexcept {
  return ::syscall(SYS_futex, word, action, value, limit, nullptr, 0) < 0 ? errno : 0;
}

std::string text_of(int error) { return std::generic_category().message(error); }

}  // namespace

// ---- descriptors and fork() -----------------------------------------------------------------------------------------

/// A child of fork() shares the open file, and with it the lock on the slot: if it kept its descriptor, a dead parent
/// would look alive. So each child closes it, using a list that only grows and has no mutex.
struct wake_file::opened::descriptor {
  std::atomic<int> number{-1};
  std::atomic<bool> used{false};
  descriptor* next = nullptr;

  static constinit std::atomic<descriptor*> newest;
  /// Locked while a file is opened, and during a fork, because a child would keep a descriptor that is not in the list.
  static constinit std::mutex opening;

  static descriptor& add(int number) {
    auto* each = newest.load();
    while (each != nullptr && each->used.exchange(true)) each = each->next;
    if (each == nullptr) {
      each = new descriptor;
      each->used = true;
      each->next = newest.load();
      while (!newest.compare_exchange_weak(each->next, each)) continue;
    }
    each->number = number;
    return *each;
  }
  static void before_fork() noexcept { opening.lock(); }
  static void after_fork() noexcept { opening.unlock(); }
  static void close_in_child() noexcept {
    opening.unlock();
    for (auto* each = newest.load(); each != nullptr; each = each->next) {
      if (const int open = each->number.exchange(-1); open >= 0) ::close(open);
    }
  }
};

constinit std::atomic<wake_file::opened::descriptor*> wake_file::opened::descriptor::newest{nullptr};
constinit std::mutex wake_file::opened::descriptor::opening{};

wake_file::opened::~opened() {
  if (descriptor_ == nullptr) return;
  const int number = descriptor_->number.exchange(-1);
  descriptor_->used = false;
  if (number < 0) return;  // in a child, which does not have its parent's mapping
  if (page_ != nullptr) ::munmap(page_, page);
  ::close(number);
}

namespace {

/// Returns -1 and sets errno on failure. `create`: makes a missing file, with the rights of the database.
int open_beside(const std::string& database, const std::string& path, bool create) noexcept {
  constexpr int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW;
  const int there = ::open(path.c_str(), flags);
  if (there >= 0 || errno != ENOENT || !create) return there;
  struct ::stat found {};
  const bool known = ::stat(database.c_str(), &found) == 0;
  const mode_t rights = known ? found.st_mode & 0666 : 0600;
  // A file that another program makes at this moment keeps its rights and its owner.
  const int made = ::open(path.c_str(), flags | O_CREAT | O_EXCL, rights);
  if (made < 0 && errno == EEXIST) return ::open(path.c_str(), flags);
  if (made < 0 || !known) return made;
  static_cast<void>(::fchmod(made, rights));  // so that users of the database may use it
  // Root gives it to the owner of the database, as SQLite does with its files.
  if (::geteuid() != 0 || ::fchown(made, found.st_uid, found.st_gid) == 0) return made;
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

}  // namespace

/// Whether the path still leads to the same file.
bool wake_file::is_present(bool create, std::chrono::steady_clock::time_point now) {
  file_header header{};
  if (create && (!file_->get(0, header) || header != expected)) return false;
  const bool recently = now - seen_at_ < recent;
  if (!recently || create) {
    if (file_id::of(real_path_.c_str()) != file_->id_) return false;
  }
  if (!recently) seen_at_ = now;
  return true;
}

std::shared_ptr<wake_file::opened> wake_file::open(bool create, std::string& why) {
  static const int unprepared = ::pthread_atfork(opened::descriptor::before_fork, opened::descriptor::after_fork,
                                                 opened::descriptor::close_in_child);
  const base::lock_guard lock(mutex_);
  why.clear();
  if (unprepared != 0) {
    why = text_of(unprepared);
    return nullptr;
  }
  const auto now = std::chrono::steady_clock::now();
  if (file_ != nullptr && is_present(create, now)) return file_;
  file_.reset();
  if (real_path_.empty()) real_path_ = behind_links(database_) + "-wake";
  const auto unfit = [&why, at = real_path_](const std::string& text) {
    why = fmt::format("'{}': {}", at, text);
    return nullptr;
  };
  std::shared_ptr<opened> made(new opened);
  int number = -1;
  {
    const std::lock_guard no_fork(opened::descriptor::opening);
    number = open_beside(database_, real_path_, create);
    if (number >= 0) made->descriptor_ = &opened::descriptor::add(number);
  }
  if (number < 0) return errno == ENOENT && !create ? nullptr : unfit(text_of(errno));
  struct ::stat there {};
  if (::fstat(number, &there) != 0) return unfit(text_of(errno));
  if (!S_ISREG(there.st_mode)) return unfit("no regular file");
  made->id_ = file_id::of(there);
  file_header header{};
  bool complete = made->get(0, header);
  // The file is new, or was truncated. All processes write the same header, so several may do it.
  if (create && (there.st_size == 0 || (complete && header == file_header{}))) {
    if (!made->put(0, expected)) return unfit(text_of(errno));
    complete = made->get(0, header);
  }
  if (!complete) return create ? unfit("cut short") : nullptr;
  if (header == file_header{}) return nullptr;
  if (header != expected) return unfit("not made by this version of dlock");
  if (there.st_size < static_cast<off_t>(file_size) && create &&
      ::ftruncate(number, static_cast<off_t>(file_size)) != 0) {
    return unfit(text_of(errno));
  }
  // A mapping keeps its open file, and its locks, alive, so it is made from another opening without locks.
  const int mapped = open_beside(database_, real_path_, false);
  if (mapped < 0) return unfit(text_of(errno));
  struct ::stat same {};
  void* at = MAP_FAILED;
  if (::fstat(mapped, &same) == 0 && file_id::of(same) == made->id_) {
    at = ::mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_SHARED, mapped, 0);
  }
  const int error = errno;
  ::close(mapped);
  if (at == MAP_FAILED) return unfit(text_of(error));
  static_cast<void>(::madvise(at, page, MADV_DONTFORK));
  made->page_ = static_cast<unsigned char*>(at);
  file_ = std::move(made);
  seen_at_ = now;
  return file_;
}

// ---- reading and writing --------------------------------------------------------------------------------------------

bool wake_file::opened::read(std::size_t at, void* to, std::size_t size) const noexcept {
  return ::pread(descriptor_->number, to, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

bool wake_file::opened::write(std::size_t at, const void* from, std::size_t size) const noexcept {
  return ::pwrite(descriptor_->number, from, size, static_cast<off_t>(at)) == static_cast<ssize_t>(size);
}

std::size_t wake_file::opened::own_entry(int entry) const noexcept {
  return entry_at(own_slot(), static_cast<std::size_t>(entry));
}

bool wake_file::opened::set_used(std::size_t slot, std::uint32_t used) noexcept {
  const bool written = put(head_at(slot) + offsetof(slot_head, used), used);
  if (written) used_ = used;
  return written;
}

// ---- waking ---------------------------------------------------------------------------------------------------------

struct wake_file::opened::candidate {
  hash key = 0;
  std::int64_t since = 0;
  std::size_t slot = 0, entry = 0;
  id128 session{};
  bool nested = false;
  std::uint32_t rung = 0;
  bool own = false;

  bool before(const candidate& other) const noexcept {
    return std::tie(since, slot, entry) < std::tie(other.since, other.slot, other.entry);
  }

  bool lives(const opened& file) const noexcept { return rung != passed_over && file.in_use(slot); }
};

/// The entries of the key (0: of all keys) in their order, also of dead processes.
std::vector<wake_file::opened::candidate> wake_file::opened::candidates(hash key) const {
  std::vector<candidate> found;
  file_table table;
  if (!get(0, table) || table.header != expected) return found;
  entries all;
  for (std::size_t slot = 0; slot != slots; ++slot) {
    const auto used = std::min<std::size_t>(table.heads[slot].used, keys_of_slot);
    if (used == 0 || !read(entry_at(slot, 0), all.data(), used * sizeof(file_entry))) continue;
    for (std::size_t entry = 0; entry != used; ++entry) {
      const auto& there = all[entry];
      if (there.key == 0 || (key != 0 && there.key != key)) continue;
      auto& one = found.emplace_back(candidate{there.key,
                                               there.since,
                                               slot,
                                               entry,
                                               {},
                                               there.nested != 0,
                                               there.rung,
                                               static_cast<int>(slot) == slot_.load()});
      std::memcpy(&one.session, there.session, sizeof one.session);
    }
  }
  std::sort(found.begin(), found.end(), [](const candidate& a, const candidate& b) { return a.before(b); });
  return found;
}

bool wake_file::opened::in_use(std::size_t slot) const noexcept {
  return static_cast<int>(slot) == slot_.load() || is_locked_by_another(descriptor_->number, slot);
}

bool wake_file::opened::wake(std::size_t slot) const noexcept {
  std::uint32_t before = 0;
  static_cast<void>(get(head_at(slot), before));
  auto word = static_cast<std::uint32_t>(boot_time());  // so that two writers write different words
  if (word == before) ++word;
  const bool written = put(head_at(slot), word);
  static_cast<void>(futex(page_ + head_at(slot), FUTEX_WAKE, 1, nullptr));
  return written;
}

/// Returns gone if the waiter has just left, rung_again if it has not noticed the last ring yet. Precondition: the slot
/// is in use.
wake_file::opened::ring_result wake_file::opened::ring(const candidate& one) const noexcept {
  const auto at = entry_at(one.slot, one.entry);
  std::uint32_t before = 0;
  static_cast<void>(get(at + offsetof(file_entry, rung), before));
  if (before == passed_over) return ring_result::rung_again;
  if (!put(at + offsetof(file_entry, rung), fresh_ring)) return ring_result::gone;
  std::atomic_thread_fence(std::memory_order_seq_cst);  // see leave()
  hash key = 0;
  if (!get(at, key) || key != one.key) return ring_result::gone;
  wake(one.slot);
  return before == fresh_ring ? ring_result::rung_again : ring_result::rung;
}

wake_file::opened::rung wake_file::opened::ring(hash key) const {
  auto found = rung::none;
  for (const auto& each : candidates(key)) {
    if (!each.lives(*this)) continue;
    const auto result = ring(each);
    if (result != ring_result::gone && found != rung::other) found = each.own ? rung::own : rung::other;
    if (result == ring_result::rung) break;
  }
  return found;
}

bool wake_file::opened::anyone(hash key) const {
  const auto all = candidates(key);
  return std::any_of(all.begin(), all.end(), [this](const candidate& each) { return each.lives(*this); });
}

void wake_file::opened::ring_behind(hash key) const {
  bool behind = false;
  for (const auto& each : candidates(key)) {
    if (each.own) {
      behind = true;
    } else if (behind && each.lives(*this) && ring(each) != ring_result::gone) {
      return;
    }
  }
}

std::int64_t wake_file::opened::first_other(hash key, bool registered, bool rings) const {
  for (const auto& each : candidates(key)) {
    if (each.own && registered) break;
    if (each.own || !each.lives(*this)) continue;
    if (rings) ring(each);
    return each.since;
  }
  return 0;
}

void wake_file::opened::pass_over(hash key, std::int64_t since) const {
  for (const auto& each : candidates(key)) {
    if (each.since == since)
      static_cast<void>(put(entry_at(each.slot, each.entry) + offsetof(file_entry, rung), passed_over));
  }
}

wake_file::opened::waiters_ahead wake_file::opened::ahead(hash key) const {
  waiters_ahead found;
  for (const auto& each : candidates(key)) {
    if (each.own) return found;
    if (each.lives(*this) && found.count++ == 0) found.deaf = each.rung == fresh_ring;
  }
  return {};
}

void wake_file::opened::ring_all() const {
  std::set<hash> done;
  for (const auto& each : candidates(0)) {
    if (!done.contains(each.key) && in_use(each.slot) && ring(each) == ring_result::rung) done.insert(each.key);
  }
}

std::vector<wake_file::opened::waiter> wake_file::opened::waiters() const {
  std::vector<waiter> found;
  for (const auto& each : candidates(0)) {
    if (!in_use(each.slot)) continue;
    const std::chrono::nanoseconds waited{std::max<std::int64_t>(0, boot_time() - each.since)};
    found.push_back({.key = each.key, .session = each.session, .waited = waited});
  }
  return found;
}

std::vector<wake_file::opened::nested_waiter> wake_file::opened::nested_waiters() const {
  std::vector<nested_waiter> found;
  for (const auto& each : candidates(0)) {
    file_nested there;
    if (!each.nested || !in_use(each.slot) || !get(nested_at(each.slot, each.entry), there)) continue;
    if (there.held_count > there.held.size() || there.name_size > sizeof there.name) continue;
    found.push_back({.slot = each.slot,
                     .key = each.key,
                     .name = {there.name, there.name_size},
                     .since = there.since,
                     .row = there.row,
                     .held = {there.held.begin(), there.held.begin() + there.held_count}});
  }
  return found;
}

// ---- the slot -------------------------------------------------------------------------------------------------------

bool wake_file::opened::claim_slot() noexcept {
  for (std::size_t slot = 0; slot != slots; ++slot) {
    if (!try_lock(descriptor_->number, slot, F_WRLCK)) continue;
    taken_ = 0;
    if (!set_used(slot, 0)) {
      try_lock(descriptor_->number, slot, F_UNLCK);
      return false;
    }
    slot_ = static_cast<int>(slot);
    return true;
  }
  return false;
}

void wake_file::opened::leave_slot() noexcept {
  const int slot = slot_.load();
  if (slot < 0) return;
  static_cast<void>(set_used(static_cast<std::size_t>(slot), 0));
  slot_ = -1;
  try_lock(descriptor_->number, static_cast<std::size_t>(slot), F_UNLCK);
}

int wake_file::opened::enter(hash key, const id128& session) noexcept {
  const auto slot = own_slot();
  const auto entry = static_cast<std::uint32_t>(std::countr_one(taken_));
  if (entry == keys_of_slot) return -1;
  file_entry made{.key = key, .since = boot_time(), .rung = 0, .nested = 0, .session = {}};
  static_assert(sizeof session == sizeof made.session);
  std::memcpy(made.session, &session, sizeof made.session);
  if (!put(entry_at(slot, entry), made)) return -1;
  if (entry >= used_ && !set_used(slot, entry + 1)) return -1;
  taken_ |= std::uint64_t{1} << entry;
  return static_cast<int>(entry);
}

/// A releaser writes the ring and then checks that the entry is there; a leaving waiter does it in the reverse order.
/// So one of the two notices the other.
bool wake_file::opened::leave(int entry) noexcept {
  const auto at = own_entry(entry);
  static_cast<void>(put(at, hash{0}));  // free
  taken_ &= ~(std::uint64_t{1} << entry);
  if (taken_ == 0) static_cast<void>(set_used(own_slot(), 0));
  std::atomic_thread_fence(std::memory_order_seq_cst);
  std::uint32_t value = 0;
  return get(at + offsetof(file_entry, rung), value) && value != 0;
}

void wake_file::opened::set_held(int entry, std::string_view name, std::span<const held_lock> held,
                                 const row_grant& row) noexcept {
  file_nested made{};
  made.since = boot_time();
  made.held_count = static_cast<std::uint32_t>(std::min(held.size(), made.held.size()));
  made.name_size = static_cast<std::uint32_t>(std::min(name.size(), sizeof made.name));
  name.copy(made.name, made.name_size);
  made.row = row;
  std::copy_n(held.begin(), made.held_count, made.held.begin());
  const std::uint32_t nested = made.held_count != 0 ? 1 : 0;
  if (nested != 0 && !put(nested_at(own_slot(), static_cast<std::size_t>(entry)), made)) return;
  static_cast<void>(put(own_entry(entry) + offsetof(file_entry, nested), nested));
}

bool wake_file::opened::was_rung(int entry) const noexcept {
  const auto at = own_entry(entry) + offsetof(file_entry, rung);
  std::uint32_t value = 0;
  return get(at, value) && (value == fresh_ring || value == passed_over) && put(at, seen_ring);
}

bool wake_file::opened::stands(int entry, hash key) const noexcept {
  slot_head head{};
  hash there = 0;
  return get(head_at(own_slot()), head) && head.used > static_cast<std::uint32_t>(entry) &&
         get(own_entry(entry), there) && there == key;
}

bool wake_file::opened::word(std::uint32_t& now) const noexcept { return get(head_at(own_slot()), now); }

bool wake_file::opened::sleep(std::uint32_t seen, std::chrono::nanoseconds at_most) const noexcept {
  const auto limit = std::max(at_most, std::chrono::nanoseconds{0});
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
  const timespec wait{static_cast<time_t>(seconds.count()), static_cast<long>((limit - seconds).count())};
  const int error = futex(page_ + head_at(own_slot()), FUTEX_WAIT, seen, &wait);
  return error == 0 || error == EAGAIN || error == EINTR || error == ETIMEDOUT;
}

bool wake_file::opened::wake_self() const noexcept {
  const int slot = slot_.load();
  return slot < 0 || wake(static_cast<std::size_t>(slot));
}

}  // namespace dlock::stores::sqlite
