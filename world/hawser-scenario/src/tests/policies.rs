//! Policies of connections and flows, by name and with parameters.

use hawser_policy::{ParameterInfo, PolicyInfo, Registry};

use super::*;

/// Names and parameters; nothing is ever made.
fn registry() -> Registry {
    let beta = |range, default| ParameterInfo::number("beta", range, default);
    let mut registry = Registry::new();
    let cubic = PolicyInfo::new("cubic", "").alias("default").parameter(beta(0.1..=0.95, 0.7));
    registry.add_controller_with(cubic, |_, _| unreachable!());
    registry.add_controller("newreno", |_| unreachable!());
    let ecf = PolicyInfo::new("ecf", "").parameter(beta(0.0..=10.0, 0.25));
    registry.add_scheduler_with(ecf, |_, _| unreachable!());
    registry.add_scheduler("minrtt", |_| unreachable!());
    registry
}

const LINK: &str = "version = 1\nduration = \"1 s\"\n[[link]]\nname = \"a\"\nrate = \"1 Mbit/s\"\n";

fn read(rest: &str, overrides: &[&str]) -> Result<Scenario, ScenarioError> {
    let overrides: Vec<_> = overrides.iter().map(|&text| text.to_owned()).collect();
    Scenario::read(ReadOptions {
        text: &format!("{LINK}{rest}"),
        file: "p.toml",
        overrides: &overrides,
        files: &mut |_: &str| Err("no files here".to_owned()),
        registry: Some(&registry()),
    })
}

fn transport(rest: &str, overrides: &[&str]) -> String {
    read(rest, overrides).unwrap().transport.policies.to_string()
}

#[test]
fn a_policy_is_a_text_or_a_table() {
    let text = "[transport]\npolicy = \"ecf\"\ncongestion = \"cubic, beta = 0.8\"";
    assert_eq!(transport(text, &[]), "policy = ecf, congestion = cubic,beta=0.8");
    let table = "[transport]\ncongestion = { name = \"cubic\", beta = 0.8 }";
    assert_eq!(transport(table, &[]), "congestion = cubic,beta=0.8");
    assert_eq!(transport("[transport.congestion]\nbeta = \"0.8\"", &[]), "congestion = default,beta=0.8");
}

#[test]
fn an_override_sets_a_policy_or_one_of_its_parameters() {
    let file = "[transport]\ncongestion = \"cubic,beta=0.5\"";
    assert_eq!(transport(file, &["transport.congestion=newreno"]), "congestion = newreno");
    assert_eq!(transport(file, &["transport.congestion.beta=0.9"]), "congestion = cubic,beta=0.9");
    assert_eq!(transport("", &["transport.congestion.beta=0.9"]), "congestion = default,beta=0.9");
    assert_eq!(transport(file, &["transport.controller.beta=0.9"]), "congestion = cubic,beta=0.9");
    // Whichever comes first: a parameter belongs to the policy that is chosen in the end.
    let both = ["transport.congestion.beta=0.9", "transport.congestion=cubic"];
    assert_eq!(transport("", &both), "congestion = cubic,beta=0.9");
}

#[test]
fn the_policies_of_a_flow_go_over_those_of_the_transport() {
    let text = "[transport]\nscheduler = \"minrtt\"\ncongestion = \"newreno\"\n\
                [[flow]]\nname = \"f\"\nkind = \"bulk\"\ncongestion = \"cubic\"\n\
                [[flow]]\nname = \"g\"\nkind = \"bulk\"\npolicy = \"ecf\"";
    let of_flows = |overrides: &[&str]| -> Vec<String> {
        let scenario = read(text, overrides).unwrap();
        scenario.flows.iter().map(|flow| scenario.policies_of(flow).to_string()).collect()
    };
    assert_eq!(of_flows(&[]), ["scheduler = minrtt, congestion = cubic", "policy = ecf"]);
    let set = ["flow.f.congestion.beta=0.3", "flow.g.policy.beta=0.5"];
    assert_eq!(of_flows(&set), ["scheduler = minrtt, congestion = cubic,beta=0.3", "policy = ecf,beta=0.5"]);
    // A parameter without a policy belongs to the one of the transport.
    let set = ["transport.scheduler=ecf", "flow.f.scheduler.beta=1"];
    assert_eq!(of_flows(&set)[0], "scheduler = ecf,beta=1, congestion = cubic");
}

