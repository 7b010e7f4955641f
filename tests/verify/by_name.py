"""A user's module that imports a loss by its name."""

from torch.nn.functional import cross_entropy


def loss(logits, target):
    return cross_entropy(logits.softmax(1), target)
