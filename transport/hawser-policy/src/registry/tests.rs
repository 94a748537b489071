use super::*;
use crate::{
    Ack, AckDecision, AckOpportunity, AckPolicy, Commands, Composition, CongestionController, Decision,
    ErasureCode, Loss, ParameterInfo, PathId, PolicySet, Protection, ProtectionPolicy, ProtectionView,
    ReturnPath, Scheduler, SchedulerInit, Segment, SendView, SetInit, Siblings, Side, StreamId, Time,
};
use std::sync::{Arc, Mutex};
use std::time::Duration;

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
fn another_policy_can_be_the_default() {
    let mut registry = registry();
    registry.choose_default(PolicyKind::Scheduler, "lazy").unwrap();
    assert_eq!(registry.policy(PolicyKind::Scheduler, "default").unwrap().name, "Lazy");
    assert_eq!(registry.resolve(&Composition::default()).scheduler.unwrap().name(), "Lazy");
    let unknown = registry.choose_default(PolicyKind::Scheduler, "lasy").unwrap_err();
    assert!(unknown.to_string().contains("did you mean"), "{unknown}");
}

#[test]
fn an_unknown_name_is_answered_with_those_that_exist() {
    assert_eq!(error("fast"), "there is no scheduler named \"fast\"; known are: day-dream, Lazy, seeded");
    assert_eq!(
        error("lasy"),
        "there is no scheduler named \"lasy\" (did you mean \"Lazy\"?); known are: day-dream, Lazy, seeded"
    );
    let error = registry().congestion("lazy").err().unwrap().to_string();
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

#[derive(Debug)]
struct Fixed(u64);

impl CongestionController for Fixed {
    fn name(&self) -> &'static str {
        "fixed"
    }
    fn on_ack(&mut self, _ack: &Ack, _siblings: &Siblings<'_>) {}
    fn on_loss(&mut self, _loss: &Loss, _siblings: &Siblings<'_>) {}
    fn on_max_datagram_size(&mut self, _bytes: u16) {}
    fn window(&self) -> u64 {
        self.0
    }
}

struct Returns(u32);

impl AckPolicy for Returns {
    fn decide(&mut self, _opportunity: &AckOpportunity) -> AckDecision {
        AckDecision::Now
    }
    fn return_path(&mut self, _now: Time, _acked: PathId, _paths: &[ReturnPath]) -> Option<PathId> {
        Some(PathId(self.0))
    }
}

/// The registry above with every kind: windows of 1 unless set, acknowledgements on path 1.
fn full() -> Registry {
    let mut registry = registry();
    let window = ParameterInfo::integer("window", 1..=9, 1);
    let info = PolicyInfo::new("fixed", "").alias("default").parameter(window.clone());
    registry.add_controller_with(info, |_, parameters| Box::new(Fixed(parameters.integer("window"))));
    registry.add_ack_policy("default", || Box::new(Returns(1)));
    registry.add_ack_policy("second", || Box::new(Returns(2)));
    let info = PolicyInfo::new("shield", "").parameter(ParameterInfo::integer("strength", 1..=9, 1));
    registry.add_protection_with(info, |_, parameters| {
        Some(Box::new(Shield(parameters.integer("strength") as u16)))
    });
    registry.add_protection_with(PolicyInfo::new("naked", ""), |_, _| None);
    registry.add_path_manager("default", |_| unreachable!());
    registry.add_path_manager("late", |_| unreachable!());
    let info = PolicyInfo::new("system", "").paths("late".parse().unwrap()).parameter(window);
    registry.add_set_with(info, |_, parameters| {
        let window = parameters.integer("window") * 100;
        PolicySet {
            scheduler: Box::new(Lazy(100)),
            congestion: Arc::new(move |_: &crate::ControllerInit| Box::new(Fixed(window)) as Box<_>),
            acks: Box::new(Returns(3)),
            protection: None,
            agent: None,
            features: crate::FeatureSet::NONE,
        }
    });
    registry
}

/// What a composition gives: the scheduler, the window, the return path.
fn parts(text: &[(PolicyKind, &str)]) -> Result<(&'static str, u64, u32), PolicyError> {
    let mut wanted = Composition::default();
    text.iter().for_each(|(kind, spec)| wanted.set(*kind, spec.parse().unwrap()));
    let mut set = full().set(&wanted)?.build(&SetInit { side: Side::Client, seed: 1, now: Time::ZERO });
    let init = crate::ControllerInit {
        path: PathId::ZERO,
        now: Time::ZERO,
        max_datagram_size: 1_200,
        initial_window: 12_000,
        link: None,
        remote: "192.0.2.1:443".parse().unwrap(),
        seed: 0,
        snapshot: None,
    };
    let window = set.congestion.build(&init).window();
    let path = set.acks.return_path(Time::ZERO, PathId::ZERO, &[]);
    Ok((set.scheduler.name(), window, path.unwrap().0))
}

#[test]
fn a_composition_is_a_set_a_scheduler_or_parts() {
    use PolicyKind::{Acks, Congestion, Scheduler, Set};
    assert_eq!(parts(&[]), Ok(("lazier", 1, 1)), "the defaults");
    assert_eq!(parts(&[(Set, "lazy")]), Ok(("lazy", 1, 1)), "a scheduler");
    assert_eq!(parts(&[(Scheduler, "lazy"), (Congestion, "fixed,window=5")]), Ok(("lazy", 5, 1)));
    assert_eq!(parts(&[(Set, "System,window=7")]), Ok(("laziest", 700, 3)), "a set");
    let exchanged = [(Set, "system"), (Congestion, "fixed"), (Acks, "second")];
    assert_eq!(parts(&exchanged), Ok(("laziest", 1, 2)), "a set, two of whose parts are exchanged");
    let error = |text: &str| parts(&[(Set, text)]).unwrap_err().to_string();
    assert_eq!(
        error("sistem"),
        "there is no policy set named \"sistem\" (did you mean \"system\"?); known are: system, day-dream, Lazy, \
         seeded"
    );
    assert!(error("system,window=10").starts_with("system: expected 1 to 9"));
    assert!(error("lazy,window=1").starts_with("Lazy has no parameters"));
}

#[test]
fn a_resolved_composition_says_everything_but_what_a_set_decides() {
    let resolve = |text: &str| full().resolve(&Composition::of(text.parse().unwrap())).to_string();
    let parts = "congestion = fixed, acks = default, paths = default";
    assert_eq!(resolve("lazy"), format!("scheduler = lazy, {parts}"));
    assert_eq!(
        full().resolve(&Composition::default()).to_string(),
        format!("scheduler = day-dream, {parts}")
    );
    assert_eq!(resolve("system,window=2"), "policy = system,window=2, paths = late");
    assert!(full().paths_of(&Composition::of("system".parse().unwrap())).is_ok());
}

#[test]
fn kinds_are_found_by_their_names_and_former_ones() {
    for kind in PolicyKind::ALL {
        assert_eq!(PolicyKind::named(kind.field()), Some(kind));
        assert!(kind.former().iter().all(|former| PolicyKind::named(former) == Some(kind)), "{kind}");
    }
    assert_eq!(PolicyKind::named("acknowledgements"), Some(PolicyKind::Acks));
    assert_eq!(PolicyKind::named("acknowledgement"), None);
}

struct Shield(u16);

impl ProtectionPolicy for Shield {
    fn name(&self) -> &'static str {
        "shield"
    }

    fn protect(&mut self, _view: &ProtectionView<'_>) -> Option<Protection> {
        Some(Protection {
            code: ErasureCode::ReedSolomon,
            source_symbols: 10,
            repair_symbols: self.0,
            span: Duration::from_millis(10),
            path: None,
            across_paths: false,
        })
    }
}

#[test]
fn protection_is_part_of_a_composition_and_of_sets() {
    let protection = |text: &[(PolicyKind, &str)]| {
        let mut wanted = Composition::default();
        text.iter().for_each(|(kind, spec)| wanted.set(*kind, spec.parse().unwrap()));
        let mut set = full().set(&wanted)?.build(&SetInit { side: Side::Client, seed: 1, now: Time::ZERO });
        let segment = Segment::plain(StreamId(0), 0..1);
        let view = ProtectionView { now: Time::ZERO, path: PathId::ZERO, paths: &[], segment: &segment };
        let answer = set.protection.as_mut().and_then(|policy| policy.protect(&view));
        Ok::<_, PolicyError>(answer.map(|answer| answer.repair_symbols))
    };
    let kind = PolicyKind::Protection;
    assert_eq!(protection(&[]), Ok(None), "nobody asked for any");
    assert_eq!(protection(&[(kind, "shield,strength=3")]), Ok(Some(3)));
    assert_eq!(protection(&[(kind, "naked")]), Ok(None));
    assert_eq!(protection(&[(PolicyKind::Set, "system")]), Ok(None), "what the set says");
    assert_eq!(protection(&[(PolicyKind::Set, "system"), (kind, "shield")]), Ok(Some(1)), "a part exchanged");
    let error = protection(&[(kind, "shield,strength=10")]).unwrap_err().to_string();
    assert_eq!(error, "shield: expected 1 to 9 for \"strength\" (default 1), found \"10\"");
    assert_eq!(full().names(kind).collect::<Vec<_>>(), ["naked", "shield"]);
}

#[test]
fn without_a_default_what_is_missing_is_told() {
    let error = registry().set(&Composition::default()).err().unwrap().to_string();
    assert_eq!(error, "there is no congestion controller named \"default\"; none is known");
}

/// A registry with a policy that reads a file, and notes each length that it is made with.
fn with_file(read: bool) -> (Registry, Arc<Mutex<Vec<Option<usize>>>>) {
    let made: Arc<Mutex<Vec<Option<usize>>>> = Arc::default();
    let noted = made.clone();
    let mut registry = Registry::new();
    registry.add_scheduler_with(
        PolicyInfo::new("read-er", "")
            .parameter(ParameterInfo::file("model"))
            .parameter(ParameterInfo::integer("quantum", 1..=64, 8)),
        move |_, parameters| {
            let contents: Option<Arc<String>> = parameters.file("model");
            noted
                .lock()
                .unwrap()
                .push(contents.map(|text| text.len() + parameters.integer("quantum") as usize));
            Box::new(Lazy(1))
        },
    );
    if read {
        registry.read_with("Reader", "model", |file| match file {
            "missing" => Err("missing: no such file".to_owned()),
            file => Ok(Arc::new(file.repeat(2))),
        });
    }
    (registry, made)
}

fn make(registry: &Registry, spec: &str) -> Result<(), PolicyError> {
    let init = SchedulerInit { side: Side::Client, seed: 1 };
    registry.scheduler(spec).map(|factory| drop(factory.build(&init)))
}

#[test]
fn a_program_reads_the_files_that_parameters_name() {
    let (registry, made) = with_file(true);
    make(&registry, "reader").unwrap();
    make(&registry, "reader,model=abc").unwrap();
    assert_eq!(*made.lock().unwrap(), [None, Some(14)]);
    let error = make(&registry, "reader,model=missing").unwrap_err();
    assert_eq!(error.to_string(), "read-er: \"model\": missing: no such file");
}

#[test]
fn texts_of_peers_name_no_files() {
    for registry in [with_file(false).0, with_file(true).0.without_files()] {
        make(&registry, "reader").unwrap();
        let error = make(&registry, "reader,model=abc").unwrap_err();
        assert_eq!(error.to_string(), "read-er: \"model\": abc: no files are read for policies here");
    }
}

#[test]
fn defaults_of_a_program_are_used_where_a_text_says_nothing_else() {
    let (mut registry, made) = with_file(true);
    let set = |registry: &mut Registry, text: &str| {
        registry.set_defaults(PolicyKind::Scheduler, &text.parse().unwrap())
    };
    set(&mut registry, "reader,model=abc").unwrap();
    set(&mut registry, "reader,quantum=10").unwrap();
    make(&registry, "reader").unwrap();
    make(&registry, "reader,quantum=20").unwrap();
    make(&registry, "reader,model=a").unwrap();
    assert_eq!(*made.lock().unwrap(), [Some(16), Some(26), Some(12)]);
    assert!(set(&mut registry, "reader,quantum=0").is_err() && set(&mut registry, "none").is_err());
}