#[test]
fn mistakes_name_the_place_and_what_is_allowed() {
    let fails = |rest: &str, overrides: &[&str]| read(rest, overrides).unwrap_err().to_string();
    for (rest, expected) in [
        (
            "[transport]\ncongestion = \"cubik\"",
            "p.toml:7: transport.congestion: there is no congestion controller named \"cubik\" (did you mean \
             \"cubic\"?); known are: cubic, newreno",
        ),
        (
            "[transport]\ncongestion = \"cubic,beta=1\"",
            "p.toml:7: transport.congestion: cubic: expected 0.1 to 0.95 for \"beta\" (default 0.7), found \"1\"",
        ),
        (
            "[transport.congestion]\nname = \"cubic\"\nbetta = 1",
            "p.toml:8: transport.congestion.betta: cubic has no parameter \"betta\" (did you mean \"beta\"?); it \
             has: beta (0.1 to 0.95, default 0.7)",
        ),
        (
            "[[flow]]\nname = \"f\"\nkind = \"bulk\"\nscheduler = \"ecf,beta\"",
            "p.toml:9: flow.f.scheduler: expected PARAMETER=VALUE after each comma, such as \"beta=0.8\", found \
             \"beta\"",
        ),
        (
            "[transport]\ncongestion = 7",
            "p.toml:7: transport.congestion: expected a string in quotes, found integer",
        ),
        (
            "[transport]\ncongestion = \"cubic\"\ncontroller = \"cubic\"",
            "p.toml:8: transport.controller: is the former name of `congestion`, which is given as well",
        ),
        (
            "[transport]\nacks = \"own\"\nacknowledgements = \"own\"",
            "p.toml:8: transport.acknowledgements: is the former name of `acks`, which is given as well",
        ),
        (
            "[transport]\nprotection = \"xor\"",
            "p.toml:7: transport.protection: there is no protection policy named \"xor\"; none is known",
        ),
    ] {
        assert_eq!(fails(rest, &[]), expected);
    }
    assert_eq!(
        fails("", &["transport.congestion.beta=2"]),
        "--set transport.congestion.beta=2: transport.congestion.beta: cubic: expected 0.1 to 0.95 for \"beta\" \
         (default 0.7), found \"2\""
    );
}

/// A plan next to its scenario, and what is wrong with its policies.
fn check_plan(plan: &str, scenario: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), format!("{LINK}{scenario}")).unwrap();
    let path = folder.path().join("plan.toml");
    let plan =
        Plan::parse(&format!("version = 1\nscenarios = [\"s.toml\", \"missing.toml\"]\n{plan}"), "plan.toml");
    let result = plan.unwrap().check_policies(&path, &registry());
    result.map_err(|error| error.to_string().replace(&format!("{}/", folder.path().display()), ""))
}

#[test]
fn the_policies_of_a_plan_are_checked_before_it_runs() {
    let good = "[vary]\n\"transport.congestion\" = [\"cubic,beta=0.5\", \"cubic,beta=0.7\"]\n\
                \"transport.scheduler.beta\" = { from = 0.1, to = 0.5, step = 0.2 }\n\"seed.of.nothing\" = [1]";
    assert_eq!(check_plan(good, "[transport]\nscheduler = \"ecf\""), Ok(()));
    for (plan, scenario, expected) in [
        (
            "[vary]\n\"transport.congestion\" = [\n  \"newreno\",\n  \"cubic,beta=5\",\n]",
            "",
            "plan.toml:6: vary.transport.congestion: cubic: expected 0.1 to 0.95 for \"beta\" (default 0.7), found \
             \"5\"",
        ),
        (
            "[set]\n\"transport.scheduler\" = \"fast\"",
            "",
            "plan.toml:4: set.transport.scheduler: there is no scheduler named \"fast\"; known are: ecf, minrtt",
        ),
        (
            "[vary]\n\"transport.congestion.beta\" = [0.5, 0.96]",
            "",
            "plan.toml:4: vary.transport.congestion.beta: cubic: expected 0.1 to 0.95 for \"beta\" (default 0.7), \
             found \"0.96\"",
        ),
        (
            "[vary]\n\"transport.scheduler\" = [\"ecf\", \"minrtt\"]\n\"transport.scheduler.beta\" = [0.5]",
            "",
            "plan.toml:5: vary.transport.scheduler.beta: minrtt has no parameters, found \"beta\"",
        ),
        (
            "",
            "[[flow]]\nname = \"f\"\nkind = \"bulk\"\nscheduler = \"best\"",
            "s.toml:9: flow.f.scheduler: there is no scheduler named \"best\"; known are: ecf, minrtt",
        ),
    ] {
        assert_eq!(check_plan(plan, scenario).unwrap_err(), expected);
    }
}
