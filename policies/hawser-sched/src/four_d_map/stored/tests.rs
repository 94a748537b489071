use super::*;

/// A model that has seen something with each arm.
fn taught() -> FourDMapModel {
    let mut bandit = LinUcb::new(4, 13, 0.8);
    for round in 0..40u32 {
        let context: Vec<f64> = (0..13).map(|at| f64::from((round * 7 + at * 5) % 11) / 10.0).collect();
        bandit.update(round as usize % 4, &context, f64::from(round % 3));
    }
    let arms = [0, 1, 2, 3].map(|arm| bandit.arm(arm).expect("it exists"));
    FourDMapModel { features: FourDMapFeatures::Scaled, paths: 2, arms }
}

#[test]
fn what_is_written_is_read() {
    let model = taught();
    assert_eq!(FourDMapModel::read(&model.write()), Ok(model));
}

#[test]
fn the_shipped_model_is_of_the_features_that_are_default() {
    let model = FourDMapModel::shipped();
    assert_eq!((model.features, model.paths), (FourDMapFeatures::Scaled, 2));
    assert_eq!(model.write(), FourDMapModel::SHIPPED);
}

#[test]
fn what_is_wrong_is_said() {
    let good = taught().write();
    let error = |text: &str| FourDMapModel::read(text).expect_err("something is wrong").to_string();
    assert!(error("").starts_with("no model of 4D-MAP"));
    assert!(error("hawser-sscc-models 1\n").starts_with("no model of 4D-MAP"));
    assert!(error(&good.replace("model 1", "model 2")).starts_with("a model of version 2"));
    assert!(error(good.trim_end().trim_end_matches("end")).starts_with("the model is truncated"));
    let half: String = good.lines().take(20).map(|line| format!("{line}\n")).collect();
    assert!(error(&half).starts_with("the model is truncated"));
    assert!(
        error(&good.replace("scaled 2", "scaled 5")).starts_with("line 2 of the model: expected features")
    );
    assert!(error(&good.replace("scaled 2", "scaled 3")).starts_with("line 4 of the model: expected b or a"));
    assert!(error(&good.replace("arm discard", "arm skip")).contains("expected arm normal, duplicate"));
    assert!(error(&good.replace("arm duplicate\nb ", "arm duplicate\nb x")).starts_with("line 19"));
    let two = format!("{good}{good}");
    assert!(error(&two).ends_with("of the model: expected nothing after end"), "{}", error(&two));
    assert!(error(&" ".repeat(MAX_BYTES + 1)).starts_with("the model is larger"));
    let broken = |change: fn(&mut LinUcbArm)| {
        let mut model = taught();
        change(&mut model.arms[2]);
        error(&model.write())
    };
    let of_arm = "arm discard of the model: A is not symmetric and positive definite";
    assert!(broken(|arm| arm.matrix[1] += 1.0).starts_with(of_arm));
    assert!(broken(|arm| arm.matrix[0] = -1.0).starts_with(of_arm));
    assert!(broken(|arm| arm.b[3] = f64::NAN).starts_with(of_arm));
}
