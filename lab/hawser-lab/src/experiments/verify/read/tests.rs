use super::super::list::{Request, Seeds};
use super::super::metric::{Metric, Policy};
use super::super::value::{Bound, Value};
use super::super::{Estimator, Expression, Measured};
use super::*;

fn nothing(_: &Request<'_>) -> std::result::Result<Measured, String> {
    Ok(Measured::new(""))
}

const KNOWN: Known = Known {
    programs: &[&[Program {
        name: "course",
        run: nothing,
        metrics: &["goodput_bps", "lost_{a|b}_share"],
        outcome: false,
    }]],
    plots: &[],
};

const LIST: &str = r#"
name = "test"
title = "A list"
source = "a paper"
page = "docs/test.md"

[system]
"transport.scheduler" = "mams"

[policies]
without = "mams,selection=off"
coded = { policy = "sedpf", set = { "transport.protection" = "sedpf" } }

[compare]
all = ["@system", "late", "without"]

[groups]
speeds = ["city-*"]
loss = { city-30 = 3, city-20 = 2 }

[causes]
early = "it is early"

[runs.up]
program = "course"
scenario = "up.toml"
policies = "all"
seeds = [6, 30]
set = { "transport.policy" = "mmquic", duration = "5 s", a = 1, b = "1", c = ["x"] }

[runs."city-{speed}"]
scenario = "city.toml"
vary.speed = [20, { speed = 30, queue = "9 kB" }]
set = { "scene.speed" = "{speed} km/h" }
policies = ["@system", "coded"]

[[item]]
id = "1"
statement = "s"
threshold = "t"
claims = [
    "CLAIM",
]
tests = ["hawser-learn kalman::tests::golden"]
deviation = "@early"
"#;

fn with(claim: &str) -> std::result::Result<List, ListError> {
    read(&LIST.replace("CLAIM", claim), "x/test.toml", KNOWN)
}

fn claimed(claim: &str) -> (Value, Bound) {
    let list = with(claim).unwrap();
    let claim = list.items[0].claims[0].clone();
    (claim.value, claim.bound)
}

fn metric(runs: &str, policy: Policy, name: &str) -> Metric {
    Metric { runs: runs.to_owned(), policy, name: name.to_owned() }
}

#[test]
fn runs_are_as_the_file_says() {
    let list = with("mean(up.goodput_bps) > 1").unwrap();
    let names: Vec<&str> = list.runs.iter().map(|runs| runs.name.as_str()).collect();
    assert_eq!(names, ["up", "city-20", "city-30"]);
    let up = &list.runs[0];
    assert_eq!(up.set, ["a=1", "b=\"1\"", "c=[\"x\"]", "duration=5 s", "transport.policy=mmquic"]);
    assert_eq!(up.seeds, Seeds { default: 6, full: 30 });
    let without = Policy::Named("mams,selection=off".to_owned());
    assert_eq!(up.policies, [Policy::System, Policy::Named("late".to_owned()), without]);
    assert_eq!(list.runs[1].set, ["scene.speed=20 km/h"]);
    assert_eq!(list.runs[1].seeds, Seeds::ONCE);
    assert_eq!(list.set_for("sedpf"), ["transport.protection=sedpf"]);
    let deviation = list.items[0].deviation.clone().unwrap();
    assert_eq!((deviation.page.as_str(), deviation.cause.as_str()), ("docs/test.md", "it is early"));
    assert_eq!(list.items[0].tests[0].to_string(), "hawser-learn kalman::tests::golden");
}

#[test]
fn what_is_no_path_of_a_test_is_refused() {
    for wrong in
        ["kalman::tests::golden", "hawser-learn golden", "hawser-learn kalman::", "hawser-learn a::b c"]
    {
        let text = LIST
            .replace("hawser-learn kalman::tests::golden", wrong)
            .replace("CLAIM", "mean(up.goodput_bps) > 1");
        let error = read(&text, "x/test.toml", KNOWN).unwrap_err();
        assert!(error.message.contains("path of a test"), "{wrong}: {error}");
    }
}

#[test]
fn estimators_have_intervals_and_expressions_do_not() {
    let late = metric("up", Policy::Named("late".to_owned()), "lost_a_share");
    let own = metric("up", Policy::System, "lost_a_share");
    let (value, bound) = claimed("ratio(up.lost_a_share, late.up.lost_a_share) >= 1.15");
    assert!(matches!(value, Value::Ratio(one, other) if one == own && other == late));
    assert_eq!(bound, Bound::AtLeast(1.15));
    let (value, bound) = claimed("mean(up.lost_a_share) / mean(late.up.lost_a_share) within 10 % of 2 * 5");
    assert!(
        matches!(value, Value::Computed { text, .. } if text.starts_with("mean(up") && text.ends_with(')'))
    );
    assert_eq!(bound, Bound::Within(9.0, 11.0));
    assert_eq!(claimed("mean(up.goodput_bps) inside 1 to 2").1, Bound::Inside(1.0, 2.0));
    assert_eq!(claimed("sum(up.goodput_bps) in -1 to 1 / 4").1, Bound::Within(-1.0, 0.25));
}

