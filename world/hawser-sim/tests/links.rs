//! What a client's policies know of its links.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_cc::Cubic;
use hawser_paths::FullMesh;
use hawser_policy::{
    Assignment, AttachReport, AttachRequest, AttachResult, AttachmentPoint, Command, Commands,
    ControllerInit, Decision, Event, Interests, LinkId, LinkUpdate, PathAction, PathEvent, PathId,
    PathManager, PathManagerInit, PathView, Registry, Scheduler, SchedulerInit, SendView, Time,
};
use hawser_scenario::{Direction, Scenario};
use hawser_sim::run::{NoRecorder, Options, Outcome, Simulation};

use crate::common::registry;

/// What policies noted while a run lasted.
type Notes<T> = Arc<Mutex<Vec<T>>>;

fn run(text: &str, registry: &Registry) -> Outcome {
    let scenario = Scenario::parse(text, "test.toml", &mut |_| Err("there is none".into()));
    let simulation = Simulation::new(&scenario.expect("a scenario"), registry, Options::default());
    simulation.expect("it can be simulated").run(&mut NoRecorder)
}

/// The path of the handshake is of its link from its birth, like all others: its controller may depend on that.
#[test]
fn the_controller_of_every_path_knows_its_link() {
    let made: Notes<(PathId, Option<LinkId>)> = Arc::default();
    let mut registry = registry();
    let notes = made.clone();
    registry.add_controller("noting", move |init: &ControllerInit| {
        notes.lock().expect("nobody panicked").push((init.path, init.link));
        Box::new(Cubic::new(init)) as Box<_>
    });
    let text = "version = 1\nduration = \"2 s\"\n[transport]\ncongestion = \"noting\"\n\
        [[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\n[[link]]\nname = \"b\"\nrate = \"20 Mbit/s\"\n";
    run(text, &registry);
    let made = made.lock().expect("nobody panicked");
    let links_of = |path| {
        let known = made.iter().filter(|(id, link)| *id == path && link.is_some());
        known.map(|(_, link)| *link).collect::<Vec<_>>()
    };
    // The server's end makes controllers as well, and has no links.
    assert_eq!(links_of(PathId(0)), [Some(LinkId(0))], "{made:?}");
    assert_eq!(links_of(PathId(1)), [Some(LinkId(1))], "{made:?}");
}

/// Somewhere else.
const ELSEWHERE: AttachmentPoint = AttachmentPoint::AccessPoint([2, 0, 0, 0, 0, 9]);

/// Keeps a path on each link, and wants the WiFi link attached elsewhere whenever it learns that it is not.
struct Roamer {
    mesh: FullMesh,
    notes: Notes<(Time, String)>,
    reports: u64,
}

impl Roamer {
    fn note(&self, now: Time, text: impl Into<String>) {
        self.notes.lock().expect("nobody panicked").push((now, text.into()));
    }
}

impl PathManager for Roamer {
    fn name(&self) -> &'static str {
        "roamer"
    }

    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>) {
        if let PathEvent::Attach(report) = event {
            self.reports += 1;
            self.note(now, format!("{:?}", report.result));
            // Asking again at every refusal must not stop the time.
            actions.push(PathAction::Attach(report.request));
        }
        self.mesh.on_event(now, event, paths, actions);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>, _: &[PathView], actions: &mut Vec<PathAction>) {
        if self.reports == 0 {
            self.note(update.now, update.state.attached_to.map_or("nothing".into(), |at| at.to_string()));
            actions.push(PathAction::Attach(AttachRequest { link: update.link, to: ELSEWHERE }));
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        self.mesh.next_timeout()
    }

    fn on_timeout(&mut self, now: Time, paths: &[PathView], actions: &mut Vec<PathAction>) {
        self.mesh.on_timeout(now, paths, actions);
    }
}

/// The same wish, of a scheduler, once.
struct Wishing {
    reports: Notes<AttachReport>,
    has_asked: bool,
}

