#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Prints what the tests reach of each folder, from the table that gcovr writes: coverage.py FILE.csv"""
import collections
import csv
import sys

totals = collections.defaultdict(lambda: [0, 0, 0, 0])
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        parts = row["filename"].split("/")
        folder = "/".join(parts[: 3 if parts[:2] == ["src", "stores"] else 2])
        for name in (folder, "all"):
            total = totals[name]
            for index, column in enumerate(("line_covered", "line_total", "branch_covered", "branch_total")):
                total[index] += int(row[column])
print("| folder | lines | of them reached | branches | of them reached |")
print("|---|---|---|---|---|")
for folder in sorted(totals, key=lambda name: (name == "all", name)):
    lines, all_lines, branches, all_branches = totals[folder]
    share = [f"{100 * some / most:.1f} %" if most else "-" for some, most in ((lines, all_lines), (branches, all_branches))]
    print(f"| {folder} | {all_lines} | {share[0]} | {all_branches} | {share[1]} |")
