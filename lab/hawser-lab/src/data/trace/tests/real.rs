//! Real measurements, where they are present: in `HAWSER_TRACES`, or in `../shared/traces` next to the project.

use std::path::PathBuf;

use super::*;

/// The folder with the data, or a message that it is missing.
fn data(folder: &str) -> Option<PathBuf> {
    let beside = || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces"));
    let traces = std::env::var_os("HAWSER_TRACES").map_or_else(beside, PathBuf::from);
    let folder = traces.join(folder);
    if !folder.is_dir() {
        eprintln!("skipped: no {}; set HAWSER_TRACES", folder.display());
        return None;
    }
    Some(folder)
}

/// The traces in a folder whose names begin and end so: other files may lie next to them, a licence or a list.
fn all(folder: &str, prefix: &str, suffix: &str) -> Vec<Trace> {
    let Some(folder) = data(folder) else { return Vec::new() };
    let is_one_of_them = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(prefix) && name.ends_with(suffix)
    };
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = paths.filter(is_one_of_them).collect();
    files.sort();
    let read_one = |file: &PathBuf| {
        let input = Input::new(file.to_str().unwrap());
        read(&[input], &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
    };
    files.iter().map(read_one).collect()
}

/// Mean over runs, weighted by their length.
fn mean(infos: &[Info], value: impl Fn(&Info) -> f64) -> f64 {
    let total: f64 = infos.iter().map(|info| info.duration_seconds).sum();
    infos.iter().map(|info| value(info) * info.duration_seconds).sum::<f64>() / total
}

#[test]
fn drives_with_two_carriers() {
    // The whole data set has 5.9 % and 7.5 % (down) and 8.8 % and 10.4 % (up) of the time below 1 Mbit/s, 1.0 %
    // and 2.3 % for both, 2.5 to 2.9 handovers per minute that take 59 ms (median); these runs are a part of it.
    for (prefix, poor, joint) in [("DL_", [0.059, 0.075], 0.010), ("UL_", [0.088, 0.104], 0.023)] {
        let infos: Vec<Info> = all("pam2025", prefix, ".csv").iter().map(Info::of).collect();
        if infos.is_empty() {
            return;
        }
        for (link, expected) in poor.into_iter().enumerate() {
            let share = mean(&infos, |info| info.links[link].directions[0].share_below_1mbps.unwrap());
            assert!((share - expected).abs() < 0.04, "{prefix} link {link}: {share} instead of {expected}");
            let per_minute = mean(&infos, |info| info.links[link].hand_overs.map_or(0.0, |it| it.per_minute));
            assert!((1.5..4.0).contains(&per_minute), "{prefix} link {link}: {per_minute} per minute");
        }
        let both = mean(&infos, |info| info.pairs[0].joint_share_below_1mbps);
        assert!((both - joint).abs() < 0.015, "{prefix}: {both} instead of {joint}");
    }
}

#[test]
fn hand_over_durations_of_all_drives() {
    let traces: Vec<Trace> = all("pam2025", "", ".csv");
    let links = traces.iter().flat_map(|trace| &trace.links);
    let durations = links.flat_map(LinkTrace::hand_overs).map(|event| (event.to - event.from) as f64 / 1e6);
    let Some(durations) = Distribution::of_values(durations) else { return };
    assert!((55.0..63.0).contains(&durations.median), "{durations:?}");
    assert!((200.0..350.0).contains(&durations.p95), "{durations:?}");
}

#[test]
fn ping_logs_agree_with_their_summaries() {
    for trace in all("pam2025-ping", "", ".out") {
        // 150 requests, 200 ms apart.
        assert!((29.0..32.0).contains(&(trace.duration as f64 / 1e9)), "{}: {}", trace.name, trace.duration);
        let info = Info::of(&trace);
        let delay = info.links[0].directions[0].delay_ms.unwrap();
        assert!((5.0..500.0).contains(&delay.median), "{}: {delay:?}", trace.name);
        assert!(info.links[0].directions[0].loss.unwrap_or(0.0) < 0.02, "{}", trace.name);
    }
}

#[test]
fn a_dish_and_its_way_to_mahimahi_and_back() {
    let Some(folder) = data("leocc-starlink") else { return };
    let files = ["bw_example.txt", "delay_example.txt"].map(|name| folder.join(name));
    let inputs = files.map(|file| Input::new(&format!("dish={}", file.display())));
    let trace = read(&inputs, &ReadOptions::default()).unwrap();
    let info = Info::of(&trace);
    assert!((info.duration_seconds - 120.052).abs() < 1e-9);
    let direction = &info.links[0].directions[0];
    // 487,652 chances in 120.052 s.
    let expected = 487_652.0 * 12_000.0 / 120.052;
    assert!((direction.rate_bps.unwrap().mean / expected - 1.0).abs() < 1e-6);
    assert!((5.0..100.0).contains(&direction.delay_ms.unwrap().median));
    let out = tempfile::tempdir().unwrap();
    let written = export::to_mahimahi(&trace, out.path()).unwrap();
    let again = read(&[Input::new(written[0].to_str().unwrap())], &ReadOptions::default()).unwrap();
    assert_eq!(again.links[0].up.rate, trace.links[0].up.rate);
}
