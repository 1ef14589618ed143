"""Checks a wheel by its own rules, not by the script that made it, and unpacks it as pip does.

usage: check_wheel.py WHEEL FOLDER
"""

import base64
import csv
import hashlib
import io
import os
import re
import subprocess
import sys
import zipfile

# PEP 600 expects these of every system, and nothing else that ambit needs.
SYSTEM = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux-[a-z0-9-]+)\.so\.\d+$")
wheel, folder = sys.argv[1:]
archive = zipfile.ZipFile(wheel)
names = archive.namelist()
assert len(set(names)) == len(names) and not any(of.startswith("/") or ".." in of.split("/") for of in names), names

# The name and the two tags agree.
name, version, tag = re.fullmatch(r"(ambit_sql)-([0-9.]+)-(.+)\.whl", os.path.basename(wheel)).groups()
info = f"{name}-{version}.dist-info"
assert f"\nTag: {tag}\n" in archive.read(f"{info}/WHEEL").decode()
metadata = archive.read(f"{info}/METADATA").decode()
assert f"\nName: ambit-sql\nVersion: {version}\n" in metadata
for licence in re.findall(r"^License-File: (.*)$", metadata, re.M):
    assert archive.read(f"{info}/licenses/{licence}"), licence

# RECORD has the size and the digest of every file but itself.
rows = list(csv.reader(io.StringIO(archive.read(f"{info}/RECORD").decode())))
assert sorted(row[0] for row in rows) == sorted(names)
for path, digest, size in rows:
    if not path.endswith("/RECORD"):
        content = archive.read(path)
        want = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        assert (digest, int(size)) == (f"sha256={want}", len(content)), path

for path in ("__init__.py", "py.typed", "lib/libambit.so.0", "lib/ambit/ambit-sql-worker", "share/ambit/detector/ambit.h5",
             "share/ambit/detector/tokenizer.json", "share/ambit/detector/LICENSE"):
    assert f"{name}/{path}" in names, path
for entry in archive.infolist():
    path = archive.extract(entry, folder)
    os.chmod(path, 0o755 if entry.external_attr >> 16 & 0o100 else 0o644)

# Every library that a file needs is in the wheel or in every system, and no file needs a newer glibc than the tag says.
glibc = tuple(map(int, re.search(r"manylinux_(\d+)_(\d+)_", tag).groups()))
needed_glibc = []
binaries = [of for of in names if re.search(r"\.so\.\d+$|ambit-sql-worker$", of)]
held = {os.path.basename(of) for of in binaries}
for path in binaries:
    text = subprocess.run(["readelf", "-dVW", os.path.join(folder, path)], stdout=subprocess.PIPE, check=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    outside = [of for of in needed if of not in held and not SYSTEM.match(of)]
    assert not outside, f"{path} needs {outside}"
    needed_glibc += [tuple(map(int, of)) for of in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", text)]
    for rpath in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", text):
        assert rpath in ("$ORIGIN", "$ORIGIN/.."), f"{path}: {rpath}"
assert max(needed_glibc) == glibc, f"the files need glibc {max(needed_glibc)}, the tag says {glibc}"
print(f"{len(names)} files, {len(binaries)} with code, glibc {glibc}")
