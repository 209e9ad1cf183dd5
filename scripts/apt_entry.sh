#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# How apt reaches the mirror of this release, so that another suite can be had from the same one; scripts/setup.sh and
# scripts/mysql9.sh read this.

# The entry of apt's configuration that gives this release's main component: "<uri>|<file>:<number>".
own_entry() {
  local codename=$1
  # shellcheck disable=SC2016
  apt-get indextargets --format '$(CREATED_BY)|$(CODENAME)|$(COMPONENT)|$(REPO_URI)|$(SOURCESENTRY)' |
    awk -F'|' -v release="$codename" '$1 == "Packages" && $2 == release && $3 == "main" { print $4 "|" $5; exit }'
}
# Prints the entry for another suite with the options (keyring, proxies, validity) of the entry that is there.
suite_entry() { # file number uri suite extra
  local file=$1 number=$2 uri=$3 suite=$4 extra=$5
  if [[ $file == *.sources ]]; then
    printf 'Types: deb\nURIs: %s\nSuites: %s\nComponents: main\n' "$uri" "$suite"
    # stanza <number>, without comments and without the fields just written; continuation lines follow their field
    awk -v wanted="$number" '
      /^[ \t]*$/ { if (inside) { inside = 0 } ; next }
      /^#/ { next }
      { if (!inside) { inside = 1; stanza++ } }
      /^[^ \t]/ { keep = tolower($0) !~ /^(types|uris|suites|components|enabled|x-[^:]*|check-valid-until):/ }
      stanza == wanted && keep { print }' "$file"
    if [ -n "$extra" ] || grep -qiE '^check-valid-until: *no' "$file"; then echo 'Check-Valid-Until: no'; fi
    echo
  else
    local options
    options=$(sed -n "${number}p" "$file" | sed -nE 's/^[^[]*\[([^]]*)\].*/\1/p')
    if [ -n "$extra" ]; then options="$options check-valid-until=no"; fi
    if [ -n "$options" ]; then options="[ $options ] "; fi
    printf 'deb %s%s %s main\n' "$options" "$uri" "$suite"
  fi
}
