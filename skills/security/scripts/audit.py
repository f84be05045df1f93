#!/usr/bin/env python3
"""Names secrets, dangerous calls and risky changes in what was added to a git repository.

    audit.py [--range main..HEAD | --staged | --all] [--json]

Without an option: what the working tree has and HEAD does not. Nothing is run, changed or sent.
A line with `audit: ok` in it is passed over. Exit code 0: nothing found, 1: findings, 2: not looked at.
Python 3.8 or newer, nothing else.
"""

import argparse
import json
import os
import re
import subprocess
import sys

MAX_FILE_BYTES = 2_000_000
MAX_LINE = 2_000
MAX_FINDINGS = 500
ALLOWED = "audit: ok"

# Each: what it is called, a pattern, and the endings of names that it is looked for in (none: everywhere).
SECRETS = [
    ("a private key", r"-----BEGIN (?:[A-Z]+ ){0,3}PRIVATE KEY-----"),
    ("an AWS access key id", r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b"),
    ("a GitHub token", r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{60,})\b"),
    ("a GitLab token", r"\bglpat-[A-Za-z0-9_-]{20,}"),
    ("a Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("a Stripe key", r"\b[rs]k_live_[A-Za-z0-9]{20,}"),
    ("a key of an AI service", r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}"),
    ("a Google API key", r"\bAIza[0-9A-Za-z_-]{35}\b"),
    ("an npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    ("a password in an address", r"\b[a-z][a-z0-9+.-]{1,20}://[^\s:/@]{1,64}:[^\s:/@$<{]{3,64}@"),
    (
        "something that is called a secret",
        r"(?i)\b(?:password|passwd|secret|api_?key|access_?token|private_?key)\b[\"']?\s{0,9}[:=]\s{0,9}"
        r"[\"'](?!\$|\{|<|%|process\.|os\.|changeme|example|test|dummy|xxx)[^\"'\s]{8,200}[\"']",
    ),
]
JS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
PY = (".py", ".pyi")
SH = (".sh", ".bash", ".zsh", ".yml", ".yaml", "Dockerfile", "Makefile")
DANGERS = [
    ("code that is made of text", r"\b(?:eval|Function)\s{0,9}\((?!\s{0,9}\))", JS),
    ("code that is made of text", r"(?<![.\w])(?:eval|exec)\s{0,9}\((?!\s{0,9}\))", PY),
    (
        "a shell runs words that were put together",
        r"\b(?:exec|execSync)\s{0,9}\(\s{0,9}(?:`[^`]{0,400}\$\{|[\"'][^\"']{0,400}[\"']\s{0,9}\+)",
        JS,
    ),
    ("a shell is started", r"\bshell\s{0,3}[:=]\s{0,3}(?:true|True)\b", JS + PY),
    ("a shell runs words", r"\bos\.(?:system|popen)\s{0,9}\(", PY),
    ("data that can run code", r"\b(?:pickle|marshal|shelve)\.loads?\s{0,9}\(", PY),
    ("YAML that can run code", r"\byaml\.(?:load|unsafe_load|full_load)\s{0,9}\((?![^)]{0,200}SafeLoader)", PY),
    ("HTML that is not escaped", r"\b(?:innerHTML|outerHTML)\s{0,9}=(?!=)|dangerouslySetInnerHTML|\bv-html=", JS),
    ("SQL that is put together", r"(?i)[\"'`]\s{0,9}(?:select|insert|update|delete)\b[^\"'`]{0,300}(?:[\"']\s{0,9}(?:\+|%|\.format)|\$\{)", JS + PY),
    ("certificates are not checked", r"rejectUnauthorized\s{0,9}:\s{0,9}false|verify\s{0,3}=\s{0,3}False|NODE_TLS_REJECT_UNAUTHORIZED|curl\b[^|\n]{0,200}\s(?:-k|--insecure)\b", ()),
    ("a program from the network is run unseen", r"\b(?:curl|wget)\b[^|\n]{0,400}\|\s{0,9}(?:sudo\s{1,9})?(?:ba|z|da)?sh\b", ()),
    ("everybody may write it", r"\bchmod\s{1,9}(?:-R\s{1,9})?(?:0?777|a\+w|o\+w)\b", SH),
    ("all is deleted below a name that may be empty", r"\brm\s{1,9}-[a-zA-Z]{0,5}[rR][a-zA-Z]{0,5}\s{1,9}[\"']?\$\{?\w{1,60}\}?[\"']?/", SH),
    ("a weak hash", r"\b(?:createHash\s{0,9}\(\s{0,9}[\"'](?:md5|sha1)[\"']|hashlib\.(?:md5|sha1)\s{0,9}\()", JS + PY),
    ("chance that can be guessed, for a secret", r"(?i)(?:token|secret|password|nonce|session)\w{0,40}\s{0,9}=[^\n]{0,100}\b(?:Math\.random|random\.(?:random|randint|choice))\s{0,9}\(", JS + PY),
    ("signs that reorder or hide text", "[\u202a-\u202e\u2066-\u2069\u200b\u2060]", ()),
]
NAMES = [
    ("a file with secrets", r"(?:^|/)(?:\.env(?:\.(?!example|sample|template)[\w-]+)?|id_(?:rsa|ed25519|ecdsa)|.*\.(?:pem|p12|pfx|keystore)|\.npmrc|\.netrc|credentials\.json)$"),
]


def compiled(rules):
    return [(rule[0], re.compile(rule[1]), rule[2] if len(rule) > 2 else ()) for rule in rules]


SECRET_RULES, DANGER_RULES, NAME_RULES = compiled(SECRETS), compiled(DANGERS), compiled(NAMES)


def git(*args):
    """Output of git as bytes. Neither a configured program nor a filter of the repository is run by it."""
    safe = ["-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "-c", "diff.external="]
    done = subprocess.run(["git", *safe, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.stderr.write(done.stderr.decode("utf-8", "replace"))
        sys.exit(2)
    return done.stdout


def lines_of_diff(diff):
    """(path, line number, text) of each added line of a unified diff."""
    path, number = None, 0
    for raw in diff.split(b"\n"):
        text = raw.decode("utf-8", "replace")
        if text.startswith("+++ "):
            name = text[4:].split("\t")[0]
            path = None if name == "/dev/null" else name[2:] if name.startswith("b/") else name
        elif text.startswith("@@"):
            found = re.match(r"@@ -\S+ \+(\d+)", text)
            number = int(found.group(1)) if found else 0
        elif text.startswith("+") and path is not None:
            yield path, number, text[1:]
            number += 1


def lines_of_file(path):
    """The same, of a whole file; nothing for what is no text."""
    if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) > MAX_FILE_BYTES:
        return
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:8_000]:
        return
    for number, raw in enumerate(data.split(b"\n"), 1):
        yield path, number, raw.decode("utf-8", "replace")


def names(data):
    return [each.decode("utf-8", "surrogateescape") for each in data.split(b"\0") if each]


def added(options):
    """(path, number, text) of all that is looked at, and the paths."""
    if options.all:
        paths = names(git("ls-files", "-z"))
        return [line for path in paths for line in lines_of_file(path)], paths
    diff = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--unified=0", "--diff-filter=d"]
    if options.range:
        what, new = [options.range], []
    elif options.staged:
        what, new = ["--cached"], []
    else:
        what, new = ["HEAD"], names(git("ls-files", "--others", "--exclude-standard", "-z"))
    paths = names(git(*diff, "--name-only", "-z", *what, "--")) + new
    lines = list(lines_of_diff(git(*diff, *what, "--")))
    return lines + [line for path in new for line in lines_of_file(path)], paths


def findings(lines, paths):
    for path in paths:
        for what, pattern, _ in NAME_RULES:
            if pattern.search(path):
                yield {"file": path, "line": 0, "kind": "secret", "what": what}
    for path, number, text in lines:
        text = text[:MAX_LINE]
        if ALLOWED in text:
            continue
        for kind, rules in (("secret", SECRET_RULES), ("dangerous", DANGER_RULES)):
            for what, pattern, endings in rules:
                if endings and not path.endswith(endings):
                    continue
                if pattern.search(text):
                    yield {"file": path, "line": number, "kind": kind, "what": what}


def printable(text):
    return "".join(sign if sign.isprintable() else "?" for sign in text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--range", help="commits, such as main..HEAD")
    which.add_argument("--staged", action="store_true", help="what the next commit would have")
    which.add_argument("--all", action="store_true", help="every file that git has")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    if options.range and options.range.startswith("-"):
        parser.error("a range does not begin with -")
    top = git("rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
    os.chdir(top)
    lines, paths = added(options)
    found = []
    for each in findings(lines, paths):
        found.append(each)
        if len(found) >= MAX_FINDINGS:
            break
    if options.json:
        print(json.dumps({"findings": found, "files": len(paths)}))
    else:
        for each in found:
            place = each["file"] if each["line"] == 0 else f"{each['file']}:{each['line']}"
            print(printable(f"{place}: {each['kind']}: {each['what']}"))
        plural = "" if len(found) == 1 else "s"
        print(f"{len(found)} finding{plural} in {len(paths)} files")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
