#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# Installs what dlock needs to build and to test, by apt, on Debian 12, Debian 13 and Ubuntu 24.04.
#   scripts/setup.sh [bench|coverage|format|fuzz|galera|model|package|site|tidy]   "bench" adds etcd and gRPC, "coverage" gcovr, "format" clang-format,
#                                           "fuzz" clang with libFuzzer, "galera" the provider of Galera clusters, "package"
#                                           what makes Debian packages, "tidy" clang-tidy; "model" installs Spin, "site" what
#                                           the web site needs, and nothing else
# It asks dpkg first and does nothing (no root, no apt) when everything is there. No package script may
# start a service while it installs: the tests run a MariaDB server of their own, never the system's.
#
# Debian 12 needs two more suites of the mirror that apt already uses: bullseye for the ODB runtime (dlock::odb), which
# bookworm lacks, and bookworm-backports for Catch2 version 3. Neither upgrades anything: bullseye is pinned to the ODB
# runtime, and backports never win by themselves.
# A mirror that no longer carries bullseye can be helped out with DLOCK_BULLSEYE_URI.
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

readonly sources_dir=/etc/apt/sources.list.d
readonly preferences=/etc/apt/preferences.d/dlock
readonly policy=/usr/sbin/policy-rc.d
readonly lock_file=/run/lock/dlock-setup.lock

# shellcheck source=scripts/stores.sh
. "$(dirname "${BASH_SOURCE[0]}")/stores.sh"
base_packages=(g++ cmake ninja-build ccache mold pkg-config git
  odb libodb-dev libodb-mysql-dev libodb-sqlite-dev
  libfmt-dev libspdlog-dev libcli11-dev libfccp-dev
  libclang-dev nlohmann-json3-dev
  prometheus-cpp-dev prometheus python3 zsh mandoc openssl)
