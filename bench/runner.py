"""Shared code of the benchmark scripts: programs that answer line by line and take turns, and their inputs."""
import atexit
import json
import os
import queue
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

here = os.path.dirname(os.path.abspath(__file__))
work = tempfile.mkdtemp(prefix="ambit-bench-")
atexit.register(shutil.rmtree, work, ignore_errors=True)


class Stopped(Exception):
    """A program ended, failed or took too long; the message gives the reason."""


class Runner:
    """A running program that answers each line on its input with one line."""
    def __init__(self, name, command):
        self.name, self.times, self.size, self.lines = name, [], None, queue.Queue()
        self.errors = open(os.path.join(work, name + ".stderr"), "w+")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True)
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def send(self, line):
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # answer() reports the reason

    def answer(self, timeout):
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise Stopped("%s: no answer in %d s" % (self.name, timeout))
        if line is None:
            self.errors.seek(0)
            said = [x.strip() for x in self.errors if x.strip()]
            raise Stopped("%s: %s" % (self.name, said[-1][:160] if said else "ended"))
        return line

    def ask(self, line, timeout=300):
        self.send(line)
        return self.answer(timeout)

    def seconds(self, line="run"):
        return float(self.ask(line))

    def processor(self):
        """Processor seconds of the program's threads so far."""
        with open("/proc/%d/stat" % self.process.pid) as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def logits(self):
        path = os.path.join(work, self.name + ".txt")
        self.ask("write " + path)
        return [float(x) for x in open(path)]

    def median(self):
        return statistics.median(self.times)

    def close(self):
        self.process.kill()
        self.process.wait()


def start_all(makers, line, timeout):
    """Starts every (name, command), runs `line` once on each, and returns the working ones and the others' errors."""
    ready, failed = [], []
    runners = [Runner(name, command) for name, command in makers]
    for r in runners:
        r.send(line)
    for r in runners:
        try:
            r.first = r.answer(timeout)
            ready.append(r)
        except Stopped as e:
            r.close()
            failed.append(str(e))
    return ready, failed


def sweep(runner, setting, sizes):
    """Runs each size once after a warm-up, and keeps the fastest."""
    def timed(size):
        runner.ask("%s %d" % (setting, size))
        runner.seconds()
        return runner.seconds()
    runner.size = min(sizes, key=timed) if len(sizes) > 1 else sizes[0]
    runner.ask("%s %d" % (setting, runner.size))
    runner.seconds()


def take_turns(runners, rounds, line="run", rest=0):
    """Runs the systems in turns.  `rest` seconds before each turn let spinning threads of the others fall asleep."""
    for _ in range(rounds):
        for r in runners:
            time.sleep(rest)
            r.times.append(r.seconds(line))


def largest_difference(runner, expected):
    """Largest difference of the logits, relative to their spread."""
    got, spread = runner.logits(), max(expected) - min(expected)
    return max(abs(x - y) for x, y in zip(got, expected)) / spread


def read_questions(folder):
    """Questions with their elements, from Spider's dev.json or the test.jsonl of synthetic data."""
    schemas = {s["db_id"]: s for s in json.load(open(os.path.join(folder, "tables.json")))}
    spider = os.path.join(folder, "dev.json")
    records = json.load(open(spider)) if os.path.exists(spider) else [
        json.loads(line) for line in open(os.path.join(folder, "test.jsonl"))]
    random.Random(1).shuffle(records)
    for q in records:
        s = schemas[q["db_id"]]
        yield q["question"], list(s["table_names"]) + ["%s : %s : %s" % (s["table_names"][t], n, s["column_types"][i])
                                                       for i, (t, n) in enumerate(s["column_names"]) if t >= 0]


def write_pairs(folder, count):
    """Writes a file of `count` pairs; returns its path and the texts."""
    path, texts, left = os.path.join(work, "pairs.jsonl"), [], count
    with open(path, "w") as f:
        for question, elements in read_questions(folder):
            elements = elements[:left]
            left -= len(elements)
            f.write(json.dumps({"question": question, "elements": elements}) + "\n")
            texts += [question] + elements
            if not left:
                break
    if left:
        sys.exit("%s has %d pairs fewer than the %d wanted" % (folder, left, count))
    return path, texts


def write_vocabulary(texts):
    """Makes every word and character of the texts a token; lengths are shorter than with a trained vocabulary."""
    words = {w for t in texts for w in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", t.lower())}
    letters = {c for w in words for c in w}
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + sorted(words | letters) + sorted("##" + c for c in letters)
    with open(os.path.join(work, "vocab.txt"), "w") as f:
        f.writelines(t + "\n" for t in tokens)
    return len(tokens)


def write_graphs(count, nodes, seed=1):
    """Edges of a random schema: tables with their columns in both directions, and a few foreign keys."""
    rng, path = random.Random(seed), os.path.join(work, "graphs%d.jsonl" % count)
    with open(path, "w") as f:
        for _ in range(count):
            n = rng.randint(*nodes)
            tables = min(rng.randint(3, 7), n // 3)
            edges = [[i, i] for i in range(n)]
            for column in range(tables, n):
                t = rng.randrange(tables)
                edges += [[column, t], [t, column]]
            for _ in range(tables):
                u, v = rng.sample(range(tables, n), 2)
                edges += [[u, v], [v, u]]
            f.write(json.dumps({"nodes": n, "edges": edges}) + "\n")
    return path
