// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dlock/store_interface/store_types.hpp"
#include "simulation/database.hpp"
#include "simulation/plan.hpp"
#include "simulation/sql_execution.hpp"
#include "simulation/waiter_table.hpp"
#include "simulation/world.hpp"

namespace dlock::simulation {

/// A statement waits for a row lock for so long at most.
constexpr moment lock_wait = second;

struct job;

/// Who has sent something to the server.
class client {
 public:
  /// The server has done it; the answer is to be sent.
  virtual void done(job& what) = 0;
  /// The answer has arrived.
  virtual void answered() = 0;
  /// The connection was not there any more.
  virtual void lost() = 0;

 protected:
  ~client() = default;
};

class server;

/// What was sent to the server on one connection: it lives there whatever becomes of who sent it.
struct job final : sleeper {
  enum class kind : std::uint8_t { keyed, session, text, other };

  std::uint64_t connection = 0;
  kind what = kind::keyed;
  std::string from{};  ///< the process, for the journal
  std::vector<request> asks{};
  std::vector<reply> answers{};
  // The client's, as long as it waits; else copies.
  std::vector<std::string> keys{};
  std::vector<seen> expected{};
  std::vector<row_id> rows{};
  session_verb action{};
  session_record record{};
  std::function<reply(moment clock)> other{};
  sql::call text{};                       ///< SQL, about members
  row_wait if_locked = row_wait::accept;  ///< of that
  std::uint64_t wake_id = 0;              ///< of the process, in the waiter table
  std::vector<std::uint64_t> to_wake{};   ///< the wake ids that its sender must ring, one for each request; 0: none
  /// For each request, the waiter that must have the key first: its sender wakes it, or passes it over.
  std::vector<std::optional<waiter_table::row>> first{};

  moment clock = 0;  ///< of its beginning
  std::optional<database::sessions> sessions_then{};
  bool begun = false;
  bool done = false;
  bool gave_up_waiting = false;
  client* sender = nullptr;  ///< null: it has left
  server* to = nullptr;
  std::shared_ptr<job> itself{};  ///< while it is on its way

  /// The client leaves: nothing of its memory is used any more.
  void leave();
  /// It is another one: what memory it has is used again.
  void begin_anew();

  enum way : std::uint64_t { arrives, goes_on, is_answered };
  void due(std::uint64_t turn) override;
};

/// A transaction of the application's, on a connection of its own.
struct transaction {
  std::uint64_t connection = 0;
  std::vector<std::string> locked{};
  /// Whether what it has read and relies on is still so; if not, it can't be committed.
  std::vector<std::function<bool()>> still_so{};
  std::vector<std::function<void()>> at_commit{};
};

/// The simulated server: connections, statements that wait, row locks, restarts.
class server {
 public:
  server(world& in, const plan& how) : world_(in), plan_(how) {
    data.traits = traits_of(how.kind);
    data.in = &in;
  }

  database data{};
  waiter_table waiters{};

  /// What the server's clock shows: the world's time, less all steps back.
  moment clock() const noexcept { return world_.now() - stepped_; }
  /// Somebody sets the clock back, unless that has just been done.
  void step_back(moment by) noexcept;
  moment stepped() const noexcept { return stepped_; }

  // Connections.
  /// 0: it takes none now.
  std::uint64_t connect();
  void close(std::uint64_t connection);
  /// A client is gone without a word: the server learns of it some time later.
  void vanished(std::uint64_t connection);
  /// KILL.
  void kill(std::uint64_t connection);
  bool alive(std::uint64_t connection) const noexcept { return up_ && connections_.contains(connection); }
  bool up() const noexcept { return up_; }
  /// A connection that is alive, by chance; 0: none.
  std::uint64_t any_connection();
  const std::string& name() const noexcept { return name_; }
  const std::string& incarnation() const noexcept { return incarnation_; }
  std::size_t connections() const noexcept { return connections_.size(); }

  /// What was sent has arrived.
  void arrive(const std::shared_ptr<job>& one);
  /// It has stood still since then.
  void go_on(const std::shared_ptr<job>& one) { execute(one); }
  /// It stops now, and is there again some time later. All that was not committed is lost.
  void restart(moment away, bool as_another);

