//! The golden values of the sheet's section 10 (item 15).

use hawser_ride::{
    ChunkQuality, DeadlineRule, FRAME_SECONDS, FrameSet, Gop, Playback, RewardRule, TileQuality, bundle,
    deadline_frame, decode_time, expected_deliveries, extra_rounds, in_order, last_round, printed_play_time,
    remaining_play_time, static_deadline_frame, transition_probabilities,
};

use crate::experiments::verify::{Measured, Request};

/// Frames of the example of nine: I1 B1 B2 P1 B3 B4 P2 B5 B6.
const I1: usize = 0;
const B1: usize = 1;
const B2: usize = 2;
const P1: usize = 3;
const B3: usize = 4;
const B4: usize = 5;
const P2: usize = 6;
const B5: usize = 7;
const B6: usize = 8;

pub(super) fn vectors(_: &Request<'_>) -> Result<Measured, String> {
    Ok(Measured::new("")
        .with("wrong_deadlines", deadlines())
        .with("wrong_bundles", bundles())
        .with("wrong_decode_times", decode_times())
        .with("rewards_off_by_ms", rewards())
        .with("probabilities_off_by", probabilities())
        .with("deliveries_off_by_packets", deliveries())
        .with("wrong_rounds", rounds())
        .with("quality_off_by", quality()))
}

fn set(frames: &[usize]) -> FrameSet {
    frames.iter().fold(0, |set, frame| set | 1 << frame)
}

/// How many are not as they should be.
fn wrong<T: PartialEq>(pairs: impl IntoIterator<Item = (T, T)>) -> f64 {
    pairs.into_iter().filter(|(found, expected)| found != expected).count() as f64
}

/// The largest difference.
fn off_by(pairs: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    pairs.into_iter().fold(0.0, |worst: f64, (found, expected)| worst.max((found - expected).abs()))
}

fn deadlines() -> f64 {
    let gop = Gop::of_nine();
    let all = set(&[I1, B1, B2, P1, B3, B4, P2, B5, B6]);
    let rule = |rule, viewed, frame| deadline_frame(&gop, rule, viewed, frame);
    let paper = |viewed, frame| rule(DeadlineRule::Paper, viewed, frame);
    let all_viewed =
        [(I1, B6), (P1, P2), (P2, B6), (B1, B1), (B2, B2), (B3, B3), (B4, B4), (B5, B5), (B6, B6)];
    let first = set(&[I1, B1, B2, P1, B5]);
    let second = set(&[B3, B4, P2]);
    wrong(all_viewed.map(|(frame, until)| (paper(all, frame), Some(until))))
        + wrong(all_viewed.map(|(frame, until)| (static_deadline_frame(&gop, frame), until)))
        + wrong([(I1, B5), (P1, P1), (P2, B5)].map(|(frame, until)| (paper(first, frame), Some(until))))
        + wrong([(rule(DeadlineRule::Transitive, first, P1), Some(B5))])
        + wrong([(paper(second, I1), Some(P2)), (paper(second, B3), Some(B3))])
}

fn bundles() -> f64 {
    let gop = Gop::of_nine();
    let viewed = set(&[B3, B4, P2]);
    let sent = set(&[I1, P1, B3]);
    let frames = |sent, frame| in_order(&gop, bundle(&gop, viewed, sent, frame)).collect::<Vec<_>>();
    wrong([
        (frames(0, B3), vec![I1, P1, B3]),
        (frames(sent, B4), vec![B4]),
        (frames(sent | set(&[B4]), P2), vec![P2]),
    ])
}

fn decode_times() -> f64 {
    let gop = Gop::of_nine();
    let mut decoded = [f64::INFINITY; 9];
    for (frame, arrival) in [(I1, 10.0), (P1, 50.0), (P2, 45.0), (B1, 30.0), (B2, 25.0)] {
        decoded[frame] = decode_time(&gop, frame, arrival, |frame| decoded[frame]);
    }
    wrong(
        [(I1, 10.0), (P1, 50.0), (P2, 50.0), (B1, 50.0), (B2, 50.0)].map(|(frame, it)| (decoded[frame], it)),
    )
}

/// Largest difference of a reward, in milliseconds.
fn rewards() -> f64 {
    let playback = |frames: f64| {
        let end = 0.2 + FRAME_SECONDS;
        Playback { start: 0.2, end, deadline: end + frames * FRAME_SECONDS }
    };
    let rule = RewardRule::default();
    let milliseconds = |reward: f64| reward * FRAME_SECONDS * 1e3;
    let sent = [
        (0.0, 180.0, 26.667),
        (0.0, 210.0, 1.667),
        (0.0, 240.0, -33.333),
        (4.0, 180.0, 93.333),
        (4.0, 210.0, 68.333),
        (4.0, 240.0, 23.333),
        (4.0, 250.0, 8.333),
        (4.0, 400.0, -166.667),
        (49.0, 180.0, 843.333),
        (49.0, 250.0, 758.333),
    ];
    let sent = sent.map(|(frames, decode, expected)| {
        (milliseconds(rule.sent(&playback(frames), decode / 1e3, 0.0)), expected)
    });
    let skipped = [(0.0, -33.333), (4.0, -166.667), (49.0, -1666.667)];
    let skipped = skipped.map(|(frames, expected)| (milliseconds(rule.skipped(&playback(frames))), expected));
    off_by(sent.into_iter().chain(skipped))
}

fn probabilities() -> f64 {
    let table = [
        (0.01, [0.904_382, 0.095_618, 0.0]),
        (0.05, [0.598_737, 0.401_263, 0.0]),
        (0.10, [0.348_678, 0.651_321, 0.0]),
    ];
    let pairs = table.map(|(loss, expected)| transition_probabilities(10, loss).into_iter().zip(expected));
    off_by(pairs.into_iter().flatten())
}

fn deliveries() -> f64 {
    off_by(expected_deliveries(10, 0, 0.05, 4).into_iter().zip([9.5, 8.163, 7.216, 6.583]))
}

fn rounds() -> f64 {
    let expected = || expected_deliveries(10, 0, 0.05, 8);
    let [many, few] = [20.0, 9.5].map(|packets| last_round(expected(), packets, 8));
    wrong([
        (many, Some(3)),
        (many.map(extra_rounds), Some(2)),
        (few, Some(0)),
        (few.map(extra_rounds), Some(0)),
    ])
}

fn quality() -> f64 {
    let tile = |viewed, quality| TileQuality { viewed, quality, decode: 0.0, remaining: 0.0, in_time: true };
    let chunk = ChunkQuality::of(&[tile(true, 4.0), tile(true, 8.0), tile(false, 5.0), tile(false, 6.0)]);
    off_by([
        (chunk.quality, 3.0),
        (printed_play_time(150_000, 2e6), 0.0),
        (remaining_play_time(150_000, 2e6), 0.6),
    ])
}
