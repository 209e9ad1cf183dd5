// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "api/access.hpp"
#include "dlock/async.hpp"
#include "dlock/lock_service.hpp"
#include "dlock/observer.hpp"
#include "dlock/owner.hpp"
#include "simulation/checker.hpp"
#include "simulation/process.hpp"
#include "simulation/store.hpp"

namespace dlock::simulation {

/// What all processes of a run share.
struct scene {
  const plan& how;
  world& in;
  server& at;
  network& by;
  checker& sees;
  std::vector<lock_key> keys{};
  bool over = false;  ///< no new rounds
  unsigned ends = 0;  ///< of threads of the application, and of processes, since somebody looked
  // What was done.
  std::uint64_t acquires = 0;  ///< that gave leases
  moment longest = 0;          ///< how much longer than its wait a call took at most
};

/// The program of one process: a service, and threads that use it by chance.
class application {
 public:
  application(scene& on, process& of);
  application(const application&) = delete;
  application& operator=(const application&) = delete;

  void begin();
  /// When nobody holds anything and nothing fails: two of its threads get each key, one after the other, and soon.
  void prove_alive();
  /// A thread takes these keys, and keeps them. `holds`: it has them all.
  void hold_until_killed(const std::vector<const lock_key*>& keys, const lock_mode& mode, bool& holds);
  /// A thread waits for a key of such a process, which is killed at `death`, and gets it in time.
  void inherit(const lock_key& key, const lock_mode& mode, const moment& death);
  void lock_deleted(const std::string& key, const lock_row& row);
  /// What a process got of a key that several loop over.
  struct contestant {
    moment longest = 0;  ///< that it waited
    unsigned grants = 0;
  };
  /// One thread takes the key again and again until then, and holds it for about so long each time.
  void contest(const lock_key& key, const lock_mode& mode, moment until, moment hold, contestant& of);
  /// Ends the service, on a thread of the process.
  void end();
  /// What rows and this kind of store don't have is left out, and the least ttl of rows is kept.
  lock_options fit(lock_options how, const std::vector<lock_key>& keys) const;
  /// How many of its threads have not ended.
  unsigned busy() const noexcept { return busy_; }
  const simulated_store& store() const noexcept { return *store_; }
  process& of() noexcept { return process_; }

 private:
  using service_pointer = std::shared_ptr<lock_service>;

  void thread_ends() noexcept {
    --busy_;
    ++scene_.ends;
  }
  bool goes_on() const noexcept { return !scene_.over && !process_.buried(); }
  service_pointer make_service();
  void run_thread();
  void one_round();
  lock_options options_by_chance();
  /// In runs about that: a reader, a holder of permits, or a writer. Callers name different numbers of permits.
  void share(lock_options& how);
  const lock_key& key_by_chance() { return scene_.keys[scene_.in.random.below(scene_.keys.size())]; }
  std::vector<lock_key> keys_by_chance();
  bool has(hazard what) const noexcept { return scene_.how.has(what); }
  /// Whether the present thread locks for a request that other processes serve, too.
  static bool for_request();
  bool often(std::uint64_t percent) noexcept { return scene_.in.random.chance(percent * 10'000); }

  // What a round does.
  void lock(const lock_options& how, bool once);
  void lock_async(const lock_options& how, bool once);
  void lock_several(const lock_options& how, bool once);
  void claim(const lock_options& how);
  void restart_service();
  void operate();

  // With a lease.
  /// Tells that a key is asked for, and if it is not had in the end.
  class asking {
   public:
    asking(application& in, const lock_key& key, bool waits, const lock_options& how);
    asking(const asking&) = delete;
    asking& operator=(const asking&) = delete;
    ~asking();
    void has_it() {
      has_it_ = true;
      if (mode_ == exclusive) in_.scene_.sees.writer_ends(in_.process_, key_.view());
      if (waits_) in_.scene_.sees.wait_ends(in_.process_, key_.view(), mode_, true);
    }

   private:
    application& in_;
    const lock_key& key_;
    const bool waits_;
    const lock_mode mode_;
    bool has_it_ = false;
  };
  void took(const lease& held);
  /// ... by a call that could have waited.
  void took_after_wait(const lease& held, const lock_options& how, instant begun);
  /// A thread releases it now. The key.
  std::string note_release(const lease& held);
  /// With the lease, the thread waits for another key.
  void nest(const lease& outer);
  void hold(lease& held);
  void write_verified(const lease& held);
  void let_go(lease held);
  void let_go_async(lease held);
  void linger(moment most);

  /// Runs a call of dlock's that may take so long.
  template <class Call>
  auto bounded(const char* what, std::chrono::microseconds wait, Call call) {
    const timed now(*this, what, wait);
    return call();
  }
  class timed {
   public:
    timed(application& in, const char* what, std::chrono::microseconds wait);
    timed(const timed&) = delete;
    timed& operator=(const timed&) = delete;
    ~timed();

   private:
    application& in_;
    const char* const what_;
    const moment wait_;
    const moment begun_;
    const moment lost_;
  };

  /// Tells of losses, and of what must never happen.
  class news final : public observer {
   public:
    explicit news(application& of) : of_(of) {}
    void on(const event& what) override;

   private:
    application& of_;
  };

  scene& scene_;
  process& process_;
  const std::shared_ptr<news> news_ = std::make_shared<news>(*this);
  const std::shared_ptr<simulated_store> store_;
  service_pointer service_{};
  unsigned busy_ = 0;
  std::vector<lease> abandoned_{};
};

}  // namespace dlock::simulation