  // Transactions. The thread that runs one waits with those of process.
  /// yes: the row is verified and locked; no: it is not held so. Null: it must wait, and `again` is called when it may
  /// try again.
  std::optional<outcome> verify(transaction& in, const request& of, const std::function<void()>& again);
  /// Rows that nobody holds, of tables of that kind, at most so many: they are locked, and those that are locked are
  /// passed over.
  std::vector<std::string> lock_free_rows(transaction& in, bool by_column, std::size_t most);
  /// Grants a row that it has locked, when it is committed. The fence.
  std::uint64_t claim(transaction& in, const request& q);
  bool commit(transaction& in);
  void roll_back(transaction& in);
  /// Another program comes: it takes or frees a row that has an expiry column, changes it, or locks any row for a
  /// while.
  void foreign();
  /// A connection with a transaction that has verified that key; 0: none.
  std::uint64_t verifier_of(std::string_view key) const;

  // Notifications.
  /// That connection hears from now on when the key may be free.
  void subscribe(std::uint64_t connection, const std::string& key) { subscribers_[key].insert(connection); }
  void unsubscribe(std::uint64_t connection, const std::string& key);
  /// Called for each of them.
  std::function<void(std::uint64_t connection, const std::string& key)> published{};

  // The queue of a key, where the server keeps one.
  std::uint64_t new_position() noexcept { return ++last_position_; }
  /// Puts it at the end. False: that session is over.
  bool enqueue(const std::string& key, const id128& session, std::uint64_t position);
  void leave_queue(const std::string& key, std::uint64_t position);
  /// Somebody deletes a lock that is held. None is: false.
  bool delete_lock();
  /// Called then, before the lock is gone.
  std::function<void(const std::string& key, const lock_row& row)> deleted{};
  /// Called when a position has got the key, with that fence; 0: it has ended with its session.
  std::function<void(std::uint64_t position, std::uint64_t fence)> reached{};

  void pass_over(const std::string& key, const waiter_table::row& first, std::uint64_t fence);
  /// The wake id of the process whose statement is executed.
  std::uint64_t asking() const noexcept { return asking_; }

  std::uint64_t faults = 0;
  bool calm = false;  ///< the faults of the plan are over
  /// Told of each row that another program locks, and for how long.
  std::function<void(const std::string& key, moment time)> locked{};
  /// Told of each connection that ends at the server.
  std::function<void(std::uint64_t)> closed{};

 private:
  bool is_locked(const request& q) const;
  bool waits_for_lock(const job& one);
  void execute_text(job& one);
  /// A key may be free. How many connections hear of it.
  unsigned publish(const std::string& key);
  void notify_of(job& one);
  void end_own_session(job& one);
  void end_session(const id128& id);
  /// The session's end is looked for at its expiry.
  void watch_session(const id128& id);
  void promote(const std::string& key);
  void execute(const std::shared_ptr<job>& one);
  moment stall_of(const job& one);
  void wake_waiting();
  void unlock(std::uint64_t connection);
  void run_but(job& one, const std::function<bool(std::size_t)>& fails);
  bool fail_contended(job& one);
  bool fail_by_chance(job& one);
  bool waits_for_others(job& one);
  void look_for_waiters(job& one);

  world& world_;
  const plan& plan_;
  std::map<std::uint64_t, bool> connections_{};  // whether it has a transaction that was ended from outside
  std::uint64_t last_connection_ = 0;
  std::vector<std::shared_ptr<job>> waiting_{};  // for row locks
  std::vector<std::function<void()>> verifiers_waiting_{};
  std::uint64_t asking_ = 0;
  bool any_locked_ = false;  // a row, by a transaction
  moment stepped_ = 0;
  moment stepped_at_ = 0;
  std::map<std::string, std::set<std::uint64_t>, std::less<>> subscribers_{};
  struct queued {
    std::uint64_t position;
    id128 session;
  };
  std::map<std::string, std::deque<queued>, std::less<>> queues_{};
  std::uint64_t last_position_ = 0;
  bool up_ = true;
  unsigned starts_ = 1;
  std::string name_ = "simulated";
  std::string incarnation_ = "1";
};

}  // namespace dlock::simulation
