"""Rules are found by their files, and a bad one is never left out in silence."""

import sys
from collections.abc import Callable
from itertools import count

import pytest

from neuraldbg.errors import RuleError
from neuraldbg.registry import find_rules

NEEDS = {"TITLE": str, "QUANTITIES": (tuple, list), "detect": Callable}
GOOD = '"""What it detects"""\nTITLE = "x"\nQUANTITIES = ("loss.value",)\ndef detect(trace): return trace\n'
numbers = count()


@pytest.fixture
def make_folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def make(**files: str) -> str:
        name = f"rules_of_test_{next(numbers)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        for file, text in files.items():
            (tmp_path / name / f"{file}.py").write_text(text)
        return name

    yield make
    for module in [name for name in sys.modules if name.startswith("rules_of_test_")]:
        del sys.modules[module]


def test_every_file_is_a_rule_sorted_by_name_but_for_helpers(make_folder):
    folder = make_folder(zebra=GOOD, ant=GOOD, mole=GOOD, _shared="raise RuntimeError('not a rule')")
    rules = find_rules(folder, NEEDS)
    assert list(rules) == ["ant", "mole", "zebra"]
    assert rules["ant"].detect(3) == 3


def test_an_empty_folder_has_no_rules(make_folder):
    assert find_rules(make_folder(), NEEDS) == {}


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (GOOD.replace("TITLE", "title"), r"expected an attribute TITLE \(str\), found none"),
        (GOOD.replace('"x"', "3"), r"expected TITLE to be a str, found a int \(3\)"),
        (GOOD.replace('("loss.value",)', '"loss.value"'), "expected QUANTITIES to be a tuple or list, found a str"),
        (GOOD.replace("def detect(trace): return trace", "detect = None"), "expected detect to be a Callable"),
        (GOOD.replace('"""What it detects"""', ""), "expected a docstring"),
        (GOOD.replace('"""What it detects"""', '""" """'), "expected a docstring"),
        ("import nothing_of_that_name", "found ModuleNotFoundError: No module named 'nothing_of_that_name'"),
        ("def detect(:", "found SyntaxError"),
    ],
)
def test_a_bad_rule_is_an_error_that_names_the_file_and_what_is_wrong(make_folder, text, complaint):
    folder = make_folder(good=GOOD, mole=text)
    with pytest.raises(RuleError, match=complaint) as caught:
        find_rules(folder, NEEDS)
    assert str(caught.value).startswith(f"{folder}/mole.py: ")


def test_a_folder_among_the_rules_is_an_error(make_folder, tmp_path):
    folder = make_folder(good=GOOD)
    (tmp_path / folder / "nested").mkdir()
    (tmp_path / folder / "nested" / "__init__.py").write_text(GOOD)
    with pytest.raises(RuleError, match=f"{folder}/nested/: expected one file per rule"):
        find_rules(folder, NEEDS)
