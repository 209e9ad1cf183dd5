# SPDX-License-Identifier: BSL-1.0
# The completion of bash, as a user meets it: complete_test.bash <dlock.bash>
set -u
# shellcheck disable=SC1090
. "$1"

failed=0
expect() { # what must be among the answers, then the words of the line, the last one unfinished
  local wanted=$1
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _dlock
  local each
  for each in ${COMPREPLY[@]+"${COMPREPLY[@]}"}; do
    if [ "$each" = "$wanted" ]; then return 0; fi
  done
  echo "$*: no $wanted among: ${COMPREPLY[*]-}"
  failed=1
}
refuse() { # what must not be among them
  local unwanted=$1
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _dlock
  case " ${COMPREPLY[*]-} " in *" $unwanted "*)
    echo "$*: $unwanted is among: ${COMPREPLY[*]}"
    failed=1
    ;;
  esac
}

complete -p dlock | grep -q _dlock || { echo "complete: dlock has no completion"; failed=1; }
expect run dlock r
expect timeline dlock ''
expect list dlock --url sqlite:run list
refuse list dlock --url li
expect --on-busy dlock run --on
expect skip dlock run --on-busy ''
refuse run dlock run --on-busy ''
expect --url dlock list --u
expect free dlock watch --until f
refuse --min-hold dlock list --
expect /etc/passwd dlock --config /etc/passw
expect /etc/passwd dlock timeline /etc/passw
expect bash dlock run job --ttl 5s -- bas
expect /etc/passwd dlock run job -- cat /etc/passw
exit $failed
