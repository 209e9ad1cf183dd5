#!/usr/bin/env bash
# SPDX-License-Identifier: BSL-1.0
#
# What cmake/stores.cmake says of the stores, for scripts, which include this file:
#   stores                            their names
#   stores_with <keyword>             those of the stores that have it
#   store_words <keyword> [<store>]   the words behind it, of one store or of all
stores_table=$(dirname "${BASH_SOURCE[0]}")/../cmake/stores.cmake
stores() { sed -nE 's/^dlock_store\(([a-z_]+)$/\1/p' "$stores_table"; }
stores_with() {
  awk -v keyword="$1" '
    /^dlock_store\(/ { name = substr($1, 13) }
    { word = $1; sub(/\)$/, "", word) }
    name != "" && word == keyword { print name }' "$stores_table"
}
store_words() {
  awk -v keyword="$1" -v store="${2:-}" '
    /^dlock_store\(/ { name = substr($1, 13) }
    name != "" && $1 == keyword && (store == "" || store == name) {
      gsub(/[")]/, "")
      for (i = 2; i <= NF; ++i) print $i
    }' "$stores_table"
}
