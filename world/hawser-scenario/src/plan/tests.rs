use super::*;

const PLAN: &str = r#"
version = 1
scenarios = ["a.toml", "../b.toml"]
replicates = 3
[set]
duration = "5 s"
[vary]
"transport.scheduler" = ["default", "minrtt"]
"link.a.delay" = { from = "10 ms", to = "50 ms", step = "20 ms" }
"link.a.loss" = [0, 0.01]
"#;

#[test]
fn cells_are_all_combinations_in_a_fixed_order() {
    let plan = Plan::parse(PLAN, "x/sweep.toml").unwrap();
    assert_eq!(plan.name, "sweep");
    assert_eq!(plan.cells.len(), 2 * 2 * 3 * 2 * 3);
    let values = |index: usize| -> Vec<&str> {
        plan.cells[index].overrides.iter().map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(values(0), ["5 s", "default", "10 ms", "0"]);
    assert_eq!(values(3), ["5 s", "default", "10 ms", "0.01"]);
    assert_eq!(values(35), ["5 s", "minrtt", "50 ms", "0.01"]);
    assert_eq!((plan.cells[35].replicate, plan.cells[36].scenario.as_str()), (2, "../b.toml"));
    assert_eq!(Plan::scenario_path(Path::new("x/sweep.toml"), &plan.cells[36]), Path::new("b.toml"));
    assert_eq!(plan.cells[0].settings()[1], "transport.scheduler=default");
}

#[test]
fn a_seed_depends_on_its_cell_only() {
    let plan = Plan::parse(PLAN, "x/sweep.toml").unwrap();
    let mut seeds: Vec<_> = plan.cells.iter().map(|cell| cell.seed).collect();
    let first = seeds.clone();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), plan.cells.len());
    // Fewer scenarios and replicates under another name: what remains keeps its seeds.
    let smaller = PLAN.replace("[\"a.toml\", \"../b.toml\"]", "[\"../b.toml\"]").replace("= 3", "= 2");
    let smaller = Plan::parse(&smaller, "other.toml").unwrap();
    assert_eq!(smaller.cells[0].seed, first[36]);
    assert_eq!(smaller.cells[2].seed, first[39]);
}

#[test]
fn pairs_share_the_seed_of_their_replicate() {
    let plan = Plan::parse(&PLAN.replace("[set]", "paired = true\n[set]"), "x/sweep.toml").unwrap();
    let same = |a: usize, b: usize| plan.cells[a].seed == plan.cells[b].seed;
    assert!(same(0, 3) && same(0, 33) && same(1, 34), "whatever varies");
    assert!(!same(0, 1) && !same(0, 36), "but neither replicate nor scenario");
}

#[test]
fn ranges_have_the_digits_of_their_bounds() {
    let plan = |range: &str| {
        let text = format!("version = 1\nscenarios = [\"a.toml\"]\n[vary]\nx = {range}\n");
        Plan::parse(&text, "p.toml").map(|plan| plan.factors[0].1.clone())
    };
    assert_eq!(plan("{ from = 0.1, to = 0.4, step = 0.1 }").unwrap(), ["0.1", "0.2", "0.3", "0.4"]);
    assert_eq!(plan("{ from = 1, to = 6, step = 2 }").unwrap(), ["1", "3", "5"]);
    assert_eq!(
        plan("{ from = \"1.5 Mbit/s\", to = \"2 Mbit/s\", step = \"0.25 Mbit/s\" }").unwrap(),
        ["1.50 Mbit/s", "1.75 Mbit/s", "2.00 Mbit/s"]
    );
    assert_eq!(
        plan("[\"5\", 5, [\"a\", 1], { y = \"z\" }, true]").unwrap(),
        ["\"5\"", "5", "[\"a\", 1]", "{ \"y\" = \"z\" }", "true"]
    );
}

#[test]
fn mistakes_in_plans() {
    for (text, part) in [
        ("scenarios = [\"a.toml\"]", "`version` is missing"),
        ("version = 1", "`scenarios` is missing"),
        ("version = 1\nscenarios = []", "p.toml:2: scenarios: expected at least one"),
        ("version = 1\nscenarios = [\"a\", \"a\"]", "scenarios[1]"),
        (
            "version = 1\nscenarios = [\"a\"]\nreplicates = 0",
            ":3: replicates: expected a whole number from 1",
        ),
        (
            "version = 1\nscenarios = [\"a\"]\nrepeat = 3",
            "allowed here: name, paired, replicates, scenarios, seed",
        ),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nx = []", ":4: vary.x: expected at least one value"),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nx = 3", ":4: vary.x: expected a list"),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nx = [1, 1]", ":4: vary.x[1]"),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nseed = [1, 2]", "replicates"),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nlink.a.rate = [1, 2]", "in quotes"),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nx = {from = 1, to = 5, step = 0}", "above zero"),
        (
            "version = 1\nscenarios = [\"a\"]\n[vary]\nx = {from = \"1 ms\", to = \"5 s\", step = \"1 ms\"}",
            "same unit",
        ),
        ("version = 1\nscenarios = [\"a\"]\n[vary]\nx = {from = 1, to = 5e9, step = 1}", "at most 100000"),
        ("version = 1\nscenarios = [\"a\"]\n[set]\nx = 1\n[vary]\nx = [1]", "in `set` as well"),
        ("version = 1\nscenarios = [\"a\"]\ninclude = [\"b\"]", "includes no files"),
    ] {
        let message = Plan::parse(text, "p.toml").expect_err(text).to_string();
        assert!(message.contains(part), "{text:?} gives {message:?}");
    }
}
