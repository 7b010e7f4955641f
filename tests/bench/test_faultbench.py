"""FaultBench: deterministic, in the vocabulary, and one run from spec to record."""

from __future__ import annotations

import json

import pytest

torch = pytest.importorskip("torch")

from bench.faultbench import families, healthy, injectors, labels, runs, score, split  # noqa: E402
from bench.faultbench.loop import run  # noqa: E402
from bench.faultbench.watch import watch  # noqa: E402

from neuraldbg.causes._ranking import vocabulary  # noqa: E402


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_every_cause_of_the_vocabulary_has_an_injector_or_a_reason():
    assert set(injectors.load()) | set(injectors.LEFT_OUT) == set(vocabulary())


def test_specs_are_the_same_each_time_and_no_key_twice():
    first, second = runs.specs(quick=True), runs.specs(quick=True)
    assert first == second
    keys = [spec.key for spec in first]
    assert len(keys) == len(set(keys))


def test_there_are_at_least_as_many_healthy_runs_as_sick_ones():
    found = runs.specs(quick=True)
    sick = [spec for spec in found if spec.cause]
    assert len(found) - len(sick) >= len(sick)
    assert {spec.cause for spec in sick} == set(injectors.load())


def test_unseen_families_are_not_fitted():
    assert split.unseen_families() and not split.unseen_families() & split.fit_families()
    assert {spec.family for spec in runs.specs(quick=True, chosen=split.fit_families())} <= split.fit_families()


@pytest.mark.parametrize("cause", sorted(injectors.load()))
def test_label_names_the_cause_and_known_places(cause):
    spec = next(s for family in families.names() if (s := runs.spec_of(family, cause, 0)) is not None)
    recipe, twin = runs.recipe_of(spec)
    from bench.faultbench.loop import model_of

    model = model_of(recipe)  # some labels are filled in when the model is built
    label = recipe.label
    assert label.cause == cause and set(label.also) <= set(vocabulary())
    assert twin is not None and twin.label.cause == "none"
    if label.places is not None:
        known = {name for name, _ in model.named_modules()}
        assert label.places and known & set(label.places), (label.places, known)


@pytest.mark.parametrize("trick", sorted(healthy.load()))
def test_healthy_variant_is_labelled_none(trick):
    entry = healthy.load()[trick]
    family = next(name for name in families.names() if any(entry.applies(families.make(name, s)) for s in range(6)))
    seed = next(s for s in range(6) if entry.applies(families.make(family, s)))
    recipe, twin = runs.recipe_of(runs.Spec(family, seed, None, trick))
    assert recipe.label.cause == "none" and twin is None


def test_a_run_repeats_itself_bit_by_bit():
    spec = runs.spec_of("mlp_classifier", "redundant_softmax", 0)
    assert run(runs.recipe_of(spec)[0]).losses == run(runs.recipe_of(spec)[0]).losses


def test_from_spec_to_record_and_score(tmp_path):
    sick = runs.spec_of("mlp_classifier", "missing_optimizer_step", 0)
    well = runs.Spec("mlp_classifier", sick.seed, None)
    results = runs.Results(tmp_path / "runs.jsonl")
    for spec in (sick, well):
        results.add(watch(spec, tmp_path, keep_trace=False))
    assert not list(tmp_path.glob("*.ndbg*"))
    again = runs.Results(tmp_path / "runs.jsonl").records
    assert json.loads(json.dumps(again)) == again and set(again) == {sick.key, well.key}
    record = again[sick.key]
    assert record["kept"] and record["findings"] and record["label"]["cause"] == "missing_optimizer_step"
    numbers = score.summary(list(again.values()))
    assert numbers["sick"] == 1 and numbers["healthy"] == 1
    assert numbers["top1"] == 1.0 and numbers["alarms"] == 0.0
    assert "missing_optimizer_step" in score.markdown(list(again.values()), ["neuraldbg"], "title")


def test_a_line_cut_short_is_done_again(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"key": "a", "kept": true}\n{"key": "b", "ke')
    assert set(runs.Results(path).records) == {"a"}


def test_a_fault_without_harm_is_not_counted():
    spec = runs.spec_of("mlp_classifier", "learning_rate_too_low", 0)
    recipe, twin = runs.recipe_of(spec)
    outcome = run(twin)
    assert not labels.really_failed("failure", recipe, outcome, outcome)
