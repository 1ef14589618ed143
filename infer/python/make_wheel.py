#!/usr/bin/env python3
"""Packs the Python package of a build into a wheel, with libambit, the SQL worker, the detector and their libraries.

usage: make_wheel.py BUILD_FOLDER OUT_FOLDER    (scripts/make-wheel.sh builds first)

The tag of the wheel states the oldest glibc that all its files run with (PEP 600), as their version references say.
Libraries that PEP 600 expects of every system stay outside.  All others are copied with their licences from Debian's
packages.  The archive depends on its contents alone: two runs write the same bytes.
"""

import base64
import hashlib
import os
import platform
import re
import subprocess
import sys
import tempfile
import zipfile

NAME, PYTHON = "ambit_sql", ">=3.9"
# The libraries of PEP 600 that ambit's files may need from the system.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libgcc_s.so.1", "libstdc++.so.6",
          "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1"}
DESCRIPTION = "Detects, tags and clarifies ambiguous questions to a database"


def fail(text):
    sys.exit(f"make_wheel: {text}")


def output_of(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode:
        fail(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def libraries_of(path):
    """Paths of the shared libraries that a file needs, directly or not, by name."""
    found = {}
    for line in output_of("ldd", path).splitlines():
        words = line.split()
        if "not found" in line:
            fail(f"{path} needs {words[0]}, which is not installed")
        if "=>" in words:
            found[words[0]] = os.path.realpath(words[2])
    return {name: at for name, at in found.items() if name not in SYSTEM}


def glibc_of(path):
    """The glibc (major, minor) that a file needs."""
    text = output_of("readelf", "--version-info", "--wide", path)
    versions = [tuple(map(int, of)) for of in re.findall(r"\bName: GLIBC_(\d+)\.(\d+)", text)]
    if "GLIBC_ABI_DT_RELR" in text:
        versions.append((2, 36))
    return max(versions, default=(2, 17))


def check_paths(path):
    """A library with a search path of its own would look for its libraries outside the wheel."""
    if re.search(r"\((RUNPATH|RPATH)\)", output_of("readelf", "--dynamic", path)):
        fail(f"{path} has a search path of its own, expected a library without one")


def licence_of(path):
    """The path of the Debian package's copyright file, and the package's name."""
    found = subprocess.run(["dpkg", "-S", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if found.returncode and path.startswith("/usr/"):  # dpkg knows files of a merged /usr by their old path
        found = subprocess.run(["dpkg", "-S", path[4:]], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    package = found.stdout.split(":")[0]
    copyright_file = f"/usr/share/doc/{package}/copyright"
    if found.returncode or not os.path.exists(copyright_file):
        fail(f"{path}: no licence found; expected a library of a Debian package with /usr/share/doc/PACKAGE/copyright")
    return package, copyright_file


def version_of(root):
    with open(os.path.join(root, "CMakeLists.txt"), encoding="utf-8") as f:
        return re.search(r"project\(ambit VERSION ([0-9.]+)", f.read()).group(1)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def staged(stage):
    """The files that the build installs, by their names in the wheel: [bytes, executable]."""
    files = {}
    for folder, _, names in os.walk(stage):
        for name in names:
            path = os.path.join(folder, name)
            if not re.search(r"\.so\.\d+\.\d+", name):  # libambit.so.0.1.0 has the name libambit.so.0 too
                files[os.path.relpath(path, stage)] = [read(path), os.access(path, os.X_OK)]
    return files


def metadata(version, licences, root):
    lines = ["Metadata-Version: 2.4", "Name: ambit-sql", f"Version: {version}", f"Summary: {DESCRIPTION}",
             f"Requires-Python: {PYTHON}", "License-Expression: MIT AND CC-BY-SA-4.0"]
    lines += [f"License-File: {name}" for name in sorted(licences)]
    lines += ["Provides-Extra: pandas", 'Requires-Dist: pandas>=1.5; extra == "pandas"',
              "Classifier: Programming Language :: Python :: 3", "Classifier: Operating System :: POSIX :: Linux",
              "Classifier: Typing :: Typed", "Description-Content-Type: text/markdown", ""]
    page = read(os.path.join(root, "infer", "python", "README.md")).decode()
    return ("\n".join(lines) + "\n" + page).encode()


def record_line(name, content):
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def write(path, files, info):
    """Writes the archive, RECORD last."""
    record = [record_line(name, content) for name, (content, _) in sorted(files.items())]
    files[f"{info}/RECORD"] = ["\n".join([*record, f"{info}/RECORD,,", ""]).encode(), False]
    names = sorted(files, key=lambda name: (name.startswith(info), name.endswith("/RECORD"), name))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            content, executable = files[name]
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_STORED if name.endswith(".h5") else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)


def make(build, out, root, stage):
    output_of("cmake", "--install", build, "--component", "python", "--prefix", stage)
    own = [os.path.join(stage, NAME, "lib", "libambit.so.0"), os.path.join(stage, NAME, "lib", "ambit", "ambit-sql-worker")]
    files, licences = staged(stage), {"LICENSE": read(os.path.join(root, "LICENSE")),
                                      "detector/LICENSE": read(os.path.join(root, "models", "detector", "LICENSE"))}
    libraries = {name: at for path in own for name, at in libraries_of(path).items()}
    for name, path in libraries.items():
        check_paths(path)
        files[f"{NAME}/lib/{name}"] = [read(path), True]
        package, text = licence_of(path)
        licences[f"{package}/copyright"] = read(text)
    version = version_of(root)
    major, minor = max(glibc_of(path) for path in [*own, *libraries.values()])
    tag = f"py3-none-manylinux_{major}_{minor}_{platform.machine()}"
    info = f"{NAME}-{version}.dist-info"
    for name, content in licences.items():
        files[f"{info}/licenses/{name}"] = [content, False]
    files[f"{info}/METADATA"] = [metadata(version, licences, root), False]
    files[f"{info}/WHEEL"] = [f"Wheel-Version: 1.0\nGenerator: ambit\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), False]
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"{NAME}-{version}-{tag}.whl")
    write(path + ".part", files, info)
    os.replace(path + ".part", path)
    return path


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_wheel.py BUILD_FOLDER OUT_FOLDER")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    with tempfile.TemporaryDirectory() as stage:
        path = make(sys.argv[1], sys.argv[2], root, stage)
    print(f"{path}: {os.path.getsize(path) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
