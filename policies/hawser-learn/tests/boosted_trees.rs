//! Predictions agree with xgboost's to 1e-6, take little time and no memory. The data are made by `python/sscc/golden.py`.

use hawser_learn::BoostedTrees;

const FEATURES: [&str; 4] = ["first", "second", "third", "fourth"];

struct Case {
    features: Vec<f32>,
    predicted: f64,
}

fn golden(name: &str) -> (BoostedTrees, Vec<Case>) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/boosted_trees");
    let read =
        |ending: &str| std::fs::read_to_string(format!("{folder}/{name}.{ending}")).expect("golden file");
    let model = BoostedTrees::read(&read("trees"), &FEATURES).expect("a model");
    let csv = read("csv");
    let cases = csv.lines().skip(1).map(|line| {
        let mut features: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let predicted = features.pop().expect("a prediction");
        Case { features: features.iter().map(|value| *value as f32).collect(), predicted }
    });
    (model, cases.collect())
}

#[test]
fn predictions_are_those_of_xgboost() {
    for (name, trees) in [("small", 5), ("usual", 40)] {
        let (model, cases) = golden(name);
        assert_eq!((model.trees(), cases.len()), (trees, 100));
        for case in cases {
            let difference = (model.predict(&case.features) - case.predicted).abs();
            assert!(difference < 1e-6, "{name}, {:?}: {difference:e}", case.features);
        }
    }
}

#[test]
fn a_prediction_does_not_allocate() {
    let (model, cases) = golden("usual");
    let counted = allocation_counter::measure(|| {
        for case in &cases {
            std::hint::black_box(model.predict(&case.features));
        }
    });
    assert_eq!(counted.count_total, 0);
}
