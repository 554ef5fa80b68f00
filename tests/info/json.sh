#!/bin/bash
# json.sh TUTTI: `tutti info --json` is JSON, and says what the text says: of providers, of settings, of this machine.
set -eu
tutti=$1
TUTTI_BARRIER=rds "$tutti" info --config --json > config.json
"$tutti" info --json > providers.json
"$tutti" info > providers.txt
"$tutti" info --doctor --json > doctor.json || true
"$tutti" info --doctor > doctor.txt || true
python3 - <<'PYTHON'
import json

providers = json.load(open("providers.json"))
text = open("providers.txt").read()
assert [p["name"] for p in providers] == [line.split()[0] for line in text.splitlines() if line[0] != " "], providers
for p in providers:
    for d in p["devices"]:
        line = next(l for l in text.splitlines() if l.split()[0] == d["provider"] and l[0] == " ")
        assert d["opens"] == ("cannot be opened" not in line), line
shm = next(p for p in providers if p["name"] == "shm")
assert shm["loaded"] and shm["devices"][0]["capabilities"]["native_atomics"], shm

barrier = next(k for k in json.load(open("config.json")) if k["name"] == "barrier")
assert barrier["value"] == "rds" and barrier["source"] == "environment", barrier

findings = json.load(open("doctor.json"))
assert len(findings) == len(open("doctor.txt").read().splitlines()), findings
assert all(f["well"] or f["remedy"] for f in findings), findings
PYTHON
