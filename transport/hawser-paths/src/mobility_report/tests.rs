use hawser_policy::{Forecast, LinkDirection, LinkId, LinkState, MessageDelivery};
use proptest::prelude::*;

use super::*;

fn state(megabits: u64, loss: Option<f64>) -> LinkState {
    let capacity = Some(Rate::from_megabits_per_second(megabits));
    LinkState::default().with(|state| {
        state.downlink = LinkDirection::default().with(|direction| {
            direction.capacity = capacity;
            direction.loss = loss;
            direction.delay = None;
        })
    })
}

fn forecast(millis: u64, megabits: u64) -> Forecast {
    Forecast::new(Time::from_millis(millis), state(megabits, None))
}

fn entry(bandwidth_delay_product: u32, loss_ppm: Option<u32>) -> MobilityEntry {
    MobilityEntry { bandwidth_delay_product, loss_ppm }
}

#[test]
fn the_payload_is_as_documented() {
    let report = MobilityReport {
        age: Duration::from_micros(1_500),
        step: Duration::from_millis(500),
        entries: vec![entry(100_000, Some(7)), entry(50_000, Some(9))],
    };
    let bytes = [
        [0, 0, 0x05, 0xdc].as_slice(),
        &[0x01, 0xf4, 1, 2],
        &[0, 1, 0x86, 0xa0, 0, 0, 0xc3, 0x50],
        &[0, 0, 0, 7, 0, 0, 0, 9],
    ]
    .concat();
    assert_eq!(report.encode(), bytes);
    let message = report.message(PathId(3));
    assert_eq!((message.path, message.delivery), (Some(PathId(3)), MessageDelivery::WithAcks));
    assert_eq!(MobilityReport::read(&message), Some(report));
    assert_eq!(MobilityReport::read(&message.with(|message| message.feature = FeatureId::LOSS_RATE)), None);
    for length in 0..bytes.len() {
        assert_eq!(MobilityReport::decode(&bytes[..length]), None, "{length}");
    }
    for (index, wrong) in [(6, 2), (7, 0), (7, 17), (7, 255)] {
        let mut bytes = bytes.clone();
        bytes[index] = wrong;
        assert_eq!(MobilityReport::decode(&bytes), None, "{index}: {wrong}");
    }
}

#[test]
fn a_report_has_the_forecasts_of_a_link_as_far_as_they_come_in_even_steps() {
    let now = Time::from_millis(1_000);
    let present = state(8, Some(0.01));
    let report = |forecasts: &[Forecast]| {
        let update = LinkUpdate::new(now, LinkId(0), &present).with(|update| update.forecasts = forecasts);
        MobilityReport::of(&update, Duration::from_millis(100)).expect("the capacity is known")
    };
    let alone = report(&[]);
    assert_eq!(alone.entries, [entry(100_000, Some(10_000))]);
    let forecasts = [forecast(1_500, 4), forecast(2_000, 2), forecast(9_000, 1)];
    let whole = report(&forecasts);
    assert_eq!(whole.step, Duration::from_millis(500));
    assert_eq!(whole.entries[1..], [entry(50_000, None), entry(25_000, None)]);
    // 300 ms on the way, and a look at half a second after that: the second step.
    let millis = Duration::from_millis;
    assert_eq!(whole.entry_after(millis(300), millis(0)), Some(whole.entries[0]));
    assert_eq!(whole.entry_after(millis(300), millis(500)), Some(whole.entries[1]));
    assert_eq!(whole.entry_after(millis(300), millis(1_200)), None, "beyond what it covers");
    let unknown = LinkState::default();
    let update = LinkUpdate::new(now, LinkId(0), &unknown).with(|update| update.forecasts = &forecasts);
    assert_eq!(MobilityReport::of(&update, millis(100)), None);
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        age in 0u32.., step in 1u16..,
        entries in proptest::collection::vec((0..=MobilityReport::MAX_PRODUCT, 0u32..=1_000_000), 1..=16),
        has_losses: bool,
    ) {
        let entries = entries.into_iter().map(|(product, loss)| entry(product, has_losses.then_some(loss)));
        let report = MobilityReport {
            age: Duration::from_micros(age.into()),
            step: Duration::from_millis(step.into()),
            entries: entries.collect(),
        };
        prop_assert!(report.encode().len() <= hawser_policy::MAX_MESSAGE_PAYLOAD);
        prop_assert_eq!(MobilityReport::decode(&report.encode()), Some(report));
    }

    /// A peer may send anything.
    #[test]
    fn anything_may_come(payload in proptest::collection::vec(any::<u8>(), 0..200), delay in 0u64..1 << 40) {
        if let Some(report) = MobilityReport::decode(&payload) {
            let late = Duration::from_micros(delay);
            if let Some(entry) = report.entry_after(late, late) {
                prop_assert!(entry.bandwidth_delay_product <= MobilityReport::MAX_PRODUCT);
            }
        }
    }
}
