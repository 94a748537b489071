//! Downloads whose acknowledgements wait behind an upload.

use hawser_scenario::Scenario;
use hawser_sim::run::{NoRecorder, Options, Simulation};

use crate::common;

/// What a download carries over a cable of 100/2 Mbit/s while an upload with CUBIC fills its uplink from 6 s on, in Mbit/s.
fn download(controller: &str) -> f64 {
    let text = format!(
        "version = 1\nduration = \"30 s\"\n\
         [[link]]\nname = \"cable\"\ndelay = \"10 ms\"\n\
         [link.down]\nrate = \"100 Mbit/s\"\nqueue = \"1250 kB\"\n\
         [link.up]\nrate = \"2 Mbit/s\"\nqueue = \"50 kB\"\n\
         [[flow]]\nname = \"up\"\nkind = \"bulk\"\ndirection = \"up\"\nstart = \"6 s\"\ncongestion = \"cubic\"\n\
         [[flow]]\nname = \"main\"\nkind = \"bulk\"\ncongestion = \"{controller}\"\n"
    );
    let scenario = Scenario::parse(&text, "cable.toml", &mut |_| Err(String::new()));
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    let mut simulation =
        Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
    let flows = simulation.run(&mut NoRecorder).flows;
    let main = flows.into_iter().find(|flow| flow.flow == "main").expect("it has one");
    println!("{controller}: {:.1} Mbit/s", main.goodput_bps / 1e6);
    main.goodput_bps / 1e6
}

#[test]
fn the_bbr_family_is_within_a_tenth_of_cubic_next_to_a_full_uplink() {
    let cubic = download("cubic");
    for controller in ["bbr", "bbr2", "bbr3", "bbr2plus"] {
        let goodput = download(&format!("{controller},forward=on"));
        assert!(goodput >= 0.9 * cubic, "{controller}: {goodput:.1} of {cubic:.1} Mbit/s");
    }
}

/// Goodput of the download and of the upload of `asymmetric-uplink`, in Mbit/s; means of ten seeds.
fn asymmetric(scheduler: &str) -> [f64; 2] {
    let seeds = 1..=10;
    let of = |seed| {
        let scheduler = format!("transport.scheduler={scheduler}");
        let seed = format!("seed={seed}");
        let scenario = common::load("asymmetric-uplink.toml", &["duration=20 s", &scheduler, &seed]);
        let mut simulation =
            Simulation::new(&scenario, &common::registry(), Options::default()).expect("it can run");
        let flows = simulation.run(&mut NoRecorder).flows;
        [flows[0].goodput_bps / 1e6, flows[1].goodput_bps / 1e6]
    };
    let all: Vec<[f64; 2]> = seeds.map(of).collect();
    let mean = std::array::from_fn(|at| all.iter().map(|one| one[at]).sum::<f64>() / all.len() as f64);
    println!("{scheduler}, seeds 1 to 10: down and up {mean:.2?} Mbit/s");
    mean
}

#[test]
fn fewer_acknowledgements_leave_a_thin_uplink_to_the_upload() {
    let [down, up] = asymmetric("default");
    let [down_before, up_before] = asymmetric("default,thin_acks=off");
    assert!(down >= 1.15 * down_before, "{down} instead of {down_before} Mbit/s down");
    assert!(up >= 1.5 * up_before, "{up} instead of {up_before} Mbit/s up");
}
