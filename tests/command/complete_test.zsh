# SPDX-License-Identifier: BSL-1.0
# The completion of zsh, typed into an interactive shell: complete_test.zsh <folder of _dlock>
zmodload zsh/zpty || exit 1
folder=$1
scratch=$(mktemp -d) || exit 1
trap 'zpty -d shell 2>/dev/null; rm -rf $scratch' EXIT

zpty shell "HOME=$scratch TERM=dumb PS1= zsh -f -i"
say() { zpty -w shell "$1" }
say "unsetopt zle prompt_cr prompt_sp 2>/dev/null; setopt zle; stty -echo cols 200; fpath=($folder \$fpath)"
say "autoload -U compinit && compinit -u -d $scratch/dump; zstyle ':completion:*' verbose no"
say "bindkey '^I' complete-word; setopt auto_menu list_ambiguous"

failed=0
number=0
expect() { # what is typed before the tab, what the line must be then
  # The line goes into a file when it is accepted, so what is on the screen does not matter.
  number=$((number + 1))
  local file=$scratch/line$number
  say "complete_into() { zle expand-or-complete; print -r -- \"\$BUFFER\" >$file; BUFFER=; zle accept-line }; zle -N complete_into; bindkey '^X^T' complete_into; print ready >$scratch/ready$number"
  local i
  for ((i = 0; i < 600; i++)); do
    if [[ -s $scratch/ready$number ]]; then break; fi
    sleep 0.05
    zpty -rt shell discard 2>/dev/null
  done
  zpty -wn shell "$1"$'\x18\x14'
  for ((i = 0; i < 600; i++)); do
    if [[ -s $file ]]; then break; fi
    sleep 0.05
    zpty -rt shell discard 2>/dev/null
  done
  local got=$(<$file)
  if [[ ${got% } != "$2" ]]; then
    print -r -- "'$1' became '$got', not '$2'"
    failed=1
  fi
}

expect 'dlock doc' 'dlock doctor'
expect 'dlock run --on-b' 'dlock run --on-busy'
expect 'dlock run --on-busy sk' 'dlock run --on-busy skip'
expect 'dlock list --pre' 'dlock list --prefix'
expect 'dlock watch k --until fr' 'dlock watch k --until free'
expect 'dlock timeline /etc/passw' 'dlock timeline /etc/passwd'
exit $failed
