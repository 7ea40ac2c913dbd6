"""On which theorems a headline theorem rests, read from the .glob files that coqc writes.

`python -m proofs_check.coq.dependencies` writes dependencies.json and dependencies.md after a
build; with `--check` it compares instead (`make check`).
"""

import json
import re
import sys
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple, TypedDict

from proofs_check.coq.gate import HERE, files, headline_theorems

HEADLINES = {
    "The validation phase": ("Whole.whole", "Whole.few_bad"),
    "Whole runs": ("Guarantee.invalid_or_consistent", "HonestRun.honest_run"),
    "Whole runs and the admissible set": ("Nearness.invalid_or_admissible",),
    "Lean validation": ("LeanProof.lean_detects", "LeanProof.share_tuples"),
    "The rate of LearnModel": ("Samples.rate_on_samples",),
    "False alarms of calibrated thresholds": ("Calibration.false_alarms_have_level",),
}
"""The theorems, as `File.theorem`, that the others lead to; several where one counts the
exceptions of the other."""

Name = tuple[str, str]
"""A file, and a name in it with the sections around it."""

DECLARED = re.compile(r"^(prf|def|var|ind|rec|constr|proj|not|abbrev|sec) (\d+):\d+ (\S+) (\S+)$")
REFERENCE = re.compile(r"^R(\d+):\d+ ValidRef\.(\w+) (\S+) (\S+) (\w+)$")


class Headline(TypedDict):
    """What dependencies.json says of the theorems of one headline."""

    files: list[str]
    lemmas: int
    definitions: int
    needs: dict[str, list[str]]


class Glob(NamedTuple):
    """What every declaration refers to, of this project, and which are lemmas and definitions."""

    used: Mapping[Name, set[Name]]
    lemmas: frozenset[Name]
    definitions: frozenset[Name]


def read_glob(file: str, text: str) -> Glob:
    """The declarations of one file.

    A reference belongs to the last declaration before it.
    """
    places: list[tuple[int, Name]] = []
    references: list[tuple[int, Name]] = []
    kinds: dict[str, set[Name]] = {"prf": set(), "def": set()}
    for line in text.splitlines():
        if (found := DECLARED.match(line)) is not None:
            kind, place, section, name = found.groups()
            whole = f"{section}.{name}" if kind == "var" else name
            places.append((int(place), (file, whole)))
            kinds.setdefault(kind, set()).add((file, whole))
        elif (found := REFERENCE.match(line)) is not None:
            place, home, _section, name, kind = found.groups()
            if kind != "lib":
                references.append((int(place), (home, name)))
    places.sort()
    used: dict[Name, set[Name]] = {name: set() for _place, name in places}
    limits = [*(place for place, _name in places), sys.maxsize]
    for (_begin, name), (begin, end) in zip(places, pairwise(limits), strict=True):
        used[name] |= {other for place, other in references if begin < place < end}
        used[name].discard(name)
    return Glob(used, frozenset(kinds["prf"]), frozenset(kinds["def"]))


def read_all() -> Glob:
    """The declarations of all files of the project, from the last build."""
    stems = [name.removesuffix(".v") for name in files()]
    read = [read_glob(stem, (HERE / f"{stem}.glob").read_text(encoding="utf-8")) for stem in stems]
    return Glob(
        used={name: others for glob in read for name, others in glob.used.items()},
        lemmas=frozenset().union(*(glob.lemmas for glob in read)),
        definitions=frozenset().union(*(glob.definitions for glob in read)),
    )


def rests_on(
    start: Name, used: Mapping[Name, set[Name]], stop: Iterable[Name]
) -> tuple[set[Name], set[Name]]:
    """The names in `stop` that a declaration reaches directly, and what is passed on the way.

    Directly is without passing another name in `stop`.
    """
    ends, passed, reached = set(stop), set[Name](), set[Name]()
    waiting = sorted(used.get(start, ()))
    while waiting:
        name = waiting.pop()
        if name in ends:
            reached.add(name)
        elif name not in passed and name != start:
            passed.add(name)
            waiting += sorted(used.get(name, ()))
    return reached - {start}, passed


