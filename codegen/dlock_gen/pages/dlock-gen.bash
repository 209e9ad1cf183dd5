# SPDX-License-Identifier: BSL-1.0
# Completion of dlock-gen for bash.
_dlock_gen() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  case $before in
    -o | --output-dir | -p | --compile-commands) COMPREPLY=($(compgen -d -- "$word")); return ;;
    --depfile) COMPREPLY=($(compgen -f -- "$word")); return ;;
  esac
  case $word in
    -*) COMPREPLY=($(compgen -W '-o --output-dir -p --compile-commands --depfile --keep-unchanged --explain --list --strict
      -h --help --version' -- "$word")) ;;
    *) COMPREPLY=($(compgen -f -- "$word")) ;;
  esac
}
complete -F _dlock_gen dlock-gen
