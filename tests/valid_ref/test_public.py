"""What is public is listed and documented; nothing else is on show."""

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

import valid_ref

MODULES = ("valid_ref", *valid_ref.PACKAGES)


def test_dir_shows_the_public_names_on_one_screen() -> None:
    assert dir(valid_ref) == sorted(valid_ref.__all__)
    assert len(dir(valid_ref)) <= 25
    for name in valid_ref.__all__:
        assert getattr(valid_ref, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Scenarios'"):
        _ = valid_ref.Scenarios


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_exists_and_is_documented(module: str) -> None:
    found = import_module(module)
    assert found.__doc__, module
    assert found.__all__ == sorted(set(found.__all__), key=_order)
    undocumented = []
    for name in found.__all__:
        value = getattr(found, name)
        assert not name.startswith("_") or name == "__version__"
        own = inspect.isclass(value) or inspect.isroutine(value)
        if own and not (value.__doc__ or "").strip():
            undocumented.append(name)
        if inspect.isclass(value):
            undocumented += [f"{name}.{method}" for method in _undocumented(value)]
    assert undocumented == []


def _order(name: str) -> tuple[int, str]:
    """Constants, classes, functions, as ruff sorts them."""
    return (0 if name.isupper() else 1 if name.lstrip("_")[0].isupper() else 2, name)


def _undocumented(value: type) -> list[str]:
    """The public methods and properties of a class that have no docstring of their own."""
    return [
        name
        for name, member in vars(value).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property | classmethod))
        and not inspect.getdoc(member)
    ]


def test_importing_the_package_loads_no_part_of_it() -> None:
    program = (
        "import valid_ref, sys; dir(valid_ref);"
        "print([m for m in sys.modules if m.startswith('valid_ref.')])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "['valid_ref._version']"
