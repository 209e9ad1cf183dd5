// SPDX-License-Identifier: BSL-1.0
#include "generate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "dlock/version.hpp"
#include "exit_code.hpp"
#include "output.hpp"

namespace dlock::command {

namespace {

std::vector<const CLI::App*> verbs_of(const CLI::App& line) {
  return line.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<const CLI::Option*> named_options(const CLI::App& of) {
  auto all = of.get_options([](const CLI::Option* each) { return each->nonpositional(); });
  // The --help of a verb needs no completion.
  std::erase_if(all, [&](const CLI::Option* each) { return of.get_parent() != nullptr && each == of.get_help_ptr(); });
  return all;
}

std::vector<const CLI::Option*> positionals(const CLI::App& of) {
  return of.get_options([](const CLI::Option* each) { return !each->nonpositional(); });
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() != 0; }
bool takes_many(const CLI::Option& option) { return option.get_expected_max() > 1; }

/// Returns "-v", "--verbose".
std::vector<std::string> spellings(const CLI::Option& option) {
  std::vector<std::string> all;
  for (const auto& each : option.get_snames()) all.push_back("-" + each);
  for (const auto& each : option.get_lnames()) all.push_back("--" + each);
  return all;
}

std::vector<std::string> all_spellings(const CLI::App& of) {
  std::vector<std::string> all;
  for (const auto* each : named_options(of)) {
    for (auto& name : spellings(*each)) all.push_back(std::move(name));
  }
  return all;
}

/// Returns the words of "a|b|c", or nothing if the type is no choice.
std::vector<std::string> choices(const CLI::Option& option) {
  const auto type = option.get_type_name();
  if (type.find('|') == std::string::npos) return {};
  std::vector<std::string> words;
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= type.size(); ++at) {
    if (at != type.size() && type[at] != '|') continue;
    words.push_back(type.substr(begin, at - begin));
    begin = at + 1;
  }
  return words;
}

bool is_file(const CLI::Option& option) { return option.get_type_name() == "FILE"; }

// ---- man(7) ---------------------------------------------------------------------------------------------------------

std::string man_text(std::string text) {
  text = replaced(std::move(text), "\\", "\\e");
  text = replaced(std::move(text), "-", "\\-");
  if (text.starts_with('.') || text.starts_with('\'')) text.insert(0, "\\&");
  return text;
}

std::string man_options(const CLI::App& of) {
  std::string text;
  for (const auto* each : positionals(of)) {
    text += fmt::format(".TP\n.I {}{}\n{}.\n", man_text(each->get_type_name()), takes_many(*each) ? " ..." : "",
                        man_text(each->get_description()));
  }
  for (const auto* each : named_options(of)) {
    std::string names;
    for (const auto& name : spellings(*each)) names += (names.empty() ? "\\fB" : ", \\fB") + man_text(name) + "\\fR";
    if (takes_value(*each)) names += " \\fI" + man_text(each->get_type_name()) + "\\fR";
    text += fmt::format(".TP\n{}\n{}.\n", names, man_text(each->get_description()));
  }
  return text;
}

std::string usage(const CLI::App& verb) {
  std::string text = verb.get_name() + " [OPTION ...]";
  for (const auto* each : positionals(verb)) {
    text += (takes_many(*each) && verb.get_name() == "run" ? " -- " : " ") + each->get_type_name();
    if (takes_many(*each)) text += " ...";
  }
  return text;
}

constexpr const char* man_rest = R"(.SH ENVIRONMENT
.TP
.B DLOCK_URL
The store, if there is neither \fB\-\-url\fR nor \fB\-\-config\fR.
.TP
.B DLOCK_CONFIG
The configuration file, if there is none of these three.
.PP
\fBrun\fR sets these for its command:
.TP
.B DLOCK_KEY
The key.
.TP
.B DLOCK_FENCE
The fencing token of this grant. Not set if the store has no fencing tokens.
.TP
.B DLOCK_DEADLINE
The lease's deadline when the command began, in seconds since 1970. dlock renews the lease, so the lock lasts longer. With
\fB\-\-max\-hold\fR it is the time at which dlock ends the command.
.SH FILES
.TP
.I ~/.config/dlock.conf
.TQ
.I /etc/dlock.conf
A line \fBurl = \fR\fIURL\fR. If the URL has a password, only the file's owner should be able to read it.
.SH EXAMPLES
A job that runs on one of several hosts, at most once in an hour:
.PP
.EX
17 * * * * dlock run \-\-on\-busy skip \-\-min\-hold 55m report \-\- /usr/local/bin/make\-report
.EE
.PP
Wait for up to five minutes, and print a message if the key is still busy:
.PP
.EX
dlock run \-\-wait 5m deploy:shop \-\- ./deploy.sh || [ $? \-ne 75 ] || echo "another deployment is running"
.EE
.PP
Show the held keys that begin with a text, and one key:
.PP
.EX
dlock list \-\-prefix order:
dlock show order:42 \-\-json
.EE
.SH SEE ALSO
.BR flock (1)
)";

// ---- shells ---------------------------------------------------------------------------------------------------------

std::string bash_cases(const CLI::App& line, bool (*wanted)(const CLI::Option&)) {
  std::vector<std::string> names;
  const auto add = [&](const CLI::App& of) {
    for (const auto* each : named_options(of)) {
      if (!wanted(*each)) continue;
      for (auto& name : spellings(*each)) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
      }
    }
  };
  add(line);
  for (const auto* verb : verbs_of(line)) add(*verb);
  return fmt::format("{}", fmt::join(names, "|"));
}