def theorems() -> set[Name]:
    """The theorems that say which clause they prove."""
    return {
        (file.removesuffix(".v"), theorem)
        for file, found in headline_theorems().items()
        for theorem in found
    }


def needed(
    starts: Iterable[Name], used: Mapping[Name, set[Name]]
) -> tuple[dict[Name, set[Name]], set[Name]]:
    """The theorems that some rest on, each with those it needs itself, and all else passed."""
    marked, found, between = theorems(), dict[Name, set[Name]](), set[Name]()
    waiting = list(starts)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name], passed = rests_on(name, used, marked)
            between |= passed
            waiting += found[name]
    return found, between


def thinned(graph: Mapping[Name, set[Name]]) -> dict[Name, set[Name]]:
    """The same graph without the edges that a longer way replaces."""

    def beyond(name: Name) -> set[Name]:
        return set[Name]().union(*({other, *beyond(other)} for other in graph[name]))

    return {
        name: {
            other
            for other in others
            if not any(other in beyond(third) for third in others if third != other)
        }
        for name, others in graph.items()
    }


def document() -> dict[str, Headline]:
    """What the last build says of every headline."""
    glob, found = read_all(), dict[str, Headline]()
    for title, headline in HEADLINES.items():
        starts = [(file, name) for file, _, name in (one.partition(".") for one in headline)]
        graph, between = needed(starts, glob.used)
        found[title] = Headline(
            files=sorted({home for home, _name in {*graph, *between}}),
            lemmas=len(between & glob.lemmas),
            definitions=len(between & glob.definitions),
            needs={
                ".".join(one): sorted(".".join(other) for other in others)
                for one, others in sorted(thinned(graph).items())
            },
        )
    return found


def markdown(found: Mapping[str, Headline]) -> str:
    """The page dependencies.md: one diagram for each headline."""
    lines = [
        "# What the headline theorems rest on",
        "",
        "Written by `python -m proofs_check.coq.dependencies` from what coqc records of a build;",
        "`make check` compares. An arrow leads from a theorem to one that its statement or proof",
        "uses, directly or through lemmas; arrows that a longer way replaces are left out. Boxes",
        "are files. No theorem here needs an axiom (`gate.expected`); what each supposes stands in",
        "its statement.",
    ]
    for title, entry in found.items():
        needs = entry["needs"]
        starts = " and ".join(f"`{name}`" for name in HEADLINES[title])
        lines += [
            "",
            f"## {title}",
            "",
            f"{starts}: {len(needs)} theorems, {entry['lemmas']} lemmas and "
            f"{entry['definitions']} definitions, in {', '.join(entry['files'])}.",
            "",
            "```mermaid",
            "flowchart TD",
            *_boxes(needs),
            *_arrows(needs),
            "```",
        ]
    return "\n".join(lines) + "\n"


def _boxes(needs: Mapping[str, list[str]]) -> list[str]:
    lines = []
    for home in dict.fromkeys(name.partition(".")[0] for name in needs):
        lines.append(f"  subgraph {home}")
        mine = [name for name in needs if name.partition(".")[0] == home]
        lines += [f'    {_node(name)}["{name.partition(".")[2]}"]' for name in mine]
        lines.append("  end")
    return lines


def _arrows(needs: Mapping[str, list[str]]) -> list[str]:
    return [
        f"  {_node(one)} --> {_node(other)}" for one, others in needs.items() for other in others
    ]


def _node(name: str) -> str:
    return name.replace(".", "_")


def main(arguments: list[str]) -> int:
    """Write both files, or compare them with what the build says."""
    text = json.dumps(document(), indent=1) + "\n"
    recorded = HERE / "dependencies.json"
    if arguments == ["--check"]:
        if recorded.read_text(encoding="utf-8") == text:
            return 0
        sys.stderr.write(
            "dependencies.json is not what the build says: "
            "run python -m proofs_check.coq.dependencies\n"
        )
        return 1
    recorded.write_text(text, encoding="utf-8")
    page = markdown(json.loads(text))
    (HERE / "dependencies.md").write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
