"""A vector of 10^8 entries that never exists as a whole: memory and exactness of the stream."""

import json
import subprocess
import sys

from benchmarks.report import Claim, Section

PROGRAM = """
import json, sys, time
from pathlib import Path
import numpy as np
from valid_ref.kernels import Backend, PolyHash

PRIME, CHUNK = 2**61 - 1, 1 << 20
n = int(sys.argv[1])
hasher = PolyHash([pow(5, 10**5 + i, PRIME) for i in range(20)], Backend.NUMBA)
hasher.hash(np.arange(8).reshape(1, -1))

def resident():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))

before = most = resident()
stream, begin = hasher.stream(1), time.process_time()
for start in range(0, n, CHUNK):
    chunk = np.arange(start, min(n, start + CHUNK)).reshape(1, -1)
    stream = stream.update(chunk, 1)
    most = max(most, resident())
seconds = time.process_time() - begin
grown = most - before

def closed_form(s):
    inverse = pow(1 - s, -1, PRIME)
    power = pow(s, n - 1, PRIME)
    return s * (1 - n * power + (n - 1) * power * s) * inverse * inverse % PRIME

exact = stream.digest()[0].tolist() == [closed_form(key) for key in hasher.keys]
print(json.dumps({"seconds": seconds, "kilobytes": grown, "exact": exact}))
"""


def measure(quick: bool) -> Section:
    """Stream 0, 1, 2, ..., whose hash has a closed form, in a process of its own."""
    n = 10**7 if quick else 10**8
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(n)], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    megabytes = found["kilobytes"] / 1024
    rows = ((n, 20, found["seconds"], 1e9 * found["seconds"] / n / 20, megabytes),)
    return Section(
        "A stream of chunks made on the fly",
        (
            "entries",
            "keys",
            "seconds of one processor",
            "ns an element and key",
            "growth of resident memory, MB",
        ),
        rows,
        (
            Claim("less than 100 MB resident growth", f"{megabytes:.1f} MB", megabytes < 100),
            Claim(
                "equal to the closed form of sum i s^i under every key",
                "equal" if found["exact"] else "different",
                found["exact"],
            ),
        ),
    )