std::string zsh_text(std::string text) {
  text = replaced(std::move(text), "'", "'\\''");
  for (const char* const each : {"[", "]", ":"}) text = replaced(std::move(text), each, std::string("\\") + each);
  return text;
}

std::string zsh_action(const CLI::Option& option) {
  if (const auto words = choices(option); !words.empty()) return fmt::format("({})", fmt::join(words, " "));
  return is_file(option) ? "_files" : "";
}

std::string zsh_specs(const CLI::App& of) {
  std::string text;
  for (const auto* each : named_options(of)) {
    const auto value =
        takes_value(*each) ? fmt::format(":{}:{}", zsh_text(each->get_type_name()), zsh_action(*each)) : std::string{};
    for (const auto& name : spellings(*each)) {
      text += fmt::format("    '{}[{}]{}'\n", name, zsh_text(each->get_description()), value);
    }
  }
  return text;
}

}  // namespace

std::string manual_page(const CLI::App& line) {
  std::string text = fmt::format(
      ".\\\" SPDX-License-Identifier: BSL-1.0\n.TH DLOCK 1 \"\" \"dlock {}\" \"User Commands\"\n"
      ".SH NAME\ndlock \\- {}\n.SH SYNOPSIS\n",
      library_version(), man_text(line.get_description()));
  const auto all = verbs_of(line);
  for (std::size_t i = 0; i != all.size(); ++i) {
    const auto shown = usage(*all[i]);
    const auto end = shown.find(' ');
    text += fmt::format("{}.B dlock {}\n{}\n", i == 0 ? "" : ".br\n", shown.substr(0, end),
                        man_text(shown.substr(end + 1)));
  }
  text += ".SH DESCRIPTION\nEach verb works on every store whose library was linked in; the URL chooses the store.\n";
  text += ".SH OPTIONS\nThese may stand before or after the verb.\n" + man_options(line);
  text += ".SH VERBS\n";
  for (const auto* each : all) {
    text +=
        fmt::format(".SS {}\n{}.\n{}", man_text(usage(*each)), man_text(each->get_description()), man_options(*each));
  }
  text += ".SH EXIT STATUS\n";
  for (const auto& each : exit_meanings)
    text += fmt::format(".TP\n.B {}\n{}\n", man_text(each.number), man_text(each.text));
  return text + man_rest;
}

