#!/usr/bin/env python3
# SPDX-License-Identifier: BSL-1.0
"""Doxygen's input filter: prints one header so that Doxygen reads its comments as their authors meant them.

The first comment of a header describes the file. An example is indented by two columns more than the text, where
Doxygen's Markdown wants four and an empty line before. Nothing else in a comment is a command of Doxygen's, or HTML.
A specialization of another namespace's template is left out, because Doxygen finds no place for it.
"""
import re
import sys


def escaped(text):
    """What stands between backquotes is code already, and is shown as it is."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([\\\\@<>])", r"\\\1", parts[i])
    return "`".join(parts)


def own(lines):
    """Without specializations."""
    at = 0
    while at < len(lines):
        if lines[at].strip() == "template <>" and re.match(r"struct (std|fmt)::", lines[at + 1]):
            at += 1
            while not lines[at].rstrip().endswith("};") and not lines[at].rstrip().endswith("{};"):
                at += 1
        else:
            yield lines[at]
        at += 1


with open(sys.argv[1], encoding="utf-8") as header:
    source = header.readlines()
first, in_list, in_code, after_blank = True, False, False, False
for line in own(source):
    comment = re.match(r"(\s*)///(.*)$", line)
    if not comment:
        in_list = in_code = after_blank = False
        if re.match(r"\s*(#if|namespace|class|struct|inline|template)", line):
            first = False
        sys.stdout.write(line)
        continue
    indent, text = comment.groups()
    if first:
        first = False
        sys.stdout.write(indent + "/// \\file\n" + indent + "///\n")
    if text.strip() == "":
        after_blank = True
        sys.stdout.write(indent + "///\n")
        continue
    if re.match(r"\s*(-|\d+\.) ", text):
        in_list, in_code = True, False
    elif not text.startswith("   "):
        in_list = in_code = False
    elif not in_list:
        if not in_code and not after_blank:
            sys.stdout.write(indent + "///\n")
        in_code = True
    if in_code:
        text = "    " + text
    else:
        text = escaped(text)
    after_blank = False
    sys.stdout.write(indent + "///" + text + "\n")
