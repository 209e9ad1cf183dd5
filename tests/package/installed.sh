#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# installed.sh command|program|generator|rows: uses the packages in /packages, as root, in a system that has nothing else. It changes that
# system: scripts/check_packages.sh runs it in one that is thrown away.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
cd "$(dirname "${BASH_SOURCE[0]}")"
began=$SECONDS
fail() { printf 'installed: %s\n' "$*" >&2; exit 1; }
have() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

echo "deb [trusted=yes] file:/packages ./" >/etc/apt/sources.list.d/local.list
apt-get -qq -o APT::Sandbox::User=root update
install() { apt-get -qq -y -o Dpkg::Use-Pty=0 --no-install-recommends install "$@" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; fail "can't install $*"; }; }

case ${1:-} in
  command)
    install dlock-tools
    dlock run demo --url sqlite:/tmp/locks.db -- touch /tmp/done
    [ -e /tmp/done ] || fail "dlock run did not run its command"
    took=$((SECONDS - began))
    echo "from a bare system to 'dlock run': $took s"
    [ "$took" -le 60 ] || fail "that is more than a minute"
    dlock --version
    # All stores are known: each refuses the URL itself, or has no server.
    for url in mysql://u@127.0.0.1:1/d redis://127.0.0.1:1/0 zookeeper://127.0.0.1:1/p; do
      if dlock list --url "$url" 2>/tmp/why; then fail "$url has no server"; fi
      if grep -q 'link' /tmp/why; then cat /tmp/why; fail "the command does not know ${url%%:*}"; fi
    done
    [ -e /usr/share/bash-completion/completions/dlock ] || fail "there is no completion"
    # A small system leaves manual pages out when it installs, so what the package says is looked at.
    dpkg-query -L dlock-tools | grep -qx /usr/share/man/man1/dlock.1.gz || fail "the manual page is not compressed, or not there"
    if dpkg-query -W -f '${Maintainer}' dlock-tools | grep -q 'localhost'; then fail "the maintainer is nobody"; fi
    for package in libdlock libdlock-redis dlock-tools; do
      grep -q 'GPL-2' "/usr/share/doc/$package/copyright" || fail "$package does not say that ODB's runtime is under the GPL"
    done
    if dpkg-query -W 'libodb*' 2>/dev/null | grep -q .; then fail "the command has got ODB's runtime"; fi
    ;;
  program)
    install libdlock-dev libdlock-sqlite g++ pkg-config cmake ninja-build
    for other in libdlock-redis libdlock-mysql libdlock-zookeeper libzookeeper-mt2 libmariadb3 libmysqlclient21; do
      if have "$other"; then fail "a program with SQLite alone has got $other"; fi
    done
    for other in libhiredis libodb; do
      if dpkg-query -W "$other*" 2>/dev/null | grep -q .; then fail "a program with SQLite alone has got $other"; fi
    done
    # shellcheck disable=SC2046 # flags
    g++ -std=c++20 main.cpp take_lock.cpp -Wl,--as-needed $(pkg-config --cflags --libs dlock-sqlite) -o /tmp/consumer
    /tmp/consumer sqlite:/tmp/locks.db || fail "the program that pkg-config compiled took no lock"
    cmake -G Ninja -S find_package -B /tmp/build -D COMPONENTS=sqlite >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "find_package"; }
    cmake --build /tmp/build >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "the build by find_package"; }
    /tmp/build/consumer sqlite:/tmp/locks.db || fail "the program that CMake compiled took no lock"
    if cmake -G Ninja -S find_package -B /tmp/redis -D COMPONENTS=redis >/tmp/cmake.log 2>&1; then fail "redis is not installed"; fi
    grep -q 'libdlock-redis' /tmp/cmake.log || { cat /tmp/cmake.log; fail "CMake does not name the package that is missing"; }
    echo "a program with SQLite alone: compiled by pkg-config and by CMake, in $((SECONDS - began)) s"
    ;;
  generator)
    install dlock-gen libdlock-dev libdlock g++ cmake ninja-build
    cmake -G Ninja -S annotated -B /tmp/build -D COMPONENTS=core,gen >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "find_package"; }
    cmake --build /tmp/build >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "the build of an annotated class"; }
    /tmp/build/consumer || fail "the program with an annotated class"
    echo "a program with an annotated class, in $((SECONDS - began)) s"
    ;;
  rows)
    install libdlock-dev libdlock-odb-sqlite odb libodb-dev libodb-sqlite-dev libsqlite3-dev g++ cmake ninja-build
    cmake -G Ninja -S mapped_class -B /tmp/build -D COMPONENTS=sqlite,odb >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "find_package"; }
    cmake --build /tmp/build >/tmp/cmake.log 2>&1 || { cat /tmp/cmake.log; fail "the build of a mapped class"; }
    (cd /tmp && /tmp/build/consumer rows.db) || fail "the program that locks rows"
    echo "a program that locks rows, in $((SECONDS - began)) s"
    ;;
  *) fail "command, program, generator or rows" ;;
esac