std::string bash_completion(const CLI::App& line) {
  std::vector<std::string> names;
  for (const auto* each : verbs_of(line)) names.push_back(each->get_name());
  const auto global = all_spellings(line);
  std::string options, values;
  for (const auto* verb : verbs_of(line)) {
    for (const auto* each : named_options(*verb)) {
      if (const auto words = choices(*each); !words.empty()) {
        values += fmt::format("    {}) COMPREPLY=($(compgen -W '{}' -- \"$word\")); return ;;\n",
                              fmt::join(spellings(*each), "|"), fmt::join(words, " "));
      }
    }
    options += fmt::format("    {}) options='{}' ;;\n", verb->get_name(), fmt::join(all_spellings(*verb), " "));
  }
  return fmt::format(
      R"(# SPDX-License-Identifier: BSL-1.0
# Completion of dlock for bash, generated from the definition of its command line.
_dlock() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} verb= options= i
  COMPREPLY=()
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${{COMP_WORDS[i]}} in
      --)
        # The command of run: its name, then what its own completion gives.
        if ((i + 1 == COMP_CWORD)); then
          COMPREPLY=($(compgen -c -- "$word"))
        elif declare -F _command_offset >/dev/null; then
          _command_offset $((i + 1))
        else
          COMPREPLY=($(compgen -f -- "$word"))
        fi
        return ;;
      {}) ((i++)) ;;
      -*) ;;
      *) if [ -z "$verb" ]; then verb=${{COMP_WORDS[i]}}; fi ;;
    esac
  done
  case $before in
{}    {}) COMPREPLY=($(compgen -f -- "$word")); return ;;
    {}) return ;;
  esac
  if [ -z "$verb" ]; then
    COMPREPLY=($(compgen -W '{} {}' -- "$word"))
    return
  fi
  case $verb in
{}  esac
  case $word in
    -*) COMPREPLY=($(compgen -W "$options {}" -- "$word")) ;;
    *) if [ "$verb" = timeline ]; then COMPREPLY=($(compgen -f -- "$word")); fi ;;
  esac
}}
complete -F _dlock dlock
)",
      bash_cases(line, takes_value), values, bash_cases(line, is_file), bash_cases(line, takes_value),
      fmt::join(names, " "), fmt::join(global, " "), options, fmt::join(global, " "));
}

std::string zsh_completion(const CLI::App& line) {
  std::string verbs, cases;
  for (const auto* verb : verbs_of(line)) {
    verbs += fmt::format("    '{}:{}'\n", verb->get_name(), zsh_text(verb->get_description()));
    std::string places;
    int number = 1;
    for (const auto* each : positionals(*verb)) {
      if (!takes_many(*each)) {
        // Even if nothing can be completed, a word that begins with '-' is an option.
        places += fmt::format("        '{0}:{1}:_guard \"^-*\" {1}' \\\n", number++, each->get_type_name());
      } else if (is_file(*each)) {
        places += fmt::format("        '*:{}:_files' \\\n", each->get_type_name());
      } else {
        places +=
            fmt::format("        '{}:{}:_command_names -e' '*:argument:_files' \\\n", number, each->get_type_name());
      }
    }
    auto specs = replaced(zsh_specs(*verb), "\n", " \\\n");
    specs = replaced(std::move(specs), "    '", "        '");
    cases += fmt::format("    {})\n      _arguments \\\n{}{}        $global ;;\n", verb->get_name(), specs, places);
  }
  return fmt::format(
      R"(#compdef dlock
# SPDX-License-Identifier: BSL-1.0
# Completion of dlock for zsh, generated from the definition of its command line.
_dlock() {{
  local curcontext=$curcontext state line
  local -a verbs global
  global=(
{}  )
  verbs=(
{}  )
  _arguments -C $global '1:verb:->verb' '*::rest:->rest'
  case $state in
    verb) _describe verb verbs ;;
    rest)
      case $words[1] in
{}      esac ;;
  esac
}}
_dlock "$@"
)",
      zsh_specs(line), verbs, cases);
}

std::string markdown_exit_codes() {
  std::string text;
  for (const auto& each : exit_meanings) text += fmt::format("- **{}**: {}\n", each.number, each.text);
  return text;
}

}  // namespace dlock::command
