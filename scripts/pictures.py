#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Draws the pictures of the documentation.

  scripts/pictures.py           writes docs/pictures/*.svg
  scripts/pictures.py --check   prints each picture that is not what this program draws; exit code 1 when there is one

A picture follows the reader's light or dark mode. It has a background of its own, because a page may be dark
where the reader's system is light. That of the peers shows docs/pictures/peers.json, which ./dev bench --plot peers
writes.
"""
import itertools
import json
import math
import os
import sys
from html import escape

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "docs", "pictures")

#          class        light: fill, stroke          dark: fill, stroke
COLOURS = {
    "page": ("#ffffff", "#d0d7de", "#0d1117", "#30363d"),
    "box": ("#f6f8fa", "#818b98", "#161b22", "#656c76"),
    "held": ("#c6f0d0", "#1a7f37", "#10391e", "#3fb950"),
    "store": ("#d8ecff", "#0969da", "#10294b", "#4493f8"),
    "lost": ("#ffe1de", "#cf222e", "#47191c", "#f85149"),
    "line": ("none", "#59636e", "none", "#9198a1"),
    "tip": ("#59636e", "none", "#9198a1", "none"),
    "text": ("#1f2328", "none", "#e6edf3", "none"),
    "note": ("#59636e", "none", "#9198a1", "none"),
    "bad": ("#cf222e", "none", "#f85149", "none"),
    "good": ("#1a7f37", "none", "#3fb950", "none"),
}


def style():
    def rules(at):
        return "".join(f"    .{name} {{ fill: {c[at]}; stroke: {c[at + 1]} }}\n" for name, c in COLOURS.items())

    return (
        "  <style>\n    text { font: 14px Helvetica, Arial, sans-serif }\n    .bold { font-weight: bold }\n"
        + rules(0) + "    @media (prefers-color-scheme: dark) {\n" + rules(2) + "    }\n  </style>\n"
    )


class Picture:
    def __init__(self, name, width, height, title, description):
        self.name = name
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'role="img" aria-labelledby="title description">\n'
            f'  <title id="title">{escape(title)}</title>\n  <desc id="description">{escape(description)}</desc>\n',
            style(),
        ]
        self.box(0.5, 0.5, width - 1, height - 1, "page", radius=8)

    def box(self, x, y, width, height, kind, text="", radius=4, dash=False):
        dashes = ' stroke-dasharray="4 3"' if dash else ""
        self.parts.append(
            f'  <rect x="{x}" y="{y}" width="{width}" height="{height}" rx="{radius}" class="{kind}"{dashes}/>\n')
        if text:
            self.text(x + width / 2, y + height / 2 + 5, text, anchor="middle")

    def text(self, x, y, text, kind="text", anchor="start", bold=False):
        for n, line in enumerate(text.split("\n")):
            self.parts.append(
                f'  <text x="{x:g}" y="{y + 18 * n:g}" text-anchor="{anchor}" class="{kind}{" bold" if bold else ""}">'
                f"{escape(line)}</text>\n")

    def line(self, x1, y1, x2, y2, dash=False, kind="line"):
        dashes = ' stroke-dasharray="4 3"' if dash else ""
        self.parts.append(f'  <line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" class="{kind}"{dashes}/>\n')

    def tip(self, x, y, dx, dy):
        """The point of an arrow that goes along an axis; (dx, dy) has the length 1."""
        points = [(x, y), (x - 8 * dx + 4 * dy, y - 8 * dy + 4 * dx), (x - 8 * dx - 4 * dy, y - 8 * dy - 4 * dx)]
        self.parts.append(f'  <polygon points="{" ".join(f"{a:g},{b:g}" for a, b in points)}" class="tip"/>\n')

    def arrow(self, x1, y1, x2, y2, text="", dash=False, kind="text"):
        self.line(x1, y1, x2, y2, dash)
        sign = lambda a: (a > 0) - (a < 0)
        self.tip(x2, y2, sign(x2 - x1), sign(y2 - y1))
        if text:
            self.text((x1 + x2) / 2, y1 - 6, text, kind, "middle")

    def life(self, x, name, bottom):
        """A party of a sequence: its name and the line below it."""
        self.box(x - 75, 20, 150, 32, "box", name)
        self.line(x, 52, x, bottom, dash=True)

    def span(self, x1, x2, y, text):
        self.line(x1, y - 5, x1, y + 5)
        self.line(x2, y - 5, x2, y + 5)
        self.line(x1, y, x2, y)
        self.text((x1 + x2) / 2, y + 20, text, "note", "middle")

    def svg(self):
        return "".join(self.parts) + "</svg>\n"


def life_of_a_lease():
    p = Picture(
        "lease", 800, 404, "The life of a lease",
        "Above, the normal end: the holder acquires the key, renews every third of the ttl, and releases; the key is "
        "free at once. Below, renewals stop: trust in the lease ends one margin before the server may grant the key to "
        "another owner, which is one ttl after the last renewal.")
    for top, head in ((44, "The holder releases the key"), (222, "Renewals stop: a crash, a stopped process, a lost network")):
        p.text(24, top - 12, head, bold=True)
        p.text(24, top + 25, "the holder")
        p.text(24, top + 103, "the server")
    # The normal end.
    p.box(120, 48, 420, 32, "held", "held")
    p.box(120, 126, 420, 32, "store", "the row names the holder")
    p.box(540, 126, 230, 32, "box", "free", dash=True)
    p.arrow(120, 80, 120, 126)
    p.text(128, 108, "acquire", "note")
    for x in (240, 360, 480):
        p.arrow(x, 80, x, 126)
    p.text(248, 108, "renewal", "note")
    p.text(368, 108, "each ttl/3", "note")
    p.arrow(540, 80, 540, 126)
    p.text(548, 108, "release", "note")
    # Without renewals.
    p.box(120, 226, 420, 32, "held", "held")
    p.box(540, 226, 230, 32, "lost", "lost: ensure_held() throws")
    p.box(120, 304, 480, 32, "store", "the row names the holder")
    p.box(600, 304, 170, 32, "box", "another may have it", dash=True)
    p.arrow(120, 258, 120, 304)
    p.text(128, 286, "acquire", "note")
    p.arrow(240, 258, 240, 304)
    p.text(248, 286, "last renewal", "note")
    p.line(540, 258, 540, 304, dash=True)
    p.line(600, 258, 600, 304, dash=True)
    p.span(240, 600, 362, "ttl, counted from the last renewal")
    p.text(570, 286, "margin", "note", "middle")
    return p


def hand_over():
    p = Picture(
        "hand-over", 800, 482, "A hand-over between two processes",
        "Process A holds the key. Process B tries to take it, learns that it is busy, enters the waiter table, and sleeps "
        "at the database. A releases the key by one statement, whose reply names the connection on which B sleeps. A "
        "wakes B, and B takes the key with a greater fence.")
    a, s, b = 130, 380, 630
    for x, name in ((a, "process A"), (s, "the database"), (b, "process B")):
        p.life(x, name, 466)
    p.arrow(a, 86, s, 86, "take: yes, fence 7")
    p.box(a - 8, 86, 16, 206, "held", radius=2)
    p.text(a - 16, 180, "holds", "good", "end")
    p.arrow(b, 122, s, 122, "take: busy, A holds it")
    p.text(b + 14, 150, "pause of 10 ms", "note")
    p.arrow(b, 176, s, 176, "poll: still busy")
    p.arrow(b, 212, s, 212, "enter the waiter table")
    p.box(b - 8, 224, 16, 156, "box", radius=2, dash=True)
    p.text(b + 14, 290, "sleeps; polls\nevery 10 s", "note")
    p.arrow(a, 292, s, 292, "release: yes, B waits")
    p.text(s + 14, 318, "the key is free", "note")
    p.arrow(a, 344, s, 344, "end the sleep of B")
    p.arrow(s, 380, b - 8, 380, "awake")
    p.arrow(b, 416, s, 416, "take: yes, fence 8")
    p.box(b - 8, 416, 16, 50, "held", radius=2)
    p.text(b + 14, 446, "holds", "good")
    return p


def life_of_a_waiter():
    p = Picture(
        "waiter", 800, 316, "The life of a waiter",
        "From left to right: a call waits in the queue of its process; at the head it takes the key, and polls while that "
        "is busy; after 10 ms, where a release wakes waiters, it is registered and sleeps. From each it gets the key: when "
        "its process passes the key on, when a take finds it free, when a release wakes it. Below: from each the wait may "
        "end without the key, by lock_timeout, lock_refused, lock_deadlock or store_error.")
    p.box(24, 24, 752, 40, "held", "holds the key")
    p.box(24, 252, 752, 40, "lost", "lock_timeout · lock_refused · lock_deadlock · store_error")
    steps = (
        (24, 190, "queues", "behind other threads\nof its process", "the process\npasses the key on"),
        (292, 216, "polls", "10, 20, 40 … 250 ms,\neach shortened at random", "it finds\nthe key free"),
        (586, 190, "sleeps", "registered; looks\nat the key now and then", "a release\nwakes it"))
    for x, width, name, what, granted in steps:
        p.box(x, 128, width, 76, "box")
        p.text(x + width / 2, 150, name, anchor="middle", bold=True)
        p.text(x + width / 2, 172, what, "note", "middle")
        p.arrow(x + width / 2, 128, x + width / 2, 64)
        p.text(x + width / 2 + 10, 92, granted, "note")
        p.arrow(x + width / 2, 204, x + width / 2, 252, dash=True)
    p.text(408, 234, "wait over, cancelled, a deadlock, a failure", "note")
    p.arrow(214, 166, 292, 166, "first", kind="note")
    p.arrow(508, 166, 586, 166, "10 ms", kind="note")
    return p


def take_over():
    p = Picture(
        "take-over", 860, 506, "A take-over after a crash",
        "Process A holds the key with fence 7 and stops. Process B polls and learns that the key is busy until the "
        "session of A has expired, a ttl after its last renewal. Then B takes over, with fence 8. If A was only stopped "
        "and goes on, it finds its lease lost, and its late write with fence 7 is refused.")
    a, s, b, d = 120, 340, 560, 760
    for x, name in ((a, "process A"), (s, "the lock tables"), (b, "process B"), (d, "your data")):
        p.life(x, name, 490)
    p.box(s - 8, 122, 16, 166, "store", radius=2)
    p.text(s - 16, 190, "A's session: one ttl", "note", "end")
    p.arrow(a, 86, s, 86, "take: yes, fence 7")
    p.arrow(a, 122, s - 8, 122, "renewal")
    p.box(a - 8, 86, 16, 66, "held", radius=2)
    p.box(a - 8, 152, 16, 220, "lost", radius=2, dash=True)
    p.text(a - 16, 157, "kill -9, or\na long stop", "bad", "end")
    p.arrow(b, 150, s + 8, 150, "take: busy, A holds it")
    p.arrow(b, 186, s + 8, 186, "poll: busy")
    p.text(b + 14, 206, "waits until the session\nof A can have expired", "note")
    p.text(a + 16, 228, "A's lease is lost", "bad")
    p.line(a + 8, 236, s - 8, 236, dash=True)
    p.text(a + 16, 262, "one margin later its", "note")
    p.text(a + 16, 280, "session has expired", "note")
    p.arrow(b, 310, s, 310, "poll: A is dead")
    p.arrow(b, 346, s, 346, "take over: yes, fence 8")
    p.box(b - 8, 346, 16, 144, "held", radius=2)
    p.arrow(b + 8, 382, d, 382, "write, fence 8: done")
    p.text(a - 16, 412, "if A only\nstood still:", "note", "end")
    p.text(a + 16, 412, "ensure_held() throws\nlock_lost", "bad")
    p.line(a, 472, b - 8, 472)
    p.arrow(b + 8, 472, d, 472, "refused", kind="bad")
    p.text(a + 16, 464, "late write, fence 7", "bad")
    return p


def layers():
    p = Picture(
        "layers", 800, 584, "The layers of dlock",
        "From top to bottom: your code; the public interface, which is macros, locked, with_lock, distributed_mutex, lock_service "
        "and lease; the engine with core, drivers, operations, background, registry, statements and machines; and the "
        "stores: memory, SQLite, MySQL, Redis, ZooKeeper. Each uses only what is below it.")
    p.box(24, 20, 752, 34, "box", "your code")
    p.box(24, 70, 752, 104, "held", radius=6)
    p.text(36, 90, "public interface: no logic of its own", "note")
    p.text(764, 90, "include/dlock, src/api", "note", "end")
    p.box(40, 98, 404, 28, "page", "macros · locked · with_lock · distributed_mutex")
    p.box(40, 134, 404, 28, "page", "lock_service · lease · multi_lease")
    p.box(460, 98, 300, 28, "page", "beside: dlock::odb, dlock::asio")
    p.box(460, 134, 300, 28, "page", "keys: key<…>, key_of, lock_key")
    p.box(24, 190, 752, 260, "box", radius=6)
    p.text(36, 210, "engine: what to send, and what an answer means", "note")
    p.text(764, 210, "src/engine", "note", "end")
    for n, name in enumerate((
            "core: the service; blocking and asynchronous calls",
            "drivers: run operations on the caller's thread, or all on one thread",
            "operations: acquire, release, renew by hand",
            "background: sessions, deferred statements, clean-up, notification",
            "registry: grants, sessions, the queues of this process",
            "statements: batches and connections; the only part that sends",
            "machines: replies and time in, the next step out; no clock, no thread")):
        p.box(40, 220 + 32 * n, 720, 26, "page", name)
    p.box(24, 466, 752, 102, "store", radius=6)
    p.text(36, 486, "stores: execute a statement on a connection, report the outcome", "note")
    p.text(764, 486, "src/stores", "note", "end")
    for n, (name, below) in enumerate((
            ("memory", "for tests"), ("sqlite", "a file"), ("mysql", "and its schemes"), ("redis", "setnx, redlock"),
            ("zookeeper", "an ensemble"))):
        p.box(40 + 145.5 * n, 496, 138, 58, "page")
        p.text(109 + 145.5 * n, 520, name, anchor="middle", bold=True)
        p.text(109 + 145.5 * n, 540, below, "note", "middle")
    for y in (54, 174, 450):
        p.arrow(400, y, 400, y + 16)
    return p


def two_digits(number):
    """Two digits are what such a measurement can be trusted for."""
    shown = round(number, 1 - math.floor(math.log10(number)))
    return f"{shown:,.0f}" if shown >= 10 else f"{shown:.1f}" if shown >= 1 else f"{shown:.2f}"


class LogScale:
    def __init__(self, left, width, numbers):
        self.left, self.width = left, width
        self.low, self.high = math.floor(math.log10(min(numbers))), math.log10(max(numbers))

    def at(self, number):
        return round(self.left + self.width * (math.log10(number) - self.low) / (self.high - self.low), 1)

    def powers(self):
        return [10 ** n for n in range(self.low, math.floor(self.high) + 1)]


def peers():
    with open(os.path.join(FOLDER, "peers.json"), encoding="utf-8") as file:
        rows = json.load(file)["contenders"]
    measured = [row for row in rows if "missing" not in row]
    rate = lambda row, threads: row[f"pairs_per_s_{threads}"]["median"]
    ms = lambda row, which: row["hand_over_ms"][which]
    one = LogScale(230, 130, [rate(row, "1_thread") for row in measured])
    many = LogScale(425, 130, [rate(row, "64_threads") for row in measured])
    hand_over = LogScale(620, 150, [ms(row, which) for row in measured for which in ("p50", "p99")])
    servers = [(server, list(of)) for server, of in itertools.groupby(rows, lambda row: row["server"])]
    top, step = 112, 24
    bottom = top + step * (len(rows) + len(servers))
    p = Picture(
        "peers", 880, bottom + 48, "dlock beside other locks of the same servers",
        "Bars on logarithmic scales, for each server and client: how often a second one thread locks and unlocks a free "
        "key, how often 64 threads do with a key each, and how long a hand-over to a waiting process takes. " +
        " ".join(f'{row["server"]}, {row["client"]}: {two_digits(rate(row, "1_thread"))}, '
                 f'{two_digits(rate(row, "64_threads"))}, {two_digits(ms(row, "p50"))} ms.' for row in measured))
    p.box(24, 20, 16, 16, "held", radius=2)
    p.text(48, 33, "dlock")
    p.box(104, 20, 16, 16, "store", radius=2)
    p.text(128, 33, "other clients")
    for scale, head, unit in ((one, "1 thread", "pairs a second"), (many, "64 threads", "pairs a second"),
                              (hand_over, "hand-over", "ms: bar p50, line p99")):
        p.text(scale.left, 70, head, bold=True)
        p.text(scale.left, 88, unit, "note")
        for power in scale.powers():
            p.line(scale.at(power), top - 10, scale.at(power), bottom, kind="page")
            p.text(scale.at(power), bottom + 20, f"{power:,g}", "note", "middle")
    y = top
    for server, of in servers:
        p.text(24, y + 12, server, bold=True)
        y += step
        for row in of:
            p.text(36, y + 12, row["client"])
            if "missing" in row:
                p.text(one.left, y + 12, "missing: " + row["missing"], "note")
            else:
                kind = "held" if row["dlock"] else "store"
                for scale, number in ((one, rate(row, "1_thread")), (many, rate(row, "64_threads"))):
                    p.box(scale.left, y, scale.at(number) - scale.left, 16, kind, radius=2)
                    p.text(scale.at(number) + 6, y + 12, two_digits(number))
                half, late = hand_over.at(ms(row, "p50")), hand_over.at(ms(row, "p99"))
                p.box(hand_over.left, y, half - hand_over.left, 16, kind, radius=2)
                p.line(half, y + 8, late, y + 8)
                p.line(late, y + 3, late, y + 13)
                p.text(late + 6, y + 12, f'{two_digits(ms(row, "p50"))} / {two_digits(ms(row, "p99"))}')
            y += step
    return p


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        sys.exit(__doc__)
    bad = 0
    for picture in (life_of_a_lease(), hand_over(), life_of_a_waiter(), take_over(), layers(), peers()):
        path = os.path.join(FOLDER, picture.name + ".svg")
        if not check:
            os.makedirs(FOLDER, exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(picture.svg())
            continue
        try:
            with open(path, encoding="utf-8") as file:
                same = file.read() == picture.svg()
        except FileNotFoundError:
            same = False
        if not same:
            print(f"docs/pictures/{picture.name}.svg:1: not what scripts/pictures.py draws: run it")
            bad = 1
    sys.exit(bad)


main()
