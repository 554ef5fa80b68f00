#!/usr/bin/env python3
"""taken.py BUILD PROJECT: which objects of PROJECT, a build of the same sources, are those of BUILD already, line by line:
PROJECT's object, a space, BUILD's.

They are where the compiler and what it is told agree, but for how much it optimises and warns, and for folders of headers
from which nothing was taken; and where no file that was read is younger than the object. Sources that are compiled together
(cmake/, tutti_together) are the same where the same files are."""
import json
import os
import re
import subprocess
import sys


def source_of(path):
    """What tells sources apart: of one that CMake wrote, which includes others, its text."""
    if not os.path.basename(path).startswith("unity_"):
        return path
    with open(path) as file:
        return file.read()


def commands(folder):
    for entry in json.load(open(folder + "/compile_commands.json")):
        words = entry["command"].split()
        compiler, told, folders, out, at = words[0], set(), set(), None, 1
        while at < len(words):
            word = words[at]
            if word == "-o":
                out, at = words[at + 1], at + 1
            elif word in ("-c", "-include"):  # of headers, those that are precompiled alone
                at += 1
            elif word == "-isystem":
                folders.add(words[at + 1])
                at += 1
            elif not re.match(r"-(O|g|W|DNDEBUG$|D\w+_EXPORTS$)", word):
                told.add(word)
            at += 1
        yield (source_of(entry["file"]), compiler, frozenset(told)), folders, out


def read_for(build, objects):
    """Object -> the files that were read for it."""
    files, now = {}, None
    said = subprocess.run(["ninja", "-C", build, "-t", "deps"], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in said.split("\n"):
        if line.startswith("    "):
            if now in objects:
                files[now].append(os.path.join(build, line.strip()))
        elif line:
            now = line.split(": #deps")[0]
            if now in objects:
                files[now] = []
    return files


build, project = sys.argv[1:]
have = {key: (folders, out) for key, folders, out in commands(build)}
read = read_for(build, {out for _, out in have.values()})
for key, folders, out in commands(project):
    if key not in have or have[key][1] not in read:
        continue
    more, theirs = have[key][0] - folders, build + "/" + have[key][1]
    try:
        age = os.path.getmtime(theirs)
        if all(os.path.getmtime(f) <= age and not f.startswith(tuple(d + "/" for d in more)) for f in read[have[key][1]]):
            print(out, theirs)
    except OSError:
        pass
