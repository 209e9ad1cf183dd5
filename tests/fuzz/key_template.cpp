// SPDX-License-Identifier: BSL-1.0
// The texts of annotations, as dlock-gen reads them from a header.

#include <string>

#include "annotations/key_template.hpp"
#include "annotations/string_literal.hpp"
#include "fuzz/fuzz.hpp"
#include "source/diagnostics.hpp"
#include "source/lexer.hpp"
#include "source/source_file.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(fuzz::text_of(data, size));
  const dlock_gen::source_file file("fuzz.hpp", text);
  const dlock_gen::located_text all{text, {&file, 0}, true};
  const auto literal_or_error = [&] {
    dlock_gen::diagnostics said;
    const bool read = dlock_gen::read_literal(all, said).has_value();
    static_cast<void>(said.text());
    return read || said.errors() > 0;
  };
  fuzz::require(literal_or_error(), "what is no literal is an error");
  const auto template_or_error = [&] {
    dlock_gen::diagnostics said;
    const auto pattern = dlock_gen::read_template(all, said);
    if (pattern) static_cast<void>(pattern->domain());
    static_cast<void>(said.text());
    return pattern || said.errors() > 0;
  };
  fuzz::require(template_or_error(), "what is no template is an error");
  dlock_gen::diagnostics said;
  static_cast<void>(dlock_gen::read_path(all, said));
  const auto tokens = dlock_gen::split(text);
  for (std::size_t at = 0; at < tokens.size(); ++at) {
    fuzz::require(tokens[at].begin < tokens[at].end && tokens[at].end <= text.size(), "a token is in the text");
  }
  return 0;
}
