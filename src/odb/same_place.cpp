// SPDX-License-Identifier: GPL-2.0-or-later
#include "odb/same_place.hpp"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "stores/odb_place.hpp"

namespace dlock::detail {

namespace {

/// By store and database, of all services of the program.
struct answers {
  std::mutex mutex{};
  std::map<std::pair<std::string, std::string>, outcome> known{};
};

answers& all_answers() {
  static auto* const all = new answers;  // never destroyed: threads may outlive main()
  return *all;
}

}  // namespace

outcome same_place(const store& where, odb::connection& on) {
  auto* const place = dynamic_cast<odb_place*>(const_cast<store*>(&where));
  if (place == nullptr) return outcome::no;
  auto& all = all_answers();
  const std::pair name{where.name(), place->address(on.database())};
  const bool lasting = !name.second.empty();
  if (lasting) {
    const std::lock_guard lock(all.mutex);
    if (const auto found = all.known.find(name); found != all.known.end()) return found->second;
  }
  fault why;
  const auto answer = place->shares(on, why);
  if (lasting && (answer == outcome::yes || answer == outcome::no)) {
    const std::lock_guard lock(all.mutex);
    all.known.insert_or_assign(name, answer);
  }
  return answer;
}

}  // namespace dlock::detail
