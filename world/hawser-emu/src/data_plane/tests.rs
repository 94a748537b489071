use super::*;

/// Two links over one bottleneck of 12 Mbit/s (1500 bytes: 1 ms), next to a flow that takes a third of it.
const SHARED: &str = r#"
version = 1
[[link]]
name = "a0"
rate = "unlimited"
via = ["core"]
[[link]]
name = "b0"
rate = "unlimited"
via = ["core"]
[[segment]]
name = "core"
rate = "12 Mbit/s"
queue = "30 kB"
[[flow]]
name = "noise"
kind = "cbr"
direction = "up"
rate = "4 Mbit/s"
size = 1500
over = ["core"]
"#;

#[derive(Debug)]
struct Numbered(Buffer);

impl Frame for Numbered {
    fn corrupt(&mut self, _: u64) {}

    fn duplicate(&self) -> Self {
        Numbered(self.0.clone())
    }
}

impl From<Numbered> for Buffer {
    fn from(packet: Numbered) -> Self {
        packet.0
    }
}

impl Parcel for Numbered {
    fn ports(&self) -> [u16; 2] {
        [7000, 443]
    }
}

#[test]
fn links_share_a_segment_with_the_background_at_exact_times() {
    let scenario = Scenario::parse(SHARED, "shared.toml", &mut |_| Err(String::new())).unwrap();
    let mut plane = DataPlane::new(&scenario);
    // As if it had started 100 ms ago and nobody had looked since.
    for number in 0..40 {
        let buffer = plane.buffer();
        // At one instant, however long this thread waits for a core.
        plane.send_at(nanos(Duration::from_millis(100)), 2 * (number % 2), 1500, Numbered(buffer));
    }
    plane.epoch -= Duration::from_millis(300);
    let mut arrivals = Vec::new();
    while let Some(arrived) = plane.receive() {
        arrivals.push((arrived.way, arrived.at));
        plane.delivered(arrived, true);
    }
    // 30 kB hold 20 packets of those that came at once.
    assert!((18..=20).contains(&arrivals.len()), "{}", arrivals.len());
    assert!(arrivals.iter().any(|(way, _)| *way == 0) && arrivals.iter().any(|(way, _)| *way == 2));
    let gaps: Vec<u64> = arrivals.windows(2).map(|pair| pair[1].1 - pair[0].1).collect();
    let with_noise_between = gaps.iter().filter(|gap| **gap == 2_000_000).count();
    assert!(gaps.iter().all(|gap| [1_000_000, 2_000_000].contains(gap)), "{gaps:?}");
    // One packet of the background comes every 3 ms, behind all that wait already.
    assert!(with_noise_between <= 7, "{gaps:?}");
    let stats = plane.stats(&scenario, |_| 0);
    let core = &stats.links[4];
    assert_eq!((core.link.as_str(), core.direction), ("core", Direction::Up));
    assert_eq!(
        core.counters.dropped_queue,
        40 - arrivals.len() as u64 + stats.background[0].sent_packets
            - stats.background[0].delivered_packets
            - core_inside(core)
    );
    assert!(stats.background[0].sent_packets >= 100, "{:?}", stats.background);
}

/// Packets that are still on the link.
fn core_inside(stats: &DirectionStats) -> u64 {
    let counters = &stats.counters;
    counters.offered_packets - counters.delivered_packets - counters.dropped_packets()
}
