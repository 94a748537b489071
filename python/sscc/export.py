"""Writes a trained xgboost model in the format that hawser_learn::BoostedTrees reads."""

import json

MAGIC = "hawser-boosted-trees 1"


def tree_lines(tree):
    """The nodes of one tree; xgboost numbers children above their parents, as the format wants it."""
    left, right = tree["left_children"], tree["right_children"]
    lines = [f"tree {len(left)}"]
    for node, (a, b) in enumerate(zip(left, right)):
        value = tree["split_conditions"][node]
        if a == -1:
            lines.append(f"leaf {value!r}")
            continue
        if not (node < a < len(left) and node < b < len(left)):
            raise ValueError(f"node {node} has children {a} and {b}: expected larger numbers")
        missing = "left" if tree["default_left"][node] else "right"
        lines.append(f"split {tree['split_indices'][node]} {value!r} {a} {b} {missing}")
    return lines


def model_lines(booster, features):
    """A booster with the objective of squared error as lines of text."""
    model = json.loads(booster.save_raw("json"))["learner"]
    objective = model["objective"]["name"]
    if objective != "reg:squarederror":
        raise ValueError(f"the objective is {objective}: expected reg:squarederror")
    trees = model["gradient_booster"]["model"]["trees"]
    base = float(model["learner_model_param"]["base_score"])
    lines = [MAGIC, "features " + " ".join(features), f"base {base!r}", f"trees {len(trees)}"]
    for tree in trees:
        lines.extend(tree_lines(tree))
    return lines
