use super::*;
use crate::{Commands, Decision, ParameterInfo, SendView, Side};

struct Lazy(u64);

impl Scheduler for Lazy {
    fn name(&self) -> &'static str {
        match self.0 {
            0 => "lazy",
            1..10 => "lazier",
            _ => "laziest",
        }
    }

    fn schedule(&mut self, _view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        Decision::Wait(None)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_scheduler("Lazy", |_| Box::new(Lazy(0)));
    registry.add_scheduler("seeded", |init| Box::new(Lazy(init.seed)));
    let info = PolicyInfo::new("day-dream", "does nothing")
        .alias("default")
        .parameter(ParameterInfo::integer("depth", 1..=20, 1))
        .parameter(ParameterInfo::number("width", 0.5..=2.0, 1.0).unit("m"));
    registry.add_scheduler_with(info, |_, parameters| Box::new(Lazy(parameters.integer("depth"))));
    registry
}

fn build(registry: &Registry, spec: &str, seed: u64) -> &'static str {
    registry.scheduler(spec).unwrap().build(&SchedulerInit { side: Side::Client, seed }).name()
}

fn error(spec: &str) -> String {
    registry().scheduler(spec).err().unwrap().to_string()
}

#[test]
fn names_are_found_without_regard_to_case_and_the_last_entry_counts() {
    let mut registry = registry();
    assert_eq!(build(&registry, "LAZY", 7), "lazy");
    assert_eq!(build(&registry, "seeded", 7), "lazier");
    assert_eq!(build(&registry, "DayDream", 7), "lazier");
    assert_eq!(build(&registry, "day_dream,depth=20", 7), "laziest");
    registry.add_scheduler("LAZY", |_| Box::new(Lazy(1)));
    assert_eq!(build(&registry, "lazy", 0), "lazier");
    assert_eq!(registry.names(PolicyKind::Scheduler).collect::<Vec<_>>(), ["day-dream", "LAZY", "seeded"]);
}

#[test]
fn an_alias_is_found_but_not_listed_and_can_be_taken_over() {
    let mut registry = registry();
    assert_eq!(build(&registry, "default,depth=12", 0), "laziest");
    assert_eq!(registry.policy(PolicyKind::Scheduler, "default").unwrap().name, "day-dream");
    registry.add_scheduler("default", |_| Box::new(Lazy(0)));
    assert_eq!(build(&registry, "default", 0), "lazy");
    assert_eq!(build(&registry, "day-dream", 0), "lazier");
    assert_eq!(registry.names(PolicyKind::Scheduler).count(), 4);
}

#[test]
fn an_unknown_name_is_answered_with_those_that_exist() {
    assert_eq!(error("fast"), "there is no scheduler named \"fast\"; known are: day-dream, Lazy, seeded");
    assert_eq!(
        error("lasy"),
        "there is no scheduler named \"lasy\" (did you mean \"Lazy\"?); known are: day-dream, Lazy, seeded"
    );
    let error = registry().controller("lazy").err().unwrap().to_string();
    assert_eq!(error, "there is no congestion controller named \"lazy\"; none is known");
}

#[test]
fn an_unknown_parameter_is_answered_with_those_that_exist() {
    assert_eq!(error("lazy,depth=1"), "Lazy has no parameters, found \"depth\"");
    assert_eq!(
        error("day-dream,dept=3"),
        "day-dream has no parameter \"dept\" (did you mean \"depth\"?); it has: depth (1 to 20, default 1), \
         width (0.5 to 2 m, default 1)"
    );
}

#[test]
fn a_value_out_of_range_is_answered_with_range_and_default() {
    let expected = "day-dream: expected 0.5 to 2 m for \"width\" (default 1), found \"3\"";
    assert_eq!(error("default,width=3"), expected);
    assert_eq!(error("day-dream,depth"), error("lazy,depth"), "a text of no form is told before all else");
}

#[test]
fn parameters_reach_what_is_made_and_a_spec_is_as_good_as_its_text() {
    let registry = registry();
    let spec: PolicySpec = "daydream,depth=15".parse().unwrap();
    let init = SchedulerInit { side: Side::Server, seed: 0 };
    assert_eq!(registry.scheduler(&spec).unwrap().build(&init).name(), "laziest");
    assert_eq!(registry.scheduler(spec.to_string()).unwrap().build(&init).name(), "laziest");
}
