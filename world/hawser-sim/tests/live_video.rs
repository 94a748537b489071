//! A live video over two links: what a viewer sees when there is room for it, when there is not, and when a policy gives frames
//! up.

use std::sync::Arc;

use hawser_scenario::Scenario;
use hawser_sched::FourDMap;
use hawser_sim::run::{FlowOutcome, NoRecorder, Options, Simulation};

use crate::common;

/// The video over these links, up or down.
fn run(seed: u64, application: &str, direction: &str, links: &str, transport: &str) -> FlowOutcome {
    let text = format!(
        "version = 1\nseed = {seed}\nduration = \"90 s\"\n{links}\n[[flow]]\nname = \"video\"\nkind = \"application\"\n\
         application = \"{application}\"\ndirection = \"{direction}\"\n[transport]\n{transport}\n"
    );
    let scenario = Scenario::parse(&text, "live_video.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut registry = common::registry();
    FourDMap::register(&mut registry);
    let simulation = Simulation::new(&scenario, &Arc::new(registry), Options::default());
    let mut outcome = simulation.expect("it can run").run(&mut NoRecorder);
    outcome.flows.swap_remove(0)
}

fn link(name: &str, megabits: f64, delay_ms: u64, more: &str) -> String {
    format!(
        "[[link]]\nname = \"{name}\"\nrate = \"{megabits} Mbit/s\"\ndelay = \"{delay_ms} ms\"\nqueue = \"1000 packets\"\n{more}\n"
    )
}

fn measure(flow: &FlowOutcome, name: &str) -> f64 {
    let found = flow.measures.iter().find(|measure| measure.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", flow.measures)).value
}

/// 10 Mbit/s where there are 33: every frame is whole, and none is much later than one way and its own transmission. Connecting
/// takes a round trip and a half, and the first key frame, a quarter of a megabyte, five more in slow start.
#[test]
fn a_video_with_room_is_shown_without_a_stall_in_both_directions() {
    let links = [link("a0", 14.8, 25, ""), link("b0", 18.0, 39, "")].concat();
    for direction in ["up", "down"] {
        let flow = run(1, "live,video=sintel,length=20s", direction, &links, "");
        let of = |name| measure(&flow, name);
        println!(
            "{direction}: {:.0} frames, delay {:.1} ms, start {:.3} s, {:.3} s still",
            of("frames"),
            of("stream_delay"),
            of("startup"),
            of("rebuffering")
        );
        assert_eq!((of("frames"), of("frames_complete"), of("corrupt")), (480.0, 480.0, 0.0));
        assert!((25.0..75.0).contains(&of("stream_delay")), "{}", of("stream_delay"));
        assert!((0.25..0.5).contains(&of("startup")), "{}", of("startup"));
        assert!(of("rebuffering") < 0.35, "{}", of("rebuffering"));
        assert!(of("assim_modelled") > 0.95, "{}", of("assim_modelled"));
        // The flow is over when the last byte is acknowledged: soon after the video.
        let seconds = flow.completion_seconds.expect("it ended");
        assert!((20.0..20.7).contains(&seconds), "{seconds}");
    }
}

/// 22 Mbit/s over a link of 15: what does not fit waits at the publisher, and the viewer's picture stands still for about the
/// time that is missing: 20 s of video take 30.
#[test]
fn a_video_without_room_stalls_for_what_does_not_fit() {
    let flow = run(2, "live,video=ss,length=20s", "up", &link("a0", 15.0, 25, ""), "");
    let (stalled, frames) = (measure(&flow, "rebuffering"), measure(&flow, "frames_complete"));
    println!("{stalled:.2} s still, {frames} frames");
    assert_eq!(frames, 480.0);
    assert!((9.0..15.0).contains(&stalled), "{stalled}");
}

/// 10 Mbit/s for 40 s where there are 8.5: leaving out the ends of groups of pictures shows more, sooner and with fewer stalls than
/// sending everything, and does less damage than leaving out single frames; with room for the video it changes nothing.
#[test]
fn ends_of_groups_are_left_out_where_the_video_does_not_fit() {
    let video = "live,video=custom,rate=10Mbit,maximum=12Mbit,length=40s";
    let links = [link("a0", 5.0, 25, ""), link("b0", 3.5, 39, "")].concat();
    let (mut left_out, mut still) = (0.0, 0.0);
    for seed in [11, 12, 13] {
        let of = |behind: &str| {
            let flow = run(seed, &format!("{video},behind={behind}"), "up", &links, "");
            let of = |name| measure(&flow, name);
            println!(
                "seed {seed}, {behind}: {:.0} stalls, {:.2} s still, delay {:.0} ms (most {:.0}), aSSIM {:.3}, {:.0} frames, {:.0} left out",
                of("stalls"),
                of("rebuffering"),
                of("stream_delay"),
                of("longest_delay"),
                of("assim_modelled"),
                of("frames"),
                of("frames_left_out")
            );
            assert_eq!((of("corrupt"), of("key_frames_damaged")), (0.0, 0.0));
            ["stalls", "rebuffering", "stream_delay", "assim_modelled", "frames_left_out"].map(of)
        };
        let [nothing, groups, frames] = ["nothing", "groups", "frames"].map(of);
        assert!(groups[0] < nothing[0] && groups[1] < nothing[1] / 2.0, "{groups:?} {nothing:?}");
        assert!(groups[2] < nothing[2] / 2.0, "{groups:?} {nothing:?}");
        assert!(groups[3] > nothing[3] - 0.01, "{groups:?} {nothing:?}");
        (left_out, still) = (left_out + groups[4] / 25.0, still + nothing[1]);
        // Single frames take those that build on them along.
        assert!(frames[3] < groups[3] - 0.01, "{frames:?} {groups:?}");
        let room = [link("a0", 9.0, 25, ""), link("b0", 9.0, 39, "")].concat();
        let [nothing, groups] = ["nothing", "groups"].map(|behind| {
            let flow = run(seed, &format!("{video},behind={behind}"), "up", &room, "");
            ["stream_delay", "rebuffering", "frames", "frames_left_out"]
                .map(|name| measure(&flow, name).to_bits())
        });
        assert_eq!(groups, nothing);
    }
    // What is left out is what does not fit: without it the viewer stood still for about as long. Which groups end late is chance.
    assert!(left_out < 1.25 * still, "{left_out} {still}");
}

/// A viewer that goes on without what is late stays in step: each frame is found, key frames lack nothing.
#[test]
fn what_is_passed_over_is_counted() {
    let links = [link("a0", 14.8, 25, "loss = \"3 %\""), link("b0", 18.0, 39, "loss = \"3 %\"")].concat();
    let application = "live,video=custom,rate=1Mbit,maximum=2Mbit,length=20s,padding=any";
    let flow = run(4, application, "up", &links, "policy = \"4d-map,mechanism=decompensate\"");
    let of = |name| measure(&flow, name);
    assert_eq!((of("frames"), of("key_frames_damaged"), of("corrupt")), (500.0, 0.0, 0.0));
    assert!(of("bytes_lacking") > 10_000.0, "{}", of("bytes_lacking"));
}

/// The same seed is the same run, another seed another video.
#[test]
fn a_video_is_reproducible() {
    let links = link("a0", 14.8, 25, "loss = \"1 %\"");
    let delay = |seed| measure(&run(seed, "live,video=bbb,length=10s", "up", &links, ""), "stream_delay");
    assert_eq!(delay(3).to_bits(), delay(3).to_bits());
    assert_ne!(delay(3).to_bits(), delay(4).to_bits());
}
