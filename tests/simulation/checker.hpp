// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/books/grant.hpp"
#include "simulation/process.hpp"
#include "simulation/server.hpp"

namespace dlock::simulation {

/// Sees everything, and knows what must never be: the invariants I1 to I6 of a run. The first one that is broken ends it.
class checker final : public history {
 public:
  checker(world& in, server& at) : world_(in), server_(at) { at.data.told = this; }

  // What the server does.
  void granted(const request& by, const lock_row* row, std::uint64_t fence) override;
  void freed(const request& by, const lock_row& row) override;
  void extended(const request& by, const lock_row& row) override;
  void opened(const id128& session) override;
  void taken(const std::string& key, const lock_row& row, std::uint64_t fence) override;

  // What the application does.
  /// A lease on that grant was handed out.
  void handed_out(process& to, const std::shared_ptr<engine::grant>& one);
  /// Looks whether it is trusted, and if so whether that is right. True: it is.
  bool check(process& of, engine::grant& one);
  /// Something that the key protects is written, under that grant.
  void write(const std::string& key, std::uint64_t fence);
  /// An operator begins to take it away: whoever has it may still trust an expiry of its own.
  void forced(const std::string& key) { forced_.try_emplace(key); }
  bool is_forced(std::string_view key) const { return forced_.contains(key); }
  /// That has been done, of the grant with that fence.
  void force_done(const std::string& key, std::uint64_t fence) { forced_[key] = {fence, world_.now()}; }

  /// When nothing is held any more, by live processes.
  void check_free(const std::map<id128, process*>& sessions_of);
  const std::map<id128, process*>& sessions() const noexcept { return sessions_of_; }
  void opened_by(const id128& session, process& of) { sessions_of_[session] = &of; }

  std::uint64_t grants = 0;
  std::uint64_t take_overs = 0;

 private:
  struct held {
    std::weak_ptr<engine::grant> of;
    process* by;
  };
  struct key_state {
    std::uint64_t highest = 0;  // fence ever granted
    std::uint64_t written = 0;  // highest that wrote
    std::vector<held> holders{};
  };
  key_state& state_of(std::string_view key);
  /// Whose lease on that key is trusted: null: nobody's. Of that grant, or of any.
  process* trusting(key_state& at, const lock_row* of);
  /// Somebody else has it now, with that fence.
  void passes_on(key_state& at, std::string_view key, const lock_row* row, std::uint64_t fence);
  void fail(const std::string& rule, std::string_view key, const std::string& text);

  world& world_;
  server& server_;
  std::map<std::string, key_state, std::less<>> keys_{};
  std::map<id128, process*> sessions_of_{};
  std::set<id128> opened_{};
  std::map<std::string, std::pair<std::uint64_t, moment>, std::less<>> forced_{};  // fence, and when
};

}  // namespace dlock::simulation
