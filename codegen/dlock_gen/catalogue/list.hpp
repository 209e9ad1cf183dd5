// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catalogue/facts.hpp"
#include "catalogue/order.hpp"

namespace dlock_gen {

/// A warning about the order of locks, with the calls that lead to it.
struct catalogue_warning {
  std::string kind{};
  std::string message{};
  listed_place place{};
  std::vector<std::pair<listed_place, std::string>> notes{};

  /// As a compiler prints it.
  std::string text() const;
};

/// All locks of a code base.
class lock_catalogue {
 public:
  /// Adds a source. Returns false, with messages, if it or an annotation is wrong; what could be read still counts.
  bool read(const std::filesystem::path& file, const std::vector<std::string>& flags, std::ostream& messages);

  /// Must be called once, after everything was read.
  std::vector<catalogue_warning> find_warnings();
  /// The result; docs/annotations.md explains it.
  std::string json() const;

 private:
  code_facts facts_{};
  order_findings order_{};
  std::vector<catalogue_warning> warnings_{};
  std::set<std::string> reported_{};
};

}  // namespace dlock_gen
