//! Items 2, 13 and 14: what can be computed without links.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hawser_cc::sscc::{
    Candidate, DataUnit, Detector, DetectorSettings, FEATURES, Models, PrefixKey, PrefixMemory, SsccParts,
};
use hawser_learn::IntervalStatistics;
use hawser_policy::{Composition, ControllerInit, GroupId, PathId, Registry, SetInit, Side, Time};

use hawser_sim::run::NoRecorder;

use crate::experiments::process::processor_time;
use crate::experiments::verify::{Measured, Request};

/// Item 2: six intervals by hand, and votes.
pub(super) fn by_hand(_: &Request<'_>) -> Result<Measured, String> {
    let intervals: [&[f64]; 6] =
        [&[1.0, 3.0], &[5.0, 7.0], &[2.0, 4.0, 6.0], &[10.0], &[0.0, 2.0], &[3.0, 11.0]];
    let mut plain = IntervalStatistics::new(50);
    let mut with_gaps = IntervalStatistics::new(50);
    for values in intervals {
        values.iter().for_each(|value| plain.insert(*value));
        values.iter().for_each(|value| with_gaps.insert(*value));
        plain.count_events(u64::from(values.len() == 3) * 3);
        plain.close();
        with_gaps.close();
    }
    // Below less above: 0, -2, 0, -1, 2, 0 of ten; distances 8, 6, 6, 18, 12; means 2, 6, 4, 10, 1, 7 around 5.
    let found = [
        plain.skewness(),
        plain.deviation(),
        plain.event_rate(),
        plain.crossing_rate(0.1),
        plain.crossing_rate(0.7),
    ];
    let expected = [-0.1, 5.0, 3.0 / 12.0, 5.0 / 6.0, 2.0 / 6.0];
    let error =
        found.iter().zip(expected).map(|(found, expected)| (found - expected).abs()).fold(0.0, f64::max);
    // Empty ones behind.
    (0..5).for_each(|_| {
        with_gaps.close();
    });
    let skipped = with_gaps.intervals() == 6 && with_gaps.skewness() == plain.skewness();
    let wrong = (0..=10).filter(|together| is_grouped(*together) != (*together >= 6)).count();
    Ok(Measured::default()
        .with("largest_error", error)
        .with("empty_not_skipped", f64::from(u8::from(!skipped)))
        .with("wrong_votes", wrong as f64))
}

/// Whether two paths are grouped that were so in this many of ten intervals. Statistics of one interval only, and losses that are
/// there or not, make each vote what it is to be.
fn is_grouped(together: u64) -> bool {
    let settings = DetectorSettings { history: 1, ..DetectorSettings::THESIS };
    let mut detector = Detector::new(settings);
    for interval in 0..10 {
        for n in 0..10 {
            let now = Time::ZERO + settings.interval * interval as u32 + Duration::from_millis(30 * n);
            for path in [PathId(0), PathId(1)] {
                detector.on_delay(now, path, 1_000_000);
                detector.on_loss(now, path, u64::from(interval < together && n < 2));
            }
        }
    }
    detector.advance(Time::ZERO + settings.interval * 10);
    detector.group(PathId(0)) != GroupId(0) && detector.group(PathId(0)) == detector.group(PathId(1))
}

/// Models that expect most of Vegas whatever they see. They are made for this test and learned nothing.
pub(super) fn always_vegas() -> Result<Models, String> {
    let model = |candidate: Candidate| {
        let reward = if candidate == Candidate::Vegas { 0.9 } else { 0.1 };
        let features = FEATURES.join(" ");
        let header = format!("hawser-boosted-trees 1\nfeatures {features}\nbase {reward}\ntrees 0\n");
        format!("controller {}\n{header}", candidate.name())
    };
    let text = format!("hawser-sscc-models 1\n{}end\n", Candidate::ALL.map(model).concat());
    Models::read(&text).map_err(|error| error.to_string())
}