impl Scheduler for Wishing {
    fn name(&self) -> &'static str {
        "wishing"
    }

    fn schedule(&mut self, view: &SendView<'_>, commands: &mut Commands) -> Decision {
        if !std::mem::replace(&mut self.has_asked, true) {
            for link in 0..9 {
                commands.push(Command::Attach(AttachRequest { link: LinkId(link), to: ELSEWHERE }));
            }
        }
        let path = view.preferred().find(|path| path.sendable() > 0);
        path.map_or(Decision::Wait(None), |path| Decision::Send(Assignment::next(path.id)))
    }

    fn interests(&self) -> Interests {
        Interests::LINKS
    }

    fn on_event(&mut self, event: &Event<'_>, _: &mut Commands) {
        if let Event::Attach { report, .. } = event {
            self.reports.lock().expect("nobody panicked").push(**report);
        }
    }
}

const ROAD: &str = "[scene.road]\nmodel = \"highway\"\n\
    [[link]]\nname = \"wifi0\"\nmedium = \"wifi\"\nforecast = \"perfect\"\n\
    channel = { scene = \"road\", link = \"wifi\" }\n\
    [[flow]]\nname = \"up\"\nkind = \"bulk\"\ndirection = \"up\"\n";

#[test]
fn a_path_manager_hears_of_links_and_its_wish_to_attach_one_elsewhere_is_answered() {
    let notes: Notes<(Time, String)> = Arc::default();
    let mut registry = registry();
    let shared = notes.clone();
    registry.add_path_manager("roamer", move |init: &PathManagerInit| {
        Box::new(Roamer { mesh: FullMesh::new(init), notes: shared.clone(), reports: 0 }) as Box<_>
    });
    let outcome =
        run(&format!("version = 1\nduration = \"2 s\"\n[transport]\npaths = \"roamer\"\n{ROAD}"), &registry);
    assert!(outcome.goodput_bps > 5e5, "{}", outcome.goodput_bps);
    let notes = notes.lock().expect("nobody panicked");
    let (heard, first) = (&notes[0], &notes[1]);
    assert!(heard.1.starts_with("access point 02:"), "{heard:?}");
    assert_eq!((first.1.as_str(), first.0 - heard.0), ("Unsupported", Duration::from_millis(1)));
    // One answer per millisecond at most.
    assert!(notes.len() <= 2_002, "{}", notes.len());
}

/// Asks once, as soon as there is a connection, for a link of two access points to be attached to the second one.
struct Mover(FullMesh, Notes<(Time, AttachResult)>, u64);

impl PathManager for Mover {
    fn name(&self) -> &'static str {
        "mover"
    }

    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>) {
        let to = AttachmentPoint::AccessPoint([2, 0, 0, 0, 0, self.2 as u8]);
        match event {
            PathEvent::MultipathReady => {
                actions.push(PathAction::Attach(AttachRequest { link: LinkId(0), to }));
            }
            PathEvent::Attach(report) => self.1.lock().expect("nobody panicked").push((now, report.result)),
            _ => {}
        }
        self.0.on_event(now, event, paths, actions);
    }
}

#[test]
fn a_link_with_several_routes_is_attached_where_the_path_manager_wants_it() {
    let text = "version = 1\nduration = \"4 s\"\n[transport]\npaths = \"mover\"\n\
        [[link]]\nname = \"wifi0\"\nmedium = \"wifi\"\nrate = \"100 Mbit/s\"\n\
        via = { steps = [[\"0 s\", [\"far\"]], [\"1000 s\", [\"near\"]]] }\n\
        [[segment]]\nname = \"far\"\nrate = \"2 Mbit/s\"\ndelay = \"10 ms\"\n\
        [[segment]]\nname = \"near\"\nrate = \"40 Mbit/s\"\ndelay = \"10 ms\"\n";
    let goodput_at = |point: u64| {
        let notes: Notes<(Time, AttachResult)> = Arc::default();
        let mut registry = registry();
        let shared = notes.clone();
        registry.add_path_manager("mover", move |init: &PathManagerInit| {
            Box::new(Mover(FullMesh::new(init), shared.clone(), point)) as Box<_>
        });
        let goodput = run(text, &registry).goodput_bps;
        let notes = notes.lock().expect("nobody panicked");
        assert_eq!(notes.len(), 1, "{notes:?}");
        (notes[0].1, goodput)
    };
    let (stays, far) = goodput_at(0);
    let (moves, near) = goodput_at(1);
    let (nowhere, unchanged) = goodput_at(2);
    assert_eq!(
        [stays, moves, nowhere],
        [AttachResult::Attached, AttachResult::Attached, AttachResult::Failed]
    );
    assert!((1.7e6..2e6).contains(&far) && (unchanged - far).abs() < 1e4, "{far} {unchanged}");
    assert!((32e6..40e6).contains(&near), "{near}");
}

