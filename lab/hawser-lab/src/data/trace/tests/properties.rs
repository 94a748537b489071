//! Nothing panics over a trace, and what is written is read as the same.

use std::path::Path;

use hawser_link::{Direction, LossModel, MILLISECOND, Nanos, RateModel, SECOND, Series};
use hawser_scenario::{Scenario, ScenarioLink};
use proptest::prelude::*;

use super::*;
use crate::data::trace::export::{ScenarioOptions, to_mahimahi, to_scenario, to_table};

/// A rate that changes now and then, in whole bit/s, up to 100 Mbit/s.
fn rates() -> impl Strategy<Value = (Series<u64>, Nanos)> {
    let points = prop::collection::vec((1..2_000_000_000u64, 0..100_000_000u64), 1..12);
    (points, any::<bool>()).prop_map(|(points, repeats)| {
        let mut time = 0;
        let mut series = vec![(0, 1_000_000)];
        for (length, rate) in points {
            time += length;
            series.push((time, rate));
        }
        let duration = time + SECOND;
        (Series::new(series, repeats.then_some(duration)).unwrap(), duration)
    })
}

/// A direction of which more or less is known.
fn directions() -> impl Strategy<Value = DirectionTrace> {
    let delay = prop::option::of((0..SECOND).prop_map(Series::constant));
    (prop::option::of(rates()), any::<bool>(), delay, any::<bool>()).prop_map(
        |(rate, chances, delay, lossy)| {
            let loss = lossy.then(|| Series::new(vec![(0, 0.0), (SECOND, 1.0)], None).unwrap());
            let Some((series, duration)) = rate else {
                return DirectionTrace { delay, loss, ..DirectionTrace::default() };
            };
            let steps = DirectionTrace { rate: Some(RateTrace::Steps(series)), ..DirectionTrace::default() };
            let chances = if chances { chances_of(&steps.service(duration).unwrap()) } else { Vec::new() };
            let rate = if chances.is_empty() { steps.rate } else { Some(RateTrace::Chances(chances)) };
            DirectionTrace { rate, delay, loss, ..DirectionTrace::default() }
        },
    )
}

/// Traces of any links, whatever these are called.
fn traces() -> impl Strategy<Value = Trace> {
    let event = prop::option::of((any::<String>(), 0..SECOND));
    let link = (any::<String>(), directions(), directions(), event).prop_map(|(name, up, down, event)| {
        let event = event.map(|(name, from)| Event { from, to: from, kind: EventKind::Technology(name) });
        LinkTrace { name, up, down, events: event.into_iter().collect() }
    });
    (prop::collection::vec(link, 1..3), any::<String>(), 1..20 * SECOND)
        .prop_map(|(links, name, duration)| Trace { name, links, duration, notes: Vec::new() })
}

fn with_rate(rate: RateTrace, duration: Nanos) -> Trace {
    let mut link = LinkTrace::new("a link");
    link.down.rate = Some(rate);
    link.down.outages = vec![(duration / 3, duration / 2)];
    Trace { name: "made \"up\"".to_owned(), links: vec![link], duration, notes: vec!["a\nb".to_owned()] }
}

