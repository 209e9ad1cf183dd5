// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "source/diagnostics.hpp"
#include "source/source_file.hpp"

namespace dlock_gen::test {

/// What stands in the parentheses of an annotation, in a file of one line.
struct annotation_text {
  explicit annotation_text(std::string text) : file("a.hpp", "X(" + text + ")") {
    inside = {std::move(text), {&file, 2}, true};
  }
  source_file file;
  located_text inside{};
  diagnostics messages{};
};

}  // namespace dlock_gen::test
