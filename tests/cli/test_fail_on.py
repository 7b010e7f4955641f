"""run --fail-on: what makes a script that ended well fail, in real processes."""

import json

import pytest

from helpers.command_line import TRAINING, TWICE_SOFTMAX


@pytest.mark.parametrize("level", ("named", "suspected"))
def test_a_named_cause_fails_a_script_that_ended_well(box, level):
    box.write("train.py", TWICE_SOFTMAX)
    done = box.neuraldbg("run", "--fail-on", level, "train.py", "60")
    assert done.returncode == 3 and "redundant_softmax" in done.stderr
    assert "Training again" not in done.stderr


@pytest.mark.parametrize("level", ("confirmed", "named", "suspected"))
def test_training_that_went_well_leaves_the_code_alone(box, level):
    box.write("train.py", TRAINING)
    done = box.neuraldbg("run", "--fail-on", level, "train.py")
    assert done.returncode == 0 and "Training again" not in done.stderr


def test_a_script_that_fails_by_itself_keeps_its_code(box):
    box.write("train.py", TWICE_SOFTMAX + "sys.exit(9)\n")
    done = box.neuraldbg("run", "--fail-on", "confirmed", "train.py", "60")
    assert done.returncode == 9 and "Training again" not in done.stderr


def test_confirmed_is_what_training_again_has_proved(box):
    box.write("train.py", TWICE_SOFTMAX + "print('end')\n")
    done = box.neuraldbg("run", "--fail-on", "confirmed", "train.py", "60")
    assert done.returncode == 3, done.stderr
    assert "Training again to test the causes" in done.stderr
    assert "redundant_softmax: confirmed by drop_redundant_softmax: effect 0." in done.stderr
    # The replays say nothing on the streams of the script, and the proof is kept with the trace.
    assert done.stdout == "end\n"
    explained = box.neuraldbg("explain", "--json")
    ((verdict,),) = [each["verdicts"] for each in json.loads(explained.stdout)["verifications"]]
    assert verdict["verdict"] == "confirmed"


def test_a_named_cause_that_cannot_be_proved_is_not_confirmed(box):
    # Only the run that writes the mark fails: whatever is changed afterwards, there is no failure to cure.
    program = TWICE_SOFTMAX.replace(
        "p = F.softmax(model(x), dim=1)", "p = model(x) if known else F.softmax(model(x), dim=1)"
    ).replace("for _ in", "import os\nknown = os.path.exists('mark')\nopen('mark', 'w').close()\nfor _ in", 1)
    box.write("train.py", program)
    done = box.neuraldbg("run", "--fail-on", "confirmed", "train.py", "60")
    assert "redundant_softmax" in done.stderr and "Training again" in done.stderr
    assert done.returncode == 0, done.stderr
