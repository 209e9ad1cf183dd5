// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/odb/locked_row.hpp"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>
#include <string>

#include "dlock/odb/verify.hpp"
#include "odb/access.hpp"
#include "odb/own_transaction.hpp"

namespace dlock::detail {

namespace {

/// One transaction: the row is freed first, so that it is locked by us, and known to be ours, before anything is written.
/// False: nobody knows whether it was committed, `unknown` says why.
bool try_commit(engine& home, odb::database& db, grant& one, const std::function<void()>& write,
                std::exception_ptr& unknown) {
  auto& place = place_of(home);
  const auto free = home.shared().where->release_of(one.ask(verb::release));
  own_transaction in(home, db, own_transaction::use::writes);
  if (in.connection().execute(free.text) != free.expected_rows) {
    throw lock_lost(home.not_ours(one),
                    fmt::format("key '{}': commit: fence {} is not the holder's any more; nothing was written",
                                printable(one.key), one.fence));
  }
  write();
  try {
    in.commit(place);
  } catch (const store_error&) {
    unknown = std::current_exception();
    return false;
  }
  return true;
}

}  // namespace

void read_rows(lock_service& service, odb::database& db, const std::function<void()>& read) {
  auto& home = *access::engine_of(service);
  own_transaction in(home, db, own_transaction::use::reads);
  read();
  in.commit(place_of(home));
}

void commit_row(odb::database& db, lease held, const std::function<void()>& write) {
  const auto one = access::grant_of(held);  // its engine lives as long
  auto& home = *one->home;
  home.refuse_if_forked();
  if (!home.sole(*one)) {
    update_row(db, held, write);
    held.release();
    return;
  }
  ensure_can_write(home);  // before the release begins, which can't be done now either
  std::exception_ptr unknown;
  access::release_by(held, [&] {
    bool done = false;
    with_patience(place_of(home), home.shared().options.release_limit,
                  [&] { done = try_commit(home, db, *one, write, unknown); });
    return done;
  });
  if (unknown) std::rethrow_exception(unknown);
}

void update_row(odb::database& db, const lease& held, const std::function<void()>& write) {
  const auto& one = access::grant_of(held);
  auto& home = *one->home;
  auto& place = place_of(home);
  with_patience(place, home.shared().options.release_limit, [&] {
    own_transaction in(home, db, own_transaction::use::writes);
    verify(in.get(), held);
    write();
    in.commit(place);
  });
}

void update_row(odb::transaction& in, const lease& held, const std::function<void()>& write) {
  verify(in, held);
  // ODB's functions act in the current transaction, whichever they are called for.
  const odb_outer outer;
  odb::transaction::current(in);
  try {
    write();
  } catch (...) {
    try {
      in.rollback();
    } catch (...) {
      // The connection broke: the server rolls back.
    }
    throw;
  }
}

void empty_row(const char* call) { throw std::logic_error(std::string("dlock: ") + call + " on an empty locked_row"); }

}  // namespace dlock::detail