#[test]
fn groups_are_written_out() {
    let of = |runs: &str| {
        let inner = Expression::Metric(metric(runs, Policy::System, "goodput_bps"));
        Expression::Estimate(Estimator::Mean, Box::new(inner))
    };
    let expression = |claim: &str| match claimed(claim).0 {
        Value::Computed { expression, .. } => expression,
        other => panic!("{other:?}"),
    };
    let found = expression("max_over(speeds, mean(speeds.goodput_bps)) > 1");
    assert_eq!(found, Expression::Largest(vec![of("city-20"), of("city-30")]));
    let found = expression("best_over(loss, mean(loss.goodput_bps)) >= 2");
    assert_eq!(found, Expression::Best(vec![(2.0, of("city-20")), (3.0, of("city-30"))]));
    let found = expression("min_over_steps(loss, mean(loss.goodput_bps) / mean(before.goodput_bps)) < 1");
    assert_eq!(found.metrics().len(), 2);
    let found = expression("mean_over(all, mean(all.up.goodput_bps)) > 1");
    assert_eq!(found.metrics()[1].policy, Policy::Named("late".to_owned()));
}

#[test]
fn mistakes_are_told_with_their_line() {
    let line = 1 + LIST[..LIST.find("CLAIM").unwrap()].matches('\n').count();
    for (claim, part) in [
        (
            "mean(up.goodput_bsp) > 1",
            "no metric \"goodput_bsp\"; known are goodput_bps, lost_a_share, lost_b_share",
        ),
        ("mean(city-20.flow.main.goodput) > 1", "no metric \"flow.main.goodput\"; known are seed"),
        ("mean(down.goodput_bps) > 1", "no runs \"down\"; known are up, city-20, city-30"),
        ("mean(coded.up.goodput_bps) > 1", "the runs up are not made with coded"),
        ("middle(up.goodput_bps) > 1", "no function \"middle\"; known are mean, median"),
        ("max_over(speed, 1) > 1", "no group \"speed\"; known are all, loss, speeds"),
        ("mean(up.goodput_bps) = 1", "no word of a claim has \"=\""),
        ("mean(up.goodput_bps)", "expected \">\", \"<\""),
        ("mean(up.goodput_bps) > 1 2", "nothing may follow the bound, found \"2\""),
        ("mean(up.goodput_bps) > up.goodput_bps", "a bound is made of numbers"),
        ("up.goodput_bps > 1", "has a value for each seed"),
        ("mean(mean(up.goodput_bps)) > 1", "cannot stand in another one"),
        ("mean(1) > 1", "an estimate needs a metric"),
        ("ratio(up.goodput_bps) > 1", "takes two metrics, found 1"),
        ("(up.goodput_bps > 1", "expected \")\", found the end"),
    ] {
        let error = with(claim).unwrap_err();
        assert!(error.message.contains(part), "{claim}: {error}");
        assert_eq!((error.file.as_str(), error.line), ("x/test.toml", line), "{claim}: {error}");
    }
}

#[test]
fn mistakes_outside_of_claims_are_told_as_well() {
    for (from, to, part) in [
        ("id = \"1\"", "id = 1", ":38: invalid type: integer"),
        ("threshold", "treshold", "unknown field `treshold`"),
        ("policies = \"all\"", "policies = \"some\"", ":27: no list of policies \"some\"; known are all"),
        ("\"late\"", "\"late,loss=ewma\"", ":15: no policy \"late,loss=ewma\""),
        ("program = \"course\"", "program = \"curse\"", ":25: no program \"curse\"; known are course"),
        ("\"@early\"", "\"@late\"", "no cause \"late\"; known are early"),
        ("city-30 = 3", "city-40 = 3", ":19: no runs \"city-40\""),
        ("[\"city-*\"]", "[\"town-*\"]", ":18: expected at least one member"),
        ("id = \"1\"", "id = \"1\"\nmust = true", "cannot deviate"),
        ("id = \"1\"", "id = \"1\"\ncontrol = \"late,loss=1\"", ":39: no policy \"late,loss=1\""),
        ("id = \"1\"", "id = \"1\"\ncontrol = \"@system\"", ":39: the system is no control of itself"),
    ] {
        let text = LIST.replace("CLAIM", "mean(up.goodput_bps) > 1");
        assert!(text.contains(from), "{from}");
        let error = read(&text.replacen(from, to, 1), "test.toml", KNOWN).unwrap_err().to_string();
        assert!(error.contains(part), "{to}: {error}");
    }
}
