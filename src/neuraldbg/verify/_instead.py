"""What to do where nothing can be decided from outside."""

from __future__ import annotations

from collections.abc import Mapping

#: Cause → an experiment that the user can make.
INSTEAD: Mapping[str, str] = {
    "class_imbalance": "train once with class weights in the loss, or with a sampler that draws classes evenly",
    "constant_input": "look at one batch right before the model: its features should differ between rows",
    "detached_graph": "remove the detach, no_grad, .data or numpy call at the place named, and train again",
    "input_shift": "train once with the batches from before the shift repeated in place of those after it",
    "invalid_target": "check targets for NaN and for class numbers out of range before training",
    "missing_nonlinearity": "put an activation between the linear layers named, and train again",
    "overfitting": "train once with twice the data, or half the width, and compare the validation loss",
    "rank_divergence": "train on one process; if the failure goes away, compare parameters between ranks",
    "uninformative_labels": "try to fit 20 samples: a model that can't is broken, one that can has labels to check",
    "unshuffled_data": "train once with shuffle=True, or with the index permuted before it is sliced",
    "unused_parameters": "call the module in the forward, or take it out of the model and of the optimizer",
    "validation_mismatch": "validate once on training samples: the loss should be that of training",
}

#: Interventions that see only one of several ways to write a thing: finding no occasion refutes nothing.
NOT_REACHED: Mapping[str, str] = {
    "shuffle_window": "neither a DataLoader, nor slices, nor a target per row was seen, so the order can't be changed",
    "standardize_targets": "no library loss with targets out of scale was seen, so they can't be scaled from outside",
    "normalize_layer": "no layer could be reached between the steps of the stack",
    "unscale_before_clip": "no clipping by torch's own functions was seen",
    "average_loss": "no sum and no constant was found in the graph of the loss",
}
