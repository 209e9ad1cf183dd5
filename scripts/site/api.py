# SPDX-License-Identifier: BSL-1.0
"""Doxygen's XML of the public headers as Markdown pages, one for each header."""
import html
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as xml

SETTINGS = """
INPUT = {include}/dlock
STRIP_FROM_PATH = {include}
RECURSIVE = YES
FILE_PATTERNS = *.hpp
EXCLUDE_PATTERNS = */detail/*
EXCLUDE_SYMBOLS = dlock::detail* dlock::engine* dlock::base*
INPUT_FILTER = "python3 {filter}"
EXTRACT_ALL = YES
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
OUTPUT_DIRECTORY = {output}
AUTOLINK_SUPPORT = NO
ENABLE_PREPROCESSING = YES
MACRO_EXPANSION = NO
HAVE_DOT = NO
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_IF_INCOMPLETE_DOC = NO
"""


def text_of(node):
    return "".join(node.itertext()) if node is not None else ""


def code(text):
    """In the code format, whatever is in it."""
    return "``" + text + "``" if "`" in text else "`" + text + "`"


def inline(node):
    out = html.escape(node.text or "", quote=False) if node.tag not in ("computeroutput",) else ""
    if node.tag == "computeroutput":
        return code(text_of(node))
    for child in node:
        if child.tag in ("bold", "emphasis"):
            mark = "**" if child.tag == "bold" else "*"
            out += mark + inline(child) + mark
        elif child.tag == "ulink":
            out += "[" + inline(child) + "](" + child.get("url", "") + ")"
        elif child.tag == "linebreak":
            out += "\n"
        elif child.tag in BLOCKS:
            out += "\n\n" + block(child, 0) + "\n\n"
        elif child.tag in ("ref", "computeroutput"):
            out += inline(child)
        else:
            unknown(child)
        out += html.escape(child.tail or "", quote=False)
    return out


def unknown(node):
    """What would be left out, or come out of place, ends the build."""
    sys.exit(f"site: Doxygen writes <{node.tag}>, which api.py does not know: {text_of(node)[:80]!r}")


BLOCKS = ("para", "table", "itemizedlist", "orderedlist", "verbatim", "programlisting", "preformatted", "simplesect",
          "parameterlist", "detaileddescription", "briefdescription")


def fenced(text):
    return "```cpp\n" + text.strip("\n") + "\n```"


def block(node, depth):
    if node.tag == "para":
        return re.sub(r"\n{3,}", "\n\n", inline(node)).strip()
    if node.tag in ("itemizedlist", "orderedlist"):
        mark = "- " if node.tag == "itemizedlist" else "1. "
        items = []
        for item in node:
            body = "\n\n".join(block(each, depth + 1) for each in item)
            items.append(mark + body.replace("\n", "\n    "))
        return "\n".join(items)
    if node.tag in ("verbatim", "preformatted"):
        return fenced(text_of(node))
    if node.tag == "programlisting":
        lines = []
        for line in node:
            for space in line.iter("sp"):
                space.text = " "
            lines.append(text_of(line))
        return fenced("\n".join(lines))
    if node.tag == "table":
        return table(node)
    return description(node)


