"""The student is a copy of the teacher, with its weights drawn anew, and the teacher was in eval mode: so is the copy. Repair: student.train()."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

META = dict(
    id="fe_student_copied_from_a_resting_teacher",
    source='widely reported: a deepcopy of a model in eval mode is in eval mode',
    cause="eval_mode_in_training",
    also=[],
    layer=["1", "4", "7", "10", "13", "16", "19", "22", ""],
    onset=(0, 0),
    symptom='plateau',
)


def net():
    layers = []
    for k in range(8):
        layers += [nn.Linear(12 if k == 0 else 32, 32, bias=False), nn.BatchNorm1d(32), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(32, 5))


def run(seed, healthy, debug):
    torch.manual_seed(seed)
    mean = torch.randn(5, 12)
    teacher = net()
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)

    def batch():
        return 0.8 * mean[torch.randint(0, 5, (64,))] + torch.randn(64, 12)

    for _ in range(150):
        y = torch.randint(0, 5, (64,))
        opt.zero_grad()
        F.cross_entropy(teacher(0.8 * mean[y] + torch.randn(64, 12)), y).backward()
        opt.step()
    teacher.eval().requires_grad_(False)
    student = copy.deepcopy(teacher).requires_grad_(True)
    for m in student:
        if hasattr(m, "reset_parameters"):
            m.reset_parameters()
    if healthy:
        student.train()
    opt = torch.optim.SGD(student.parameters(), lr=0.05, momentum=0.9)
    losses = []
    with debug(student):
        for _ in range(250):
            x = batch()
            with torch.no_grad():
                wanted = teacher(x).softmax(-1)
            loss = F.kl_div(student(x).log_softmax(-1), wanted, reduction="batchmean")
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
    return losses
