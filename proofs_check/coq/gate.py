"""Write Gate.v: it prints the assumptions of every theorem that a clause leans on."""

import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
MARKED = re.compile(r"\(\* Proves: [^*]*\*\)\s*(?:Theorem|Lemma|Corollary)\s+([\w']+)")


def files() -> list[str]:
    """The proof files, in the order in which they build on each other."""
    lines = (HERE / "_CoqProject").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.endswith(".v")]


def headline_theorems() -> dict[str, list[str]]:
    """The theorems that say which clause they prove, or will once it is written, by file."""
    texts = {name: (HERE / name).read_text(encoding="utf-8") for name in files()}
    return {name: MARKED.findall(text) for name, text in texts.items() if MARKED.search(text)}


def gate_text() -> str:
    """The text of Gate.v."""
    found = headline_theorems()
    lines = [
        "(** Prints the assumptions of every headline theorem; written by gate.py, compared with",
        "    gate.expected by `make check`. *)",
        f"From ValidRef Require Import {' '.join(name.removesuffix('.v') for name in found)}.",
    ]
    for name, theorems in found.items():
        lines += ["", f"(* {name} *)"]
        for theorem in theorems:
            lines.append(f'Goal True. idtac "{theorem}". exact I. Qed.')
            lines.append(f"Print Assumptions {name.removesuffix('.v')}.{theorem}.")
    return "\n".join(lines) + "\n"


def expected_text() -> str:
    """What Gate.v must print: no theorem needs an axiom."""
    names = [theorem for theorems in headline_theorems().values() for theorem in theorems]
    return "".join(f"{name}\nClosed under the global context\n" for name in names)


def main() -> int:
    """Write both files anew."""
    (HERE / "Gate.v").write_text(gate_text(), encoding="utf-8")
    (HERE / "gate.expected").write_text(expected_text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
