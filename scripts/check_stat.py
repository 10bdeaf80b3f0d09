#!/usr/bin/env python3
"""Repeats what docs/stat.md claims of `tlbench stat`: false alarms, power, agreement with perf, own cost.

    scripts/check_stat.py TLBENCH aa [TRIES [SECONDS]]       ten commands against themselves, TRIES (10) times each
    scripts/check_stat.py TLBENCH power [TRIES [SECONDS]]    a command against itself with 5 % more work, TRIES (20) times
    scripts/check_stat.py TLBENCH perf [TRIES]               `stat -r 10 -- true` and `perf stat -r 10 true`, perf twice
    scripts/check_stat.py TLBENCH pairs [TRIES]              the same by single runs in turn, ten of each per try
    scripts/check_stat.py TLBENCH cost [ROUNDS]              CPU time per run, beside perf and hyperfine
    scripts/check_stat.py TLBENCH impossible [RUNS]          RUNS (200) runs of true and of a command with two busy processes

SECONDS is the patience of a try (`--max-time`). TLBENCH is the program to check. Needs Python 3.8 only; perf, hyperfine and awk where they are named.
"""
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile

COMMANDS = [
    ["true"],
    ["date"],
    ["ls", "/usr/bin"],
    ["cat", "/proc/meminfo"],
    ["sh", "-c", "exit 0"],
    ["sh", "-c", "true | cat"],
    ["awk", "BEGIN{while(i<200000)i++}"],
    ["head", "-c", "20000000", "/dev/zero"],
    ["sort", "/etc/services"],
    ["grep", "-r", "a", "/etc/default"],
]


def spin(loops):
    """A command whose work is `loops` turns of an interpreter, and a constant few faults."""
    return ["awk", "BEGIN{while(i<%d)i++}" % loops]