# What the stores need. ODB's MySQL runtime is built on one of the two C clients, and a program must use the same one.
on_ubuntu=
if grep -qE '^ID(_LIKE)?=.*ubuntu' /etc/os-release; then on_ubuntu=1; fi
for store in $(stores); do
  keyword=SETUP
  if [ -n "$on_ubuntu" ] && [ -n "$(store_words UBUNTU "$store")" ]; then keyword=UBUNTU; fi
  mapfile -t -O ${#base_packages[@]} base_packages < <(store_words $keyword "$store")
done

# shellcheck source=scripts/apt_entry.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt_entry.sh"

say() { printf 'setup: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

installed() { # package: its installed version, or nothing
  local state
  state=$(dpkg-query -W -f='${db:Status-Status} ${Version}' "$1" 2>/dev/null) || return 0
  if [ "${state%% *}" = installed ]; then printf '%s' "${state#* }"; fi
}
at_least() { dpkg --compare-versions "$1" ge "$2"; }
apt_get() { apt-get -o DPkg::Lock::Timeout=600 "$@"; }
update_lists() { apt_get -qq update; }

# ---- what is missing ----------------------------------------------------------------------------------------

have_catch2() {
  local version
  version=$(installed catch2)
  [ -n "$version" ] && at_least "$version" 3
}
have_boost_pfr() { # Boost.PFR came with 1.75; Debian 12 keeps its default at 1.74 and offers 1.81 beside it
  local version
  version=$(installed libboost-dev)
  if [ -n "$version" ] && at_least "$version" 1.75; then return 0; fi
  [ -n "$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'libboost1.*-dev' 2>/dev/null |
    sed -nE 's/^installed (libboost1\.(7[5-9]|[89][0-9])-dev)$/\1/p')" ]
}
# Boost.Context, for the fibres of the simulation: that of the Boost whose headers are used.
boost_context_package() {
  local headers
  headers=libboost-dev
  if ! { [ -n "$(installed libboost-dev)" ] && at_least "$(installed libboost-dev)" 1.75; }; then
    headers=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' 'libboost1.*-dev' 2>/dev/null |
      sed -nE 's/^installed (libboost1\.(7[5-9]|[89][0-9])-dev)$/\1/p' | tail -n 1)
  fi
  printf '%s\n' "${headers/libboost/libboost-context}"
}
# ODB's compiler is a plug-in of one g++ release, which it runs by name; its package does not depend on that release.
odb_gcc() {
  local odb
  if odb=$(command -v odb); then grep -aoE '(^|[^[:alnum:]])g\+\+-[0-9]+' "$odb" | grep -aoE 'g.*' | sed 1q || true; fi
}
missing_packages() {
  local package
  for package in "${base_packages[@]}"; do
    if [ -z "$(installed "$package")" ]; then printf '%s\n' "$package"; fi
  done
  if [ -n "${alone:-}" ]; then return 0; fi
  for package in $(odb_gcc); do
    if [ -z "$(installed "$package")" ]; then printf '%s\n' "$package"; fi
  done
  if ! command -v node >/dev/null; then echo nodejs; fi
  if ! command -v npm >/dev/null; then echo npm; fi # Node.js from elsewhere often brings it, and conflicts with the package
  if ! have_catch2; then echo catch2; fi
  if ! have_boost_pfr; then
    echo boost # and then its Boost.Context, when it is known which one that is
  elif [ -z "$(installed "$(boost_context_package)")" ]; then
    boost_context_package
  fi
}

# ---- more suites of the same mirror (Debian 12) ---------------------------------------------------------------

write_suites() { # extra suite...
  local extra=$1 entry uri place file kind suite suite_uri
  shift
  # shellcheck disable=SC1091
  entry=$(own_entry "$(. /etc/os-release && echo "$VERSION_CODENAME")")
  [ -n "$entry" ] || die "apt has no source for this release's main component"
  uri=${entry%%|*} place=${entry#*|}
  file=${place%:*}
  kind=list
  if [[ $file == *.sources ]]; then kind=sources; fi
  rm -f "$sources_dir/dlock.list" "$sources_dir/dlock.sources"
  for suite in "$@"; do
    suite_uri=$uri
    if [ "$suite" = bullseye ]; then suite_uri=${DLOCK_BULLSEYE_URI:-$uri}; fi
    suite_entry "$file" "${place##*:}" "$suite_uri" "$suite" "$extra"
  done >"$sources_dir/dlock.$kind"
  chmod 644 "$sources_dir/dlock.$kind"
}
write_pins() {
  cat >"$preferences" <<'PINS'
Explanation: written by the setup script of dlock: only the ODB runtime comes from bullseye
Package: *
Pin: release n=bullseye
Pin-Priority: -10

Package: libodb*
Pin: release n=bullseye
Pin-Priority: 500
PINS
  chmod 644 "$preferences"
}
candidate() { apt-cache policy "$1" | sed -nE 's/^  Candidate: (.*)$/\1/p' | grep -v '^(none)$' || true; }
catch2_version() { # the newest version 3 that any source offers
  apt-cache madison catch2 | awk -F' *[|] *' '$2 ~ /^3\./ && $3 !~ /Sources$/ { print $2; exit }'
}
add_suites() {
  local suites=() suite log release
  # shellcheck disable=SC1091
  release=$(. /etc/os-release && echo "${ID:-} ${VERSION_CODENAME:-}")
  if [ -z "$(candidate libodb-mysql-dev)" ] || [ -z "$(candidate libodb-sqlite-dev)" ]; then suites+=(bullseye); fi
  if ! have_catch2 && [ -z "$(catch2_version)" ]; then suites+=("${release#* }-backports"); fi
  [ ${#suites[@]} -gt 0 ] || return 0
  [ "$release" = "debian bookworm" ] || die "apt offers no ODB runtime or no Catch2 3 on this system ($release)"
  for suite in bullseye bookworm-backports; do # those of an earlier run stay
    if [[ " ${suites[*]} " != *" $suite "* ]] && grep -qsw -- "$suite" "$sources_dir"/dlock.{list,sources}; then
      suites+=("$suite")
    fi
  done
  say "adding ${suites[*]} to apt's sources, for the ODB runtime and Catch2"
  if [[ " ${suites[*]} " == *" bullseye "* ]]; then write_pins; fi
  write_suites "" "${suites[@]}"
  if log=$(apt_get -q -o APT::Update::Error-Mode=any update 2>&1); then return 0; fi
  if grep -qi 'expired\|not valid anymore' <<<"$log"; then # a mirror frozen at some day
    say "the mirror's release files are past their date; switching that check off for these two suites"
    write_suites no-date-check "${suites[@]}"
    if log=$(apt_get -q -o APT::Update::Error-Mode=any update 2>&1); then return 0; fi
  fi
  rm -f "$sources_dir/dlock.list" "$sources_dir/dlock.sources" "$preferences"
  printf '%s\n' "$log" >&2
  die "the mirror does not give ${suites[*]}; DLOCK_BULLSEYE_URI may name a Debian mirror that still has bullseye"
}

# ---- install --------------------------------------------------------------------------------------------------

forbid_services() {
  if [ -e $policy ] && [ ! -e $policy.dlock-saved ]; then cp -p $policy $policy.dlock-saved; fi
  printf '#!/bin/sh\nexit 101\n' >$policy
  chmod 755 $policy
}
restore_services() {
  if [ -e $policy.dlock-saved ]; then mv -f $policy.dlock-saved $policy; else rm -f $policy; fi
}
boost_package() {
  local version
  version=$(candidate libboost-dev)
  if [ -n "$version" ] && at_least "$version" 1.75; then echo libboost-dev; else echo libboost1.81-dev; fi
}
install_missing() {
  local package wanted=()
  update_lists
  if [ -z "${alone:-}" ]; then add_suites; fi
  while read -r package; do
    case $package in
      boost) wanted+=("$(boost_package)") ;;
      catch2) wanted+=("catch2=$(catch2_version)") ;;
      *) wanted+=("$package") ;;
    esac
  done < <(missing_packages)
  [ ${#wanted[@]} -gt 0 ] || return 0
  say "installing ${wanted[*]}"
  forbid_services
  trap restore_services EXIT
  trap 'exit 130' INT TERM HUP
  # --no-remove: never take away something that the machine's owner uses
  apt_get -qq -y --no-install-recommends --no-remove -o Dpkg::Use-Pty=0 install "${wanted[@]}" </dev/null >&2
  restore_services
  trap - EXIT INT TERM HUP
}

main() {
  local missing
  case "${1:-}" in
    bench) base_packages+=(etcd-server libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc) ;;
    coverage) base_packages+=(gcovr) ;;
    format) base_packages+=(clang-format) ;;
    fuzz) base_packages+=(clang libclang-rt-dev) ;;
    tidy) base_packages+=(clang clang-tidy) ;;
    galera) base_packages+=(galera-4) ;;
    model) base_packages=(spin gcc) alone=1 ;;
    package) base_packages+=(dpkg-dev file) ;;
    site) base_packages=(python3 mkdocs mkdocs-material doxygen) alone=1 ;;
  esac
  if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    die "this script knows apt only; its head and cmake/stores.cmake list what to install by hand"
  fi
  missing=$(missing_packages | tr '\n' ' ')
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || die "needs root (or sudo) to install: $missing"
    exec sudo ${DLOCK_BULLSEYE_URI:+DLOCK_BULLSEYE_URI="$DLOCK_BULLSEYE_URI"} "$BASH" "$0" "$@"
  fi
  mkdir -p "${lock_file%/*}"
  exec 9>"$lock_file"
  flock 9 # two of us at once would write the same files; the second finds nothing left to do
  install_missing 9>&-
  if [ -n "$(missing_packages)" ]; then install_missing 9>&-; fi # the release of g++ that the odb now installed wants
  missing=$(missing_packages | tr '\n' ' ')
  [ -z "$missing" ] || die "still missing: $missing"
}

main "$@"
