use super::*;
use crate::{Commands, Decision, SendView, Side};

struct Lazy(u64);

impl Scheduler for Lazy {
    fn name(&self) -> &'static str {
        if self.0 == 0 { "lazy" } else { "lazier" }
    }

    fn schedule(&mut self, _view: &SendView<'_>, _commands: &mut Commands) -> Decision {
        Decision::Wait(None)
    }
}

fn registry() -> Registry {
    let mut registry = Registry::new();
    registry.add_scheduler("Lazy", |_| Box::new(Lazy(0)));
    registry.add_scheduler("seeded", |init| Box::new(Lazy(init.seed)));
    registry
}

fn build(registry: &Registry, name: &str, seed: u64) -> &'static str {
    registry.scheduler(name).unwrap().build(&SchedulerInit { side: Side::Client, seed }).name()
}

#[test]
fn names_are_found_without_regard_to_case_and_the_last_entry_counts() {
    let mut registry = registry();
    assert_eq!(build(&registry, "LAZY", 7), "lazy");
    assert_eq!(build(&registry, "seeded", 7), "lazier");
    registry.add_scheduler("LAZY", |_| Box::new(Lazy(1)));
    assert_eq!(build(&registry, "lazy", 0), "lazier");
    assert_eq!(registry.scheduler_names().collect::<Vec<_>>(), ["lazy", "seeded"]);
}

#[test]
fn an_unknown_name_is_answered_with_those_that_exist() {
    let error = registry().scheduler("fast").err().unwrap();
    assert_eq!(error.to_string(), "there is no scheduler named \"fast\"; known are: lazy, seeded");
    let error = registry().controller("lazy").err().unwrap();
    assert_eq!((error.kind, error.known), ("congestion controller", vec![]));
}