/// Item 13: weights by hand, and a new path that begins with what they say.
pub(super) fn prefixes(request: &Request<'_>) -> Result<Measured, String> {
    let memory = Arc::new(Mutex::new(PrefixMemory::default()));
    let remote = |last: u8| SocketAddr::from((Ipv4Addr::new(203, 0, 113, last), 443));
    let wanted = [Candidate::Vegas, Candidate::Bbr, Candidate::Bbr, Candidate::Vegas, Candidate::Vegas];
    let (error, first) = {
        let mut memory = memory.lock().map_err(|_| "a thread panicked")?;
        let key = PrefixKey::new(remote(7), None);
        wanted.iter().for_each(|candidate| memory.record(key, *candidate, 0.9, Time::ZERO));
        let weights = memory.weights(key).ok_or("nothing was recorded")?;
        // BBR 0.9^3 + 0.9^2; Vegas 0.9^4 + 0.9 + 1.
        let expected = [0.729 + 0.81, 0.0, 0.6561 + 0.9 + 1.0, 0.0, 0.0, 0.0];
        let errors = weights.iter().zip(expected).map(|(weight, expected)| (weight - expected).abs());
        (errors.fold(0.0, f64::max), always_vegas()?)
    };
    let mut registry: Registry = (**request.registry).clone();
    let parts = SsccParts { models: Some(Arc::new(first)), memory: Some(memory) };
    hawser_cc::sscc::register(&mut registry, parts).map_err(|error| error.to_string())?;
    let spec = "sscc,selection=model".parse().map_err(|_| "no name")?;
    let set = registry.set(&Composition::of(spec)).map_err(|error| error.to_string())?;
    let begins_with = |remote: SocketAddr| {
        let set = set.build(&SetInit::new(Side::Server, 1, Time::ZERO));
        let init = ControllerInit::new(PathId::ZERO, Time::ZERO, remote).with(|init| {
            init.max_datagram_size = 1_200;
            init.seed = 1;
        });
        set.congestion.build(&init).name()
    };
    let elsewhere = SocketAddr::from((Ipv4Addr::new(203, 0, 114, 7), 443));
    let right = begins_with(remote(200)) == "vegas" && begins_with(elsewhere) == "cubic";
    Ok(Measured::default()
        .with("weight_error", error)
        .with("wrong_first_controller", f64::from(u8::from(!right))))
}

/// Item 14. `run_share`: by how much more processor time a simulated run at 200 Mbit/s takes than with the default policies, both
/// ends and the links included, the quickest of several each. `core_share`: seconds per second that the detector and the models
/// alone take (17,400 packets of 1,440 bytes, 40 choices). What else the machine does to its caches disturbs both.
pub(super) fn cost(request: &Request<'_>) -> Result<Measured, String> {
    let mut least = [Duration::MAX; 2];
    for _ in 0..7 {
        // By turns, so that what slows the machine down for a while meets both.
        for (least, policy) in least.iter_mut().zip([request.policy, "earliestarrival"]) {
            *least = (*least).min(run_time(request, policy)?);
        }
    }
    let [ours, without] = least.map(|time| time.as_secs_f64());
    Ok(Measured::default()
        .with("run_share", ours / without - 1.0)
        .with("core_share", detector_and_models(request.registry)?))
}

fn run_time(request: &Request<'_>, policy: &str) -> Result<Duration, String> {
    let scenario = request.scenario(&[format!("transport.policy={policy}")])?;
    let mut simulation = request.simulation(&scenario)?;
    let started = processor_time()?;
    simulation.run(&mut NoRecorder);
    Ok(processor_time()? - started)
}

fn detector_and_models(registry: &Registry) -> Result<f64, String> {
    const PACKETS: u64 = 17_400;
    const UNITS: u64 = 40;
    let models = SsccParts::of(registry).models.unwrap_or_else(Models::shipped);
    let unit = DataUnit {
        path: PathId(0),
        at: Time::ZERO,
        duration: Duration::from_millis(100),
        group: GroupId(0),
        running: hawser_cc::sscc::Choice::Single(Candidate::Cubic),
        tput: 100.0,
        loss: 0.1,
        delay: 50.0,
        delay_min: 40.0,
        tput_max: 120.0,
    };
    let mut least = Duration::MAX;
    for _ in 0..5 {
        let mut detector = Detector::new(DetectorSettings::THESIS);
        let started = processor_time()?;
        // Twenty seconds, so that all histories are full.
        for n in 0..20 * PACKETS {
            let now = Time::from_nanos(n * 1_000_000_000 / PACKETS);
            detector.on_delay(now, PathId((n % 2) as u32), i128::from(n * 7_919 % 40_000_000));
        }
        for _ in 0..20 * UNITS {
            std::hint::black_box(models.choose(&unit, Candidate::Cubic));
        }
        std::hint::black_box(detector.partitions());
        least = least.min((processor_time()? - started) / 20);
    }
    Ok(least.as_secs_f64())
}
