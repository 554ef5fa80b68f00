#!/usr/bin/env python3
"""Runs the commands of the documents as they are written: every block that is indented by four, or fenced as sh, in README.md and
docs/*.md, in order, each document in a shell of its own, in an empty home folder that has the installation of README.md's first
commands. In a comment ahead of a block a document says what does not run, and why:

    <!-- not run: clusters only -->               the block
    <!-- not run, srun: no Slurm here -->         its lines with this text; several such comments may stand there
    <!-- long, --peers: four minutes -->          likewise, but that --long runs them

A block that is fenced otherwise is no command. Behind <!-- is FILE --> a fenced block has what the file has.
Usage: documents.py SOURCE BUILD [--long] [DOCUMENT...]"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

words = [w for w in sys.argv[1:] if w != '--long']
long_too = '--long' in sys.argv
source, build = (pathlib.Path(w).resolve() for w in words[:2])
seconds = 7200 if long_too else 180  # of a document; measuring.md takes an hour
mark = re.compile(r'<!-- (not run|long)(?:, (.+?))?: (.+?) -->')
failed = []


def fail(text):
    failed.append(text)
    print(f'FAILED: {text}', flush=True)


def blocks(document):
    """Of each block of commands: its first line's number, its lines, and the marks ahead of it."""
    lines = document.read_text().split('\n')
    marks, at = [], 0
    while at < len(lines):
        line = lines[at]
        if line.startswith('```'):
            end = lines.index('```', at + 1)
            inside = lines[at + 1:end]
            whose = next((m for m in (re.match(r'<!-- is (.+) -->', l) for l in lines[max(0, at - 1):at]) if m), None)
            if whose and (source / whose.group(1)).read_text() != '\n'.join(inside) + '\n':
                fail(f'{document.name}:{at + 1}: the block is not {whose.group(1)}')
            if line == '```sh':
                yield at + 2, inside, marks
            marks, at = [], end + 1
        elif line.startswith('    ') and (at == 0 or not lines[at - 1].strip()):
            end = at
            while end < len(lines) and lines[end].startswith('    '):
                end += 1
            yield at + 1, [l[4:] for l in lines[at:end]], marks
            marks, at = [], end
        else:
            found = list(mark.finditer(line))
            if found:
                marks = marks + [m.groups() for m in found]
            elif line.strip():
                marks = []
            at += 1


def commands(document):
    """(line number, command) of what is to run."""
    for first, lines, marks in blocks(document):
        used = set()
        for number, line in enumerate(lines, first):
            left_out = [m for m in marks if m[1] is None or m[1] in line]
            used.update(left_out)
            if line.strip() and not any(m[0] == 'not run' or not long_too for m in left_out):
                yield number, line
        for m in marks:
            if m not in used:
                fail(f'{document.name}:{first}: no line of the block has "{m[1]}", which is marked "{m[0]}"')


def run(document, home):
    script = 'set -eu\n'
    count = 0
    for number, line in commands(document):
        script += f'at={number}\n{line}\n'
        count += 1
    if count == 0:
        return
    log = home / 'log'
    environment = {'PATH': f'{home}/tutti/bin:/usr/local/bin:/usr/bin:/bin', 'HOME': str(home), 'CC': 'cc'}
    environment.update({n: os.environ[n] for n in ('LSAN_OPTIONS', 'ASAN_OPTIONS') if n in os.environ})
    program = "trap 's=$?; [ $s = 0 ] || echo \"line $at: status $s\" >&2' EXIT\n" + script
    with log.open('w') as out:
        try:
            ended = subprocess.run(['bash', '-c', program], cwd=home, env=environment, stdin=subprocess.DEVNULL, stdout=out,
                                   stderr=subprocess.STDOUT, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            ended = f'not ended after {seconds} s'
    if ended:
        fail(f'{document.name}: {ended}: ' + '\n'.join(log.read_text(errors="replace").split('\n')[-15:]))
    print(f'{document.name}: {count} lines', flush=True)


with tempfile.TemporaryDirectory(prefix='tutti-documents-') as folder:
    home = pathlib.Path(folder)
    for entry in ('examples', 'tests', 'docs', 'api', 'scripts'):
        (home / entry).symlink_to(source / entry)
    (home / 'build').symlink_to(build)
    # README.md installs, which the others build upon.
    documents = [source / 'README.md'] + sorted((source / 'docs').glob('*.md'))
    for document in documents:
        if len(words) == 2 or document.name in words[2:] or document.name == 'README.md':
            run(document, home)
sys.exit(1 if failed else 0)
