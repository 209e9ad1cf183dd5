#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Builds the site: the pages of the repository and the reference of its headers, with search, light and dark.

  scripts/site/build.py FOLDER      writes FOLDER/html; exit code 1 when a link leads nowhere

It needs mkdocs, mkdocs-material and doxygen. The pages keep their places below each other, so their links stay what
they are; a link to a file that is no page leads to a copy of it.
"""
import html.parser
import os
import re
import shutil
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import api

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))
GUIDE = ["cookbook", "leader", "once", "keys", "waiting", "several-keys", "threads", "asynchronous", "errors", "transactions",
         "row-locks", "annotations", "testing"]
STORES = ["stores", "mysql-schemes", "redis", "zookeeper", "comparison"]
RUNNING = ["install", "command", "metrics", "operations", "performance"]
INSIDE = ["guarantees", "protocol", "measurements", "reliability", "architecture", "writing-a-store"]


def copy(relative, pages):
    target = os.path.join(pages, relative)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copyfile(os.path.join(ROOT, relative), target)


def repository_pages():
    for name in ("README.md", "README.zh-CN.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "tests/README.md",
                 "tests/known_faults.md", "tests/mistakes.md"):
        yield name
    for folder in ("docs", "samples"):
        for where, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in sorted(names):
                if name.endswith((".md", ".svg")):
                    yield os.path.relpath(os.path.join(where, name), ROOT)


def linked_files(page):
    """Files of the repository, other than pages, to which a page links."""
    with open(os.path.join(ROOT, page), encoding="utf-8") as file:
        text = re.sub(r"^```.*?^```", "", file.read(), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", text):
        path = os.path.normpath(os.path.join(os.path.dirname(page), target))
        if "://" not in target and not path.endswith((".md", ".svg")) and os.path.isfile(os.path.join(ROOT, path)):
            yield path


def navigation(headers):
    def entries(names):
        return [f"docs/{name}.md" for name in names if os.path.exists(os.path.join(ROOT, "docs", name + ".md"))]

    known = set(entries(GUIDE + STORES + RUNNING + INSIDE))
    rest = [f"docs/{name}" for name in sorted(os.listdir(os.path.join(ROOT, "docs")))
            if name.endswith(".md") and f"docs/{name}" not in known]
    lines = ["nav:", "  - Home: README.md"]
    for title, names in (("Guide", entries(GUIDE)), ("Stores", entries(STORES)), ("Running it", entries(RUNNING)),
                         ("Inside", entries(INSIDE) + rest)):
        lines.append(f"  - {title}:")
        lines += [f"      - {name}" for name in names]
    lines.append("  - Reference:")
    lines += [f"      - {path.split('/', 1)[1]}: reference/{path[:-4]}.md" for path in headers]
    lines.append("  - 中文:")
    lines += ["      - README.zh-CN.md"] + [f"      - docs/zh-CN/{name}" for name in
                                            sorted(os.listdir(os.path.join(ROOT, "docs", "zh-CN")))]
    lines.append("  - Project:")
    lines += ["      - CHANGELOG.md", "      - CONTRIBUTING.md", "      - tests/README.md", "      - tests/mistakes.md"]
    return "\n".join(lines)


SETTINGS = """
site_name: dlock
docs_dir: pages
site_dir: html
use_directory_urls: false
theme:
  name: material
  font: false
  features: [navigation.tabs, navigation.sections, navigation.top, content.code.copy, toc.integrate]
  palette:
    - media: "(prefers-color-scheme: light)"
      scheme: default
      primary: indigo
      toggle: {icon: material/weather-night, name: Dark}
    - media: "(prefers-color-scheme: dark)"
      scheme: slate
      primary: indigo
      toggle: {icon: material/weather-sunny, name: Light}
extra_css: [extra.css]
plugins: [search]
markdown_extensions:
  - tables
  - attr_list
  - sane_lists
  - pymdownx.highlight
  - pymdownx.superfences
  - toc:
      permalink: true
      toc_depth: 3
      slugify: !!python/name:pymdownx.slugs.uslugify
"""


# Code of 120 columns fits beside the navigation on a screen of 1280 points (its own column for the headings of a page
# would take that room), and links can be read on dark ground.
STYLE = """
.md-grid { max-width: 80rem }
.md-typeset pre > code { font-size: .76em }
[data-md-color-scheme="slate"] { --md-typeset-a-color: #8ab4ff }
"""


class links(html.parser.HTMLParser):
    """What a page links to, and the names that links to it may end in."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.names = [], set()
        with open(path, encoding="utf-8") as file:
            self.feed(file.read())

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        for name in ("id", "name"):
            if given.get(name):
                self.names.add(given[name])
        for name in ("href", "src"):
            if given.get(name):
                self.targets.append(given[name])


def dead_links(folder):
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".html"):
                path = os.path.join(where, name)
                found[path] = links(path)
    dead = []
    for path, page in found.items():
        if os.path.basename(path) == "404.html":
            continue
        for target in page.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            file = path
            if parts.path:
                file = os.path.normpath(os.path.join(os.path.dirname(path), unquote(parts.path)))
                if os.path.isdir(file):
                    file = os.path.join(file, "index.html")
            if not os.path.exists(file):
                dead.append(f"{os.path.relpath(path, folder)}: {target}")
            elif parts.fragment and file in found and unquote(parts.fragment) not in found[file].names:
                dead.append(f"{os.path.relpath(path, folder)}: {target}: no such heading")
    return sorted(set(dead))


def lost_tables(folder):
    """Pages of the reference that show fewer tables than the headers have."""
    for where, _, names in os.walk(os.path.join(folder, "pages", "reference")):
        for name in names:
            page = os.path.join(where, name)
            shown = os.path.relpath(page, os.path.join(folder, "pages"))[:-len(".md")] + ".html"
            with open(page, encoding="utf-8") as file, open(os.path.join(folder, "html", shown), encoding="utf-8") as made:
                if len(re.findall(r"^\|(---\|)+$", file.read(), flags=re.M)) != made.read().count("<table"):
                    yield shown


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    pages = os.path.join(folder, "pages")
    for page in repository_pages():
        copy(page, pages)
        if page.endswith(".md"):
            for file in linked_files(page):
                copy(file, pages)
    headers = api.pages(os.path.join(ROOT, "include"), os.path.join(folder, "doxygen"), os.path.join(pages, "reference"))
    with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as out:
        out.write(SETTINGS.lstrip() + navigation(headers) + "\n")
    with open(os.path.join(pages, "extra.css"), "w", encoding="utf-8") as out:
        out.write(STYLE)
    subprocess.run(["mkdocs", "build", "--quiet", "--config-file", os.path.join(folder, "mkdocs.yml")], check=True)
    dead = dead_links(os.path.join(folder, "html"))
    for each in dead:
        print(f"site: dead link: {each}", file=sys.stderr)
    lost = sorted(lost_tables(folder))
    for each in lost:
        print(f"site: a table is no table: {each}", file=sys.stderr)
    if dead or lost:
        sys.exit(1)
    print(f"site: {os.path.join(folder, 'html', 'index.html')}")


main()
