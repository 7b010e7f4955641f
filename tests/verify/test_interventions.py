"""Every intervention removes its own cause, leaves another's failure in place, and leaves torch as it was."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.modules import module as module_hooks
from torch.nn.utils import clip_grad
from torch.optim import optimizer as optimizer_hooks
from torch.utils.data import DataLoader

from neuraldbg.causes._ranking import rules as causes
from neuraldbg.errors import UsageError
from neuraldbg.verify import _compare as compare
from neuraldbg.verify._effects import required
from neuraldbg.verify._lever import Target
from neuraldbg.verify._replay import Plan, Replay, carry_out
from neuraldbg.verify.interventions import against, all_interventions, get, intervene
from verify.programs import PROGRAMS, STEPS

#: Intervention → the programs whose fault it removes; a program's name begins with the cause that it is run against.
REMOVES = {
    "lower_learning_rate": ["learning_rate_too_high"],
    "raise_learning_rate": ["learning_rate_too_low"],
    "hold_learning_rate": ["learning_rate_jump", "learning_rate_collapsed"],
    "warm_up": ["no_warm_up"],
    "clip_gradients": ["missing_gradient_clipping"],
    "clear_gradients": ["missing_zero_grad"],
    "step_after_backward": ["missing_optimizer_step"],
    "add_missing_parameters": ["parameters_not_in_optimizer"],
    "unfreeze_parameters": ["frozen_parameters"],
    "skip_batch": ["nan_in_input", "outlier_batch"],
    "standardize_inputs": ["unnormalized_input"],
    "standardize_targets": ["unscaled_target"],
    "reshape_target": ["loss_shape_mismatch", "loss_shape_mismatch_by_hand"],
    "drop_redundant_softmax": ["redundant_softmax", "redundant_softmax_module"],
    "flip_loss_sign": ["loss_sign"],
    "average_loss": ["loss_scale", "loss_scale_by_hand"],
    "reinitialize_layer": ["symmetric_init", "init_too_large"],
    "replace_activation": ["dying_relu", "saturating_activation", "wrong_output_activation"],
    "normalize_layer": ["vanishing_depth"],
    "train_mode": ["eval_mode_in_training"],
    "lower_dropout": ["excessive_dropout", "excessive_dropout_function"],
    "lower_weight_decay": ["excessive_weight_decay"],
    "lower_momentum": ["excessive_momentum"],
    "reset_adam": ["adam_epsilon_or_beta2"],
    "full_precision": ["half_precision_overflow", "half_precision_underflow"],
    "unscale_before_clip": ["clipping_scaled_gradients"],
    "replace_batch_norm": ["batchnorm_small_batch"],
    "shuffle_window": ["unshuffled_data"],
    "clamp_loss_input": ["loss_domain"],
}
#: Changes of the step size can't be asked to leave a step that is too large; all others are.
ANOTHER = dict.fromkeys(
    (
        "lower_learning_rate", "raise_learning_rate", "hold_learning_rate", "warm_up", "clip_gradients", "average_loss",
        "lower_momentum", "normalize_layer", "reset_adam", "lower_weight_decay",
    ),
    "parameters_not_in_optimizer",
)  # fmt: skip
PAIRS = [(name, program) for name, programs in REMOVES.items() for program in programs]
_untouched: dict[str, Replay] = {}


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def cause_of(program: str) -> str:
    return max((cause for cause in causes() if program.startswith(cause)), key=len, default="")


def effect_on(name: str, program: str) -> tuple[float, Replay]:
    """The best effect over the strengths of an intervention, and the run in which it came about."""
    train, symptom, onset = PROGRAMS[program]
    if program not in _untouched:
        _untouched[program] = carry_out(Plan(None, steps=STEPS), train)
    without = _untouched[program]
    assert without.usable, without.error
    rule = get(name)
    orientation = getattr(rule, "ORIENTATION", 1)
    stream = compare.main_stream([without])
    assert stream is not None
    before = compare.level(without, stream, symptom, onset, orientation)
    assert before is not None and compare.failed(before, before, symptom), f"{program} does not fail: {before}"
    best: tuple[float, Replay] | None = None
    for strength in rule.STRENGTHS:
        plan = Plan(name, Target(cause_of(program), step=onset, steps=STEPS), strength, steps=STEPS)
        replay = carry_out(plan, train)
        assert replay.usable, replay.error
        after = compare.level(replay, stream, symptom, onset, orientation)
        assert after is not None
        found = compare.effect(before, after, rule.CHANGES_LOSS)
        if best is None or found > best[0]:
            best = found, replay
    assert best is not None
    return best


def test_every_intervention_is_tested():
    assert set(REMOVES) == set(all_interventions())


def test_causes_and_interventions_name_each_other():
    for cause, rule in causes().items():
        assert against(cause) == rule.INTERVENTION, cause
    for name, rule in all_interventions().items():
        assert rule.CAUSES and set(rule.CAUSES) <= set(causes()), name
        assert all(
            f"## {heading}" in rule.__doc__ for heading in ("What it changes", "Which causes", "What it can't do")
        )


def test_an_unknown_intervention_is_a_mistake_that_lists_the_known_ones():
    with pytest.raises(UsageError, match="clip_gradients"):
        intervene("make_it_work")


@pytest.mark.parametrize(("name", "program"), PAIRS)
def test_it_removes_its_own_cause(name, program):
    effect, replay = effect_on(name, program)
    assert replay.acted and replay.changes
    assert effect >= required(name)


@pytest.mark.parametrize("name", sorted(REMOVES))
def test_it_leaves_the_failure_of_another_cause(name):
    effect, _ = effect_on(name, ANOTHER.get(name, "learning_rate_too_high"))
    assert effect < required(name)


# nothing is left behind ----------------------------------------------------------------------------------------------


class Everything(nn.Module):
    """Something for every intervention to change."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.9)
        self.relu = nn.ReLU()
        self.frozen = nn.Linear(16, 16)
        self.frozen.weight.requires_grad_(False)
        self.last = nn.Linear(16, 4)
        nn.init.constant_(self.last.weight, 9.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(self.relu(self.norm(self.first(x))))
        return F.softmax(self.last(torch.sigmoid(self.frozen(x))), 1)


WATCHED = (
    torch, torch.nn.functional, torch.Tensor, nn.Module, nn.Linear, torch.optim.Optimizer, torch.optim.Adam,
    torch.autograd, torch.amp.GradScaler, torch.autocast, clip_grad, torch.nn.utils, DataLoader, nn.BatchNorm1d,
)  # fmt: skip


def surface(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Any]:
    """All that an intervention could have left behind, but for the numbers that training changes."""
    return {
        "attributes": {str(owner): dict(vars(owner)) for owner in WATCHED},
        "hooks": [
            len(getattr(module_hooks, name))
            for name in vars(module_hooks)
            if name.startswith("_global_") and isinstance(getattr(module_hooks, name), dict)
        ]
        + [len(optimizer_hooks._global_optimizer_pre_hooks), len(optimizer_hooks._global_optimizer_post_hooks)],
        "modules": [
            (name, type(module), module.training, sorted(vars(module)), getattr(module, "p", None))
            for name, module in model.named_modules()
        ],
        "parameters": [(n, id(p), p.requires_grad, p.dtype, p.shape) for n, p in model.named_parameters()],
        "groups": [
            {name: [id(p) for p in value] if name == "params" else value for name, value in group.items()}
            for group in optimizer.param_groups
        ],
        "threads": torch.get_num_threads(),
    }


def setting() -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(0)
    model = Everything()
    model.norm.eval()
    optimizer = torch.optim.Adam(model.first.parameters(), lr=0.1, betas=(0.99, 0.99999), eps=1.0, weight_decay=0.1)
    return model, optimizer


def rounds(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for index in range(count):
        x = torch.randn(4, 8) * 100
        if index == 3:
            x[0, 0] = float("nan")
        loss = F.cross_entropy(model(x), torch.zeros(4, dtype=torch.long), reduction="sum")
        loss.backward()
        optimizer.step()


@pytest.mark.parametrize("name", sorted(REMOVES))
def test_it_leaves_model_optimizer_and_torch_as_they_were(name):
    model, optimizer = setting()
    before, weights = surface(model, optimizer), copy.deepcopy(dict(model.named_parameters()))
    with intervene(name):
        pass
    assert surface(model, optimizer) == before
    # A forward alone trains nothing: also the weights are the same.
    with intervene(name):
        model.eval()
        model(torch.randn(4, 8))
    model.train()
    model.norm.eval()
    assert surface(model, optimizer) == before
    assert all(torch.equal(value, weights[name]) for name, value in model.named_parameters())
    with intervene(name):
        rounds(model, optimizer, 6)
    assert surface(model, optimizer) == before


@pytest.mark.parametrize("name", sorted(REMOVES))
def test_it_leaves_nothing_behind_when_the_training_raises(name):
    model, optimizer = setting()
    before = surface(model, optimizer)

    class Broken(torch.optim.SGD):
        def step(self, closure=None):
            raise RuntimeError("in the middle of a step")

    broken = Broken(model.parameters(), lr=0.1, momentum=0.99)
    groups = [dict(group) for group in broken.param_groups]
    with pytest.raises(RuntimeError, match="in the middle"), intervene(name):
        rounds(model, optimizer, 2)
        rounds(model, broken, 9)
    assert surface(model, optimizer) == before
    assert [dict(group) for group in broken.param_groups] == groups
    with pytest.raises(ZeroDivisionError), intervene(name):
        model.relu.register_forward_hook(lambda *_: 1 / 0)
        model(torch.randn(4, 8))
    assert surface(model, optimizer)["attributes"] == before["attributes"]
    assert surface(model, optimizer)["hooks"] == before["hooks"]


def test_interventions_compose_and_undo_in_reverse():
    model = nn.Linear(1, 1, bias=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.99, weight_decay=1.0)
    with intervene("lower_learning_rate"), intervene("lower_learning_rate"), intervene("lower_weight_decay"):
        for parameter in model.parameters():
            parameter.data.fill_(1.0)
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 1.0
    assert model.weight.item() == pytest.approx(1 - 1.0 * 0.1 * 0.1 * 0.01)
    assert optimizer.param_groups[0] == {**optimizer.param_groups[0], "lr": 1.0, "momentum": 0.99, "weight_decay": 1.0}


def test_a_function_imported_by_name_is_reached():
    from verify import by_name

    with intervene("drop_redundant_softmax") as lever:
        by_name.loss(torch.randn(4, 3, requires_grad=True), torch.zeros(4, dtype=torch.long))
    assert lever.acted == 1
    assert by_name.cross_entropy is F.cross_entropy


#: Held where no module names it.
TABLE = {"softmax": F.softmax, "relu": torch.relu}


def test_a_function_in_a_table_or_a_closure_is_reached_and_acts_once():
    squash = torch.tanh
    model = nn.Sequential(nn.Linear(4, 8), nn.Linear(8, 3))
    target = Target("wrong_output_activation")
    with intervene("replace_activation", target) as lever:
        output = model(torch.ones(2, 4))
        assert torch.equal(squash(output), output) and torch.equal(TABLE["relu"](output), output)
        assert torch.equal(F.relu(output), output)
    assert lever.acted == 3
    assert not torch.equal(squash(output), output)
    with intervene("clamp_loss_input") as lever:
        scores = torch.full((2, 3), -torch.inf, requires_grad=True)
        assert torch.equal(TABLE["softmax"](scores, dim=1), torch.full((2, 3), 1 / 3))
    assert lever.acted == 1


def test_a_module_in_a_python_list_gets_its_parameters_trained():
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = [nn.Linear(2, 2)]
            self.out = nn.Linear(2, 1)

        def forward(self, x):
            return self.out(self.parts[0](x))

    model = Hidden()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    before = model.parts[0].weight.detach().clone()
    with intervene("add_missing_parameters"):
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.ones(1, 2)).sum().backward()
            optimizer.step()
    assert not torch.equal(model.parts[0].weight, before)
    assert len(optimizer.param_groups[0]["params"]) == 2


def test_slices_by_hand_are_shuffled_alike_and_nothing_inside_of_a_module_is():
    rows, labels = torch.arange(64.0)[:, None].repeat(1, 2), torch.arange(64)
    model = nn.Linear(2, 1)
    with intervene("shuffle_window") as lever:
        seen = [(rows[at : at + 8], labels[at : at + 8]) for at in range(0, 64, 8)]
        assert torch.equal(rows[:60], torch.cat([rows[:60]]))
        model(seen[0][0])
    assert lever.acted == 1
    assert all(torch.equal(x[:, 0], y.float()) for x, y in seen)
    order = torch.cat([y for _, y in seen])
    assert order.tolist() != list(range(64)) and sorted(order.tolist()) == list(range(64))


def test_standardized_targets_are_compared_in_their_own_unit():
    train, _, _ = PROGRAMS["unscaled_target"]
    with_it = carry_out(Plan("standardize_targets", Target("unscaled_target", steps=STEPS), steps=8), train)
    without = carry_out(Plan(None, steps=8), train)
    first = [next(iter(replay.streams.values()))[1][0] for replay in (with_it, without)]
    # The model is the same and predicts about nothing: both losses are about the variance of the targets.
    assert first[0] == pytest.approx(first[1], rel=0.5)