def stat(tlbench, words):
    """Runs `tlbench stat --json`; the exit code and the document."""
    done = subprocess.run(
        [tlbench, "stat", "--json", "-o", "record.jsonl", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    os.unlink("record.jsonl")
    return done.returncode, json.loads(done.stdout)


def said(document):
    """Rows with a verdict of difference: metric, word, change in per cent."""
    rows = document["comparison"]["comparisons"][0]["rows"]
    told = [row for row in rows if row["verdict"] in ("better", "worse", "differs")]
    return [(row["metric"], row["verdict"], round(100 * (row["ratio"] - 1), 2)) for row in told]


def blocks(document):
    return max(run["block"] for run in document["commands"][0]["runs"])


def load():
    return "load average " + open("/proc/loadavg").read().split()[0]


def check_aa(tlbench, tries, patience=()):
    silent = total = 0
    for _ in range(tries):
        for command in COMMANDS:
            _, document = stat(tlbench, [*patience, "--", *command, "--", *command])
            told = said(document)
            total += 1
            silent += not told
            if told:
                print(" ".join(command), blocks(document), "blocks:", told, flush=True)
        print(f"{silent} of {total} without a verdict so far", flush=True)
    print(f"no verdict in {silent} of {total} ({load()})")
    return silent >= 0.95 * total


def check_power(tlbench, tries, patience=()):
    work, found, wrong, used = 1_000_000, 0, 0, []
    for _ in range(tries):
        _, document = stat(tlbench, [*patience, "--", *spin(work), "--", *spin(work * 105 // 100)])
        told = said(document)
        used.append(blocks(document))
        slower = [row for row in told if row[1] == "worse" and row[2] > 0]
        found += bool(slower)
        wrong += any(row[1] == "better" for row in told)
        print(used[-1], "blocks:", told, flush=True)
    print(f"5 % more work found in {found} of {tries}, wrong sign in {wrong}; blocks {sorted(used)} ({load()})")
    return found >= 0.9 * tries


def perf_stat(runs):
    """Mean and its standard error of task-clock and page-faults over `runs` runs of true, with perf's own choice of events:
    each event open on the command adds to its time."""
    done = subprocess.run(
        ["perf", "stat", "-x", ",", "-r", str(runs), "true"], stderr=subprocess.PIPE, text=True,
        env={**os.environ, "LC_ALL": "C"},
    )
    found = {}
    for line in done.stderr.splitlines():
        fields = line.split(",")
        if len(fields) > 3 and fields[2] in ("task-clock", "page-faults"):
            mean = float(fields[0])
            # Of a single run there is no deviation.
            spread = fields[3].rstrip("%") if fields[3].endswith("%") else "0"
            found[fields[2]] = mean, mean * float(spread) / 100
    return found["task-clock"], found["page-faults"]


def ours(tlbench, runs):
    """Task-clock and page-faults of each of `runs` runs of true."""
    _, document = stat(tlbench, ["-r", str(runs), "--", "true"])
    of = lambda name: [run["counters"][name]["value"] for run in document["commands"][0]["runs"]]
    return of("task-clock"), of("page-faults")


def check_perf(tlbench, tries):
    """Ten runs at once of each, and of perf a second time: how often perf agrees with itself is what can be asked for."""
    agree = itself = equal = same = 0
    for turn in range(tries):

        def mine():
            told = ours(tlbench, 10)
            return [(statistics.mean(values), statistics.stdev(values) / math.sqrt(len(values))) for values in told]

        perf = lambda: perf_stat(10)
        # Each is asked first, in the middle and last equally often.
        order = [[perf, mine, perf], [mine, perf, perf], [perf, perf, mine]][turn % 3]
        asked = [(ask is mine, ask()) for ask in order]
        clock, faults = next(told for is_mine, told in asked if is_mine)
        first, second = (told for is_mine, told in asked if not is_mine)
        # 2.1: the 97.5 % quantile of t with 18 degrees of freedom.
        within = lambda one, other: abs(one[0] - other[0]) <= 2.1 * math.hypot(one[1], other[1])
        near = lambda one, other: abs(one[0] - other[0]) <= 1
        agree += within(clock, first[0])
        itself += within(second[0], first[0])
        equal += near(faults, first[1])
        same += near(second[1], first[1])
        print(
            f"task-clock {clock[0]:.3f} +- {clock[1]:.3f} ms, perf's {first[0][0]:.3f} +- {first[0][1]:.3f} and "
            f"{second[0][0]:.3f} +- {second[0][1]:.3f}; faults {faults[0]:.1f}, perf's {first[1][0]:.1f} and {second[1][0]:.1f}",
            flush=True,
        )
    print(
        f"task-clock within its interval in {agree} of {tries}, perf within its own in {itself}; "
        f"mean faults within 1 in {equal}, perf's in {same} ({load()})"
    )
    return agree >= min(0.9 * tries, itself) and equal >= min(tries, same)


def check_pairs(tlbench, tries):
    """Single runs of both in turn: what changes between them touches both alike."""
    agree, faults = 0, ([], [])
    for _ in range(tries):
        apart = []
        for turn in range(10):
            if turn % 2:
                theirs = perf_stat(1)
            clock, found = ours(tlbench, 1)
            if not turn % 2:
                theirs = perf_stat(1)
            apart.append(clock[0] - theirs[0][0])
            faults[0].append(found[0])
            faults[1].append(theirs[1][0])
        error = statistics.stdev(apart) / math.sqrt(len(apart))
        # 2.262: the 97.5 % quantile of t with 9 degrees of freedom.
        agree += abs(statistics.mean(apart)) <= 2.262 * error
        print(f"task-clock {statistics.mean(apart):+.3f} +- {error:.3f} ms apart", flush=True)
    shown = [f"{statistics.mean(found):.1f} ({min(found):.0f}-{max(found):.0f})" for found in faults]
    print(f"task-clock within its interval in {agree} of {tries}; faults {shown[0]}, perf's {shown[1]} ({load()})")
    return agree >= 0.9 * tries


def cpu_of(tool, runs):
    """CPU time of a tool and its descendants that makes this many runs, s, and what the tool says of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = tool(runs)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, told


def check_cost(tlbench, rounds):
    """CPU time that a further run of true costs, and what is left of it without the command's own time as each tool reports it
    (tlbench and hyperfine by getrusage, perf its task-clock)."""
    runs = 300

    def of_tlbench(n):
        record = f"cost{os.urandom(4).hex()}.jsonl"
        subprocess.run(
            [tlbench, "stat", "-r", str(n), "-o", record, "--", "true"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
        )
        lines = [json.loads(line) for line in open(record)]
        return statistics.mean(line["value"] for line in lines if line.get("metric") == "stat/cpu") / 1e3

    def of_hyperfine(n, *options):
        subprocess.run(
            ["hyperfine", *options, "-w", "0", "-r", str(n), "--export-json", "hyperfine.json", "true"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True,
        )
        found = json.load(open("hyperfine.json"))["results"][0]
        return found["user"] + found["system"]

    tools = {
        "tlbench": of_tlbench,
        "perf": lambda n: perf_stat(n)[0][0] / 1e3,
        # With a shell it subtracts the time the shell takes alone: what it reports says nothing of its own cost.
        "hyperfine (shell)": lambda n: of_hyperfine(n) and None,
        "hyperfine -N": lambda n: of_hyperfine(n, "-N"),
    }
    cost = {name: [] for name in tools}
    outside = {name: [] for name in tools}
    for turn in range(rounds):
        for name in list(tools) if turn % 2 else list(tools)[::-1]:
            few, _ = cpu_of(tools[name], 2)
            many, command = cpu_of(tools[name], 2 + runs)
            cost[name].append(1e3 * (many - few) / runs)
            outside[name].append(None if command is None else cost[name][-1] - 1e3 * command)
    for name, values in cost.items():
        without = outside[name]
        said = "" if None in without else f"; outside the command {statistics.median(without):.2f} ms, {rounded(without)}"
        print(f"{name}: {statistics.median(values):.2f} ms of CPU time per run of true, {rounded(values)}{said}")
    print(load())
    median = {name: statistics.median(values) for name, values in outside.items() if None not in values}
    return median["tlbench"] <= median["perf"] and median["tlbench"] < median["hyperfine -N"]


def rounded(values):
    return [round(value, 2) for value in values]


def check_impossible(tlbench, runs):
    cpus, bad = os.cpu_count(), 0
    two = ["sh", "-c", "awk 'BEGIN{while(i<30000)i++}' & awk 'BEGIN{while(i<30000)i++}'; wait"]
    for command in (["true"], two):
        _, document = stat(tlbench, ["-r", str(runs), "--", *command])
        for run in document["commands"][0]["runs"]:
            clock = run["counters"]["task-clock"]["value"]
            used = max(clock / 1e3, run["user_s"] + run["sys_s"])
            if not 0 < used <= run["wall_s"] * cpus or run["max_rss_bytes"] <= 0:
                bad += 1
                print(run)
    print(f"{bad} impossible values in {2 * runs} runs ({load()})")
    return bad == 0


def main():
    checks = {
        "aa": (check_aa, 10),
        "power": (check_power, 20),
        "perf": (check_perf, 10),
        "pairs": (check_pairs, 10),
        "cost": (check_cost, 6),
        "impossible": (check_impossible, 200),
    }
    if len(sys.argv) < 3 or sys.argv[2] not in checks:
        sys.exit(__doc__)
    check, usual = checks[sys.argv[2]]
    tlbench = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        patience = [["--max-time", f"{seconds}s"] for seconds in sys.argv[4:5]]
        held = check(tlbench, int(sys.argv[3]) if len(sys.argv) > 3 else usual, *patience)
        os.chdir("/")
    sys.exit(0 if held else 1)


if __name__ == "__main__":
    main()