/// Reads a scenario with the files next to it.
fn scenario(folder: &Path) -> Result<Scenario, String> {
    let text = std::fs::read_to_string(folder.join("scenario.toml")).unwrap();
    let mut beside =
        |name: &str| std::fs::read_to_string(folder.join(name)).map_err(|error| error.to_string());
    Scenario::parse(&text, "scenario.toml", &mut beside).map_err(|error| format!("{error}\n{text}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn every_trace_has_figures_and_a_drawing(trace in traces()) {
        prop_assert!(!Info::of(&trace).to_string().is_empty());
        prop_assert!(plot::svg(&trace).ends_with("</svg>\n"));
    }

    #[test]
    fn chances_carry_what_the_rate_carries((series, duration) in rates()) {
        let folder = tempfile::tempdir().unwrap();
        let trace = with_rate(RateTrace::Steps(series), duration);
        let before = trace.links[0].down.service(duration).unwrap();
        let Ok(files) = to_mahimahi(&trace, folder.path()) else {
            // Less than a packet in all.
            let bits: f64 = before.iter().map(|piece| piece.value * piece.length() as f64 / 1e9).sum();
            prop_assert!(bits < 12_000.0 + 1.0);
            return Ok(());
        };
        let again = read(&[Input::new(files[0].to_str().unwrap())], &ReadOptions::default()).unwrap();
        prop_assert_eq!(again.duration.div_ceil(MILLISECOND), duration.div_ceil(MILLISECOND));
        let Some(RateTrace::Chances(chances)) = &again.links[0].down.rate else { panic!("chances") };
        // At every change of the rate, and at the end.
        let mut bits = 0.0;
        for piece in &before {
            bits += piece.value * piece.length() as f64 / SECOND as f64;
            let until = |ms: u64| chances.iter().filter(|chance| u64::from(**chance) <= ms).count() as f64;
            let expected = bits / (PACKET_BYTES * 8) as f64;
            // A chance in a ms that is not over yet comes at its end.
            let (over, begun) = (until(piece.to / MILLISECOND), until(piece.to.div_ceil(MILLISECOND)));
            prop_assert!(over <= expected + 1.0 + 1e-6, "{} packets instead of {}", over, expected);
            prop_assert!(begun >= expected - 1.0 - 1e-6, "{} packets instead of {}", begun, expected);
        }
    }

    #[test]
    fn scenarios_play_the_trace((series, duration) in rates()) {
        let folder = tempfile::tempdir().unwrap();
        let trace = with_rate(RateTrace::Steps(series), duration);
        let options = ScenarioOptions { rate: Some(3_000_000), delay: Some(20 * MILLISECOND) };
        to_scenario(&trace, folder.path(), &options).unwrap();
        let scenario = scenario(folder.path()).unwrap_or_else(|error| panic!("{error}"));
        let link = &scenario.links[0];
        prop_assert_eq!((scenario.name.as_str(), link.name.as_str()), ("made \"up\"", "a-link"));
        prop_assert_eq!(link.up.rate.peak(), Some(3_000_000));
        prop_assert_eq!(link.down.delay.base.value_at(0), 20 * MILLISECOND);
        let played = link.down.mean_rate(duration).unwrap() as f64;
        let pieces = trace.links[0].down.service(duration).unwrap();
        let recorded: f64 = pieces.iter().map(|piece| piece.value * piece.length() as f64).sum::<f64>() / duration as f64;
        // Whole bits of each of the two pieces around the outage, then whole bit/s.
        let rounding = 2.0 * SECOND as f64 / duration as f64 + 1.0;
        prop_assert!((played - recorded).abs() <= rounding + recorded * 1e-6, "{} instead of {}", played, recorded);
    }
}

#[test]
fn an_imported_drive_and_a_scene_that_plays_it_are_the_same() {
    let drive = "\
TIME_STAMP_x,DLtput_x,modified_tech_x,handover_status_x,TIME_STAMP_y,DLtput_y,modified_tech_y,handover_status_y
1683985206.4,20.5,LTE-A,,1683985206.5,3.892,LTE,
1683985206.6,31.0,LTE-A,,1683985206.7,,,Start
1683985206.65,0,LTE-A,,1683985206.75,,,End
1683985206.9,4.25,LTE-A,,1683985207.1,4.5,5G-mid,newtput
";
    let trace = parsed("drive.csv", drive);
    let folder = tempfile::tempdir().unwrap();
    to_scenario(&trace, folder.path(), &ScenarioOptions::default()).unwrap();
    let imported = scenario(folder.path()).unwrap();
    let text = "version = 1\nduration = \"1.2 s\"\n\
                [scene.drive]\nmodel = \"two-carriers\"\nrecordings = \"drive.csv\"\n\
                [link.atnt]\nchannel = { scene = \"drive\", link = \"atnt\" }\n\
                [link.verizon]\nchannel = { scene = \"drive\", link = \"verizon\" }\n";
    let played = Scenario::parse(text, "s.toml", &mut |_| Ok(drive.to_owned())).unwrap();
    assert_eq!(imported.duration, played.duration);
    for (imported, played) in imported.links.iter().zip(&played.links) {
        assert_eq!(imported.name, played.name);
        let (RateModel::Scheduled(recorded), RateModel::Scheduled(rate)) =
            (&imported.down.rate, &played.down.rate)
        else {
            panic!("schedules")
        };
        for at in (0..trace.duration).step_by(10 * MILLISECOND as usize) {
            assert_eq!(recorded.value_at(at), rate.value_at(at), "{} at {at}", imported.name);
            for direction in Direction::BOTH {
                let is_down = |link: &ScenarioLink| link.direction(direction).outages.is_down(at);
                assert_eq!(is_down(imported), is_down(played), "{} at {at}", imported.name);
            }
        }
    }
}

#[test]
fn everything_goes_into_scenario_and_table() {
    let folder = tempfile::tempdir().unwrap();
    let drive =
        "ul_Mbps,dl_Mbps,ul_ms,dl_ms,ul_loss,dl_loss,t_ms\n10,200,25.5,24,0,0.5,0\n12,210,26,24,0,0.25,100\n";
    let mut trace = parsed("v.csv", drive);
    trace.links[0].up.loss = Some(Series::constant(0.01));
    trace.links.extend(parsed("w.down", "0\n5\n10\n").links);
    let files = to_scenario(&trace, folder.path(), &ScenarioOptions::default()).unwrap();
    let names: Vec<_> = files.iter().map(|file| file.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(
        names,
        ["scenario.toml", "v.up.rate", "v.up.delay", "v.down.rate", "v.down.delay", "v.down.loss", "w.down"]
    );
    let played = scenario(folder.path()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(played.links[0].up.delay.base.value_at(100 * MILLISECOND), 26 * MILLISECOND);
    assert!((played.links[0].up.loss.mean().unwrap() - 0.01).abs() < 1e-9);
    let LossModel::Series(loss) = &played.links[0].down.loss else { panic!("a series") };
    assert_eq!((loss.value_at(0), loss.value_at(100 * MILLISECOND)), (0.5, 0.25));

    let table = folder.path().join("t.parquet");
    to_table(&trace, &table).unwrap();
    let table = crate::data::table::read_table(&table).unwrap();
    let rates: Vec<_> = table.numbers("rate_bps").unwrap().into_iter().flatten().collect();
    // v up, v down, then the chances of w: 3 in the first 100 ms, the same again in every 10 ms.
    assert_eq!(rates[..4], [10e6, 12e6, 200e6, 210e6]);
    assert_eq!(table.texts("link").unwrap().last(), Some(&Some("w")));
    let series = std::fs::read_to_string(folder.path().join("v.up.delay")).unwrap();
    assert_eq!(series, "0 25.5\n0.1 26\n");
}
