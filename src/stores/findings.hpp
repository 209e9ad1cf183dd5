// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "dlock/store_interface/store_overview.hpp"

namespace dlock::stores {

/// Adds to what store_admin::examine() found.
class findings {
 public:
  explicit findings(std::vector<store_finding>& to) noexcept : to_(to) {}

  void good(std::string name, std::string value, std::string meaning = {}) {
    add(store_finding::level::good, std::move(name), std::move(value), std::move(meaning), {});
  }
  void note(std::string name, std::string value, std::string meaning, std::string advice = {}) {
    add(store_finding::level::note, std::move(name), std::move(value), std::move(meaning), std::move(advice));
  }
  void warning(std::string name, std::string value, std::string meaning, std::string advice) {
    add(store_finding::level::warning, std::move(name), std::move(value), std::move(meaning), std::move(advice));
  }
  void problem(std::string name, std::string value, std::string meaning, std::string advice) {
    add(store_finding::level::problem, std::move(name), std::move(value), std::move(meaning), std::move(advice));
  }

 private:
  void add(store_finding::level level, std::string name, std::string value, std::string meaning, std::string advice) {
    to_.push_back({level, std::move(name), std::move(value), std::move(meaning), std::move(advice)});
  }

  std::vector<store_finding>& to_;
};

}  // namespace dlock::stores
