// SPDX-License-Identifier: GPL-2.0-or-later
#include "dlock/lock_service.hpp"

#include <atomic>
#include <new>
#include <stdexcept>

#include "dlock/store/store.hpp"
#include "dlock/store/store_url.hpp"
#include "engine/engine.hpp"

namespace dlock {

namespace {
std::atomic<lock_service*> the_default{nullptr};
}

lock_service::lock_service(std::string_view url, service_options options)
    : lock_service(open_store(url), std::move(options)) {}

lock_service::lock_service(std::shared_ptr<store> where, service_options options)
    : engine_(detail::engine::start(std::move(where), std::move(options))) {}

lock_service::~lock_service() {
  auto* self = this;
  the_default.compare_exchange_strong(self, nullptr);
  if (engine_->forked()) {
    // The parent's threads do not exist here, its locks may be taken for ever: nothing of it can be ended.
    static_cast<void>(new (std::nothrow) std::shared_ptr<detail::engine>(std::move(engine_)));
    return;
  }
  engine_->end(engine_->shared().options.close_limit);
}

lease lock_service::acquire(const lock_key& key, const lock_options& options) {
  return engine_->acquire(key, options, false);
}

lease lock_service::try_acquire(const lock_key& key, const lock_options& options) {
  return engine_->acquire(key, options, true);
}

multi_lease lock_service::acquire(const lock_keys& keys, const lock_options& options) {
  return engine_->acquire(keys, options, false);
}

multi_lease lock_service::try_acquire(const lock_keys& keys, const lock_options& options) {
  return engine_->acquire(keys, options, true);
}

const lock_options& lock_service::defaults() const& noexcept { return engine_->shared().options.defaults; }

const std::string& lock_service::name() const& noexcept { return engine_->shared().where->name(); }

namespace {

/// A row's key may come from a service on another store, which knows its table.
void check_rows(const store& where, const lock_key& key, const char* call) {
  if (key.row() == nullptr || where.caps().rows) return;
  throw std::invalid_argument(std::string("dlock: ") + call + ": key '" + printable(key) + "' is a row, and " +
                              where.name() + " has no rows");
}

}  // namespace

std::optional<holder_info> lock_service::holder(const lock_key& key) {
  auto& where = *engine_->shared().where;
  check_rows(where, key, "holder");
  std::vector<holder_info> found;
  engine_->ask(
      [&](connection& on) {
        return key.row() != nullptr ? where.inspect_row(on, *key.row(), found) : where.inspect(on, key.view(), found);
      },
      "holder");
  if (found.empty()) return std::nullopt;
  found.front().key = key.view();
  return std::move(found.front());
}

std::vector<holder_info> lock_service::held_keys(std::size_t limit, std::string_view after) {
  std::vector<holder_info> found;
  engine_->ask([&](connection& on) { return engine_->shared().where->list(on, after, limit, found); }, "held_keys");
  return found;
}

bool lock_service::force_release(const lock_key& key) {
  auto& where = *engine_->shared().where;
  check_rows(where, key, "force_release");
  const auto doom = [&](connection& on) {
    return key.row() != nullptr ? where.doom_row(on, *key.row()) : where.doom(on, key.view());
  };
  return engine_->ask(doom, "force_release").what == outcome::yes;
}

std::vector<std::string> lock_service::close(std::chrono::milliseconds limit) {
  engine_->refuse_if_forked();
  return engine_->close(limit);
}

std::uint64_t lock_service::count(event::kind what) const noexcept { return engine_->shared().count(what); }
std::uint64_t lock_service::statements() const noexcept { return engine_->statements(); }

void set_default_service(lock_service& service) {
  lock_service* set = nullptr;
  while (!the_default.compare_exchange_strong(set, &service)) {
    if (set == &service) return;
    // Of one from before a fork nothing can be used here.
    if (set != nullptr && !set->engine_->forked()) {
      throw std::logic_error("dlock: the default lock_service is set already, to " + set->name());
    }
  }
}

lock_service& default_service() {
  auto* const set = the_default.load(std::memory_order_acquire);
  if (set == nullptr) {
    throw std::logic_error(
        "dlock: there is no default lock_service; make one at start-up and pass it to dlock::set_default_service()");
  }
  return *set;
}

}  // namespace dlock
