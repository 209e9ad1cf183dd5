# SPDX-License-Identifier: BSL-1.0
"""Compares the figures of two commits: bench_against.py FIGURES_HERE FIGURES_THERE, as ./dev bench --against calls it.

Each file has a line of JSON for each figure and run. Prints the median over the runs of each figure that both have.
"""
import json
import statistics
import sys


def read(path):
    figures = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            figure = json.loads(line)
            figures.setdefault((figure["name"], figure["unit"]), []).append(figure["median"])
    return figures


def main(here_path, there_path):
    here, there = read(here_path), read(there_path)
    if not here.keys() & there.keys():
        sys.exit("bench_against.py: no figure that both have; do these benchmarks write any?")
    print(f"{'there':>10} {'here':>10} {'here/there':>10}  figure (median of the runs)")
    for key, values in here.items():
        if key not in there:
            continue
        now, before = statistics.median(values), statistics.median(there[key])
        ratio = f"{now / before:.3f}" if before else "-"
        print(f"{before:>10.4g} {now:>10.4g} {ratio:>10}  {key[0]} [{key[1]}]")
    for name, one, other in (("here", here, there), ("there", there, here)):
        alone = [key[0] for key in one if key not in other]
        if alone:
            print(f"only {name}: " + "; ".join(alone))


main(*sys.argv[1:])