/// Asks at every observation of a link that it be attached where it is.
struct Stayer(FullMesh, Notes<AttachResult>);

impl PathManager for Stayer {
    fn name(&self) -> &'static str {
        "stayer"
    }

    fn on_event(&mut self, now: Time, event: &PathEvent, paths: &[PathView], actions: &mut Vec<PathAction>) {
        if let PathEvent::Attach(report) = event {
            self.1.lock().expect("nobody panicked").push(report.result);
        }
        self.0.on_event(now, event, paths, actions);
    }

    fn on_link_update(&mut self, update: &LinkUpdate<'_>, _: &[PathView], actions: &mut Vec<PathAction>) {
        let here = update.state.attached_to;
        actions.extend(here.map(|to| PathAction::Attach(AttachRequest { link: update.link, to })));
    }
}

#[test]
fn a_link_of_a_scene_is_not_silent_where_it_is_attached_to_what_it_is_attached_to() {
    let text = |paths: &str| {
        format!(
            "version = 1\nduration = \"4 s\"\n[transport]\npaths = \"{paths}\"\n\
             [scene.field]\nmodel = \"ap-lattice\"\n[[link]]\nname = \"wifi0\"\nmedium = \"wifi\"\n\
             channel = {{ scene = \"field\", link = \"wifi\" }}\nforecast = \"perfect\"\nattach_outage = \"50 ms\"\n"
        )
    };
    let notes: Notes<AttachResult> = Arc::default();
    let mut registry = registry();
    let shared = notes.clone();
    registry.add_path_manager("stayer", move |init: &PathManagerInit| {
        Box::new(Stayer(FullMesh::new(init), shared.clone())) as Box<_>
    });
    let drops = |paths: &str| {
        let outcome = run(&text(paths), &registry);
        let link = outcome.links.iter().find(|link| link.direction == Direction::Down).expect("it is there");
        (link.counters.dropped_down, outcome.goodput_bps)
    };
    let (untouched, stays) = (drops("full-mesh"), drops("stayer"));
    let results = notes.lock().expect("nobody panicked");
    assert!(results.len() > 30 && results.iter().all(|result| *result == AttachResult::Attached));
    assert_eq!(stays.0, untouched.0, "{stays:?} {untouched:?}");
}

/// Of the requests of nine links one is too many; each of the others gets one answer.
#[test]
fn a_scheduler_may_ask_as_well_and_what_is_too_much_is_counted() {
    let reports: Notes<AttachReport> = Arc::default();
    let mut registry = registry();
    let shared = reports.clone();
    registry.add_scheduler("wishing", move |_: &SchedulerInit| {
        Box::new(Wishing { reports: shared.clone(), has_asked: false }) as Box<_>
    });
    run(&format!("version = 1\nduration = \"1 s\"\n[transport]\nscheduler = \"wishing\"\n{ROAD}"), &registry);
    let reports = reports.lock().expect("nobody panicked");
    assert_eq!(reports.len(), 8, "{reports:?}");
    for (link, report) in (0..8).zip(reports.iter()) {
        let request = AttachRequest { link: LinkId(link), to: ELSEWHERE };
        assert_eq!(*report, AttachReport::new(request, AttachResult::Unsupported));
    }
}
