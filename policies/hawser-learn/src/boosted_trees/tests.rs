use proptest::prelude::*;

use super::{BoostedTrees, BoostedTreesError, MAX_NODES, MAX_TREES};

const GOOD: &str = "# by hand\nhawser-boosted-trees 1\nfeatures a b\nbase 0.5\ntrees 2\n\
                    tree 5\nsplit 0 1.5 1 2 right\nleaf -1\nsplit 1 0 3 4 left\nleaf 0.25\nleaf 2\n\
                    tree 1\nleaf 0.125\n";

fn read(text: &str) -> Result<BoostedTrees, BoostedTreesError> {
    BoostedTrees::read(text, &["a", "b"])
}

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    read(&GOOD.replacen(from, to, 1)).unwrap_err().to_string()
}

#[test]
fn each_leaf_is_reached() {
    let model = read(GOOD).unwrap();
    let base = 0.5 + 0.125;
    assert_eq!(model.predict(&[1.0, 7.0]), base - 1.0);
    assert_eq!(model.predict(&[1.5, -1.0]), base + 0.25, "not below the threshold");
    assert_eq!(model.predict(&[f32::NAN, 0.0]), base + 2.0, "missing goes right");
    assert_eq!(model.predict(&[2.0]), base + 0.25, "the second is missing and goes left");
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(error("hawser-", ""), "not a model: expected it to begin with \"hawser-boosted-trees 1\"");
    assert_eq!(error("trees 1", "trees 9"), "a model of version 9; this program reads version 1");
    assert_eq!(error("a b", "b a"), "a model for other features: expected \"a b\", found \"b a\"");
    assert_eq!(error("base 0.5", "base inf"), "line 4 of the model: expected base NUMBER");
    assert_eq!(error("tree 1\nleaf 0.125\n", ""), "the model is truncated: expected tree NODES");
    assert_eq!(error("tree 1\nleaf 0.125\n", "tree 1\nleaf 0.125\nleaf 0\n"), "the model has too many lines");
    assert_eq!(error("trees 2", &format!("trees {}", MAX_TREES + 1)), "the model has too many trees");
    assert_eq!(error("tree 5", &format!("tree {}", MAX_NODES + 1)), "the model has too many nodes");
}

#[test]
fn a_node_names_features_and_children_that_exist() {
    for wrong in [
        "split 2 1.5 1 2 right",  // no such feature
        "split 0 1.5 0 2 right",  // its own child
        "split 0 1.5 1 5 right",  // no such node
        "split 0 1.5 1 2 middle", // no such direction
        "split 0 1.5 1 2",
        "split 0 1.5 1 2 right 3",
        "split 0 nan 1 2 right",
        "stump 0",
    ] {
        let error = error("split 0 1.5 1 2 right", wrong);
        assert!(error.starts_with("line 7 of the model: expected \"leaf VALUE\""), "{wrong}: {error}");
    }
}

#[test]
fn every_shorter_text_is_refused() {
    for end in 0..GOOD.trim_end().len() {
        // A number that is cut short is another number: only whole lines can be told.
        if GOOD.as_bytes()[end] == b'\n' {
            read(&GOOD[..end]).unwrap_err();
        }
    }
}

proptest! {
    #[test]
    fn no_text_leads_to_a_panic(lines in proptest::collection::vec("(tree|leaf|split|trees) ?[0-9 .a-z-]{0,20}", 0..12)) {
        let text = format!("hawser-boosted-trees 1\nfeatures a b\nbase 0\ntrees 1\n{}", lines.join("\n"));
        if let Ok(model) = read(&text) {
            prop_assert!(model.predict(&[0.5, 2.0]).is_finite());
        }
    }
}