def table(node):
    lines = []
    for row in node:
        cells = [" ".join(block(each, 0) for each in cell).replace("\n", " ").replace("|", "\\|") for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
        if len(lines) == 1:
            lines.append("|" + "---|" * len(cells))
    return "\n".join(lines)


def description(node):
    if node is None:
        return ""
    for child in node:
        if child.tag not in BLOCKS:
            unknown(child)
    return "\n\n".join(each for each in (block(child, 0) for child in node) if each)


def described(member):
    parts = [description(member.find("briefdescription")), description(member.find("detaileddescription"))]
    return "\n\n".join(part for part in parts if part)


def declaration(member):
    template = member.find("templateparamlist")
    prefix = ""
    if template is not None:
        prefix = "template <" + ", ".join(
            " ".join(filter(None, (text_of(each.find("type")), text_of(each.find("declname"))))) for each in template
        ) + ">\n"
    kind, name = member.get("kind"), text_of(member.find("name"))
    if kind == "define":
        return "#define " + name + ("(" + ", ".join(text_of(each) for each in member.findall("param")) + ")"
                                    if member.find("param") is not None else "")
    if kind == "enum":
        strong = "enum class " if member.get("strong") == "yes" else "enum "
        return strong + name
    if kind == "function":
        result = text_of(member.find("type"))
        return prefix + (result + " " if result else "") + name + text_of(member.find("argsstring"))
    if kind == "variable":
        return text_of(member.find("type")) + " " + name + text_of(member.find("initializer"))
    return prefix + text_of(member.find("definition"))


def member_text(member):
    lines = [fenced(declaration(member))]
    about = described(member)
    if about:
        lines.append(about)
    if member.get("kind") == "enum":
        values = []
        for value in member.findall("enumvalue"):
            say = described(value).replace("\n", " ")
            values.append("- `" + text_of(value.find("name")) + "`" + (": " + say if say else ""))
        lines.append("\n".join(values))
    return "\n\n".join(lines)


def wanted(member):
    name = text_of(member.find("name"))
    return (member.get("prot") in (None, "public") and "=delete" not in text_of(member.find("argsstring")).replace(" ", "")
            and not name.startswith("DLOCK_DETAIL") and member.get("kind") in
            ("function", "enum", "typedef", "variable", "define") and (described(member) or member.get("kind") == "enum"))


def title_of(compound):
    return text_of(compound.find("compoundname")).replace("dlock::", "", 1)


def class_text(compound):
    lines = ["## " + code(compound.get("kind") + " " + title_of(compound)), described(compound)]
    for section in compound.findall("sectiondef"):
        if section.get("kind", "").startswith(("private", "protected")):
            continue
        lines += [member_text(each) for each in section.findall("memberdef") if wanted(each)]
    return "\n\n".join(line for line in lines if line)


def pages(include, work, target):
    """Writes target/<header>.md for each public header; returns their paths below `include`."""
    os.makedirs(work, exist_ok=True)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(work, "Doxyfile"), "w", encoding="utf-8") as out:
        out.write(SETTINGS.format(include=include, output=work, filter=os.path.join(here, "comments.py")))
    made = subprocess.run(["doxygen", os.path.join(work, "Doxyfile")], check=True, stderr=subprocess.PIPE, text=True)
    if made.stderr:
        sys.exit("site: Doxygen warns:\n" + made.stderr)
    compounds = {}
    for name in sorted(os.listdir(os.path.join(work, "xml"))):
        if name.endswith(".xml") and name != "index.xml":
            for compound in xml.parse(os.path.join(work, "xml", name)).getroot().iter("compounddef"):
                compounds[compound.get("id")] = compound
    free = {}  # header: the members of namespaces that it declares
    for compound in compounds.values():
        if compound.get("kind") == "namespace":
            for member in compound.iter("memberdef"):
                where = member.find("location").get("file")
                if wanted(member):
                    free.setdefault(where, []).append(member)
    made = []
    for compound in compounds.values():
        if compound.get("kind") != "file":
            continue
        where = compound.find("location").get("file")
        path = os.path.relpath(os.path.join(include, where), include)
        parts = [described(compound)]
        for inner in compound.findall("innerclass"):
            one = compounds.get(inner.get("refid"))
            if one is not None and inner.get("prot") in (None, "public") and one.get("kind") in ("class", "struct"):
                parts.append(class_text(one))
        macros = [each for each in compound.iter("memberdef") if each.get("kind") == "define" and wanted(each)]
        functions = free.get(where, []) + macros
        if functions:
            parts.append("## Functions, types and macros")
            parts += [member_text(each) for each in functions]
        parts = [part for part in parts if part]
        if not parts:
            continue
        page = os.path.join(target, path[:-len(".hpp")] + ".md")
        os.makedirs(os.path.dirname(page), exist_ok=True)
        with open(page, "w", encoding="utf-8") as out:
            out.write("# " + path + "\n\n" + "\n\n".join(parts) + "\n")
        made.append(path)
    return sorted(made)
