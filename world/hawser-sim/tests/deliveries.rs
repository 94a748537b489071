//! What becomes of the data of each packet.

use std::collections::BTreeMap;
use std::time::Duration;

use hawser_policy::Time;
use hawser_scenario::Scenario;
use hawser_sim::run::{Options, Outcome, PacketRecord, Recorder, Simulation};

use crate::common;

/// A packet that was the first to carry something.
#[derive(Debug, Default)]
struct Followed {
    sent: Time,
    /// When it arrived or was dropped.
    ended: Option<(Time, bool)>,
    delivered: Option<Time>,
}

#[derive(Default)]
struct Follower {
    packets: BTreeMap<u64, Followed>,
    others: u64,
    abandoned: u64,
}

impl Recorder for Follower {
    fn wants_packets(&self) -> bool {
        true
    }

    fn wants_deliveries(&self) -> bool {
        true
    }

    fn packet(&mut self, record: &PacketRecord<'_>) {
        let Some(label) = record.followed else {
            self.others += 1;
            return;
        };
        let packet = self.packets.entry(label).or_default();
        packet.sent = record.sent;
        assert_eq!(packet.ended.replace((record.at, record.dropped.is_none())), None, "{label} twice");
    }

    fn settled(&mut self, label: u64, delivered: Option<Time>) {
        self.abandoned += u64::from(delivered.is_none());
        let packet = self.packets.entry(label).or_default();
        assert_eq!(packet.delivered, None, "{label} twice");
        packet.delivered = delivered;
    }
}

fn follow(text: &str) -> (Outcome, Follower) {
    let scenario =
        Scenario::parse(text, "test.toml", &mut |_| Err("there is none".into())).expect("a scenario");
    let mut follower = Follower::default();
    let outcome = Simulation::new(&scenario, &common::registry(), Options::default())
        .expect("it runs")
        .run(&mut follower);
    println!("{text}: {:?}", outcome.flows);
    (outcome, follower)
}

/// Of packets that have come to an end: when they were sent is told then.
fn delays(follower: &Follower) -> impl Iterator<Item = Duration> {
    let ended = follower.packets.values().filter(|packet| packet.ended.is_some());
    ended.filter_map(|packet| Some(packet.delivered?.since(packet.sent)))
}

#[test]
fn on_one_clean_link_data_is_delivered_as_it_arrives() {
    let (outcome, follower) = follow(
        "version = 1\n[[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nqueue = \"2 MB\"\n\
         [[flow]]\nname = \"main\"\nkind = \"bulk\"\ndirection = \"down\"\nsize = \"1 MB\"\n",
    );
    assert_eq!(outcome.flows[0].bytes, 1_000_000);
    assert!(follower.packets.len() > 700 && follower.others > 100, "{}", follower.packets.len());
    for packet in follower.packets.values() {
        assert_eq!(packet.ended, packet.delivered.map(|at| (at, true)), "{packet:?}");
    }
}

#[test]
fn what_was_lost_or_came_late_holds_up_what_follows() {
    let (outcome, follower) = follow(
        "version = 1\n\
         [[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\nloss = \"1 %\"\n\
         [[link]]\nname = \"b\"\nrate = \"10 Mbit/s\"\ndelay = \"40 ms\"\nduplicate = \"2 %\"\n\
         [[flow]]\nname = \"main\"\nkind = \"bulk\"\ndirection = \"down\"\nsize = \"4 MB\"\n",
    );
    let flow = &outcome.flows[0];
    assert!(flow.bytes == 4_000_000 && flow.intact);

    let (mut lost, mut waited, mut overtaken) = (0, 0, 0);
    for packet in follower.packets.values() {
        assert!(packet.delivered.is_some(), "the transfer is complete: {packet:?}");
        // The last ones may still be on their way when a copy on the other link has brought what they carry.
        let Some((ended, arrived)) = packet.ended else {
            overtaken += 1;
            continue;
        };
        // A lost packet's data comes on another.
        lost += u64::from(!arrived);
        waited += u64::from(packet.delivered > Some(ended));
    }
    assert!(lost > 10 && waited > 100, "{lost} lost, {waited} waited");
    assert!(overtaken * 1_200 <= flow.copies.copied_bytes, "{overtaken} on their way, {:?}", flow.copies);
    // The longest wait of a packet is that of a byte.
    let longest = delays(&follower).max().unwrap().as_secs_f64() * 1e3;
    assert!((longest - flow.delay.max_ms).abs() < 1e-6, "{longest} and {}", flow.delay.max_ms);
}

#[test]
fn requests_count_both_ways_and_what_nobody_reads_is_told() {
    let (outcome, follower) = follow(
        "version = 1\nduration = \"5 s\"\n[[link]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"10 ms\"\n\
         [[flow]]\nname = \"ask\"\nkind = \"requests\"\nrequest = \"5 kB\"\nresponse = \"20 kB\"\nnumber = 20\n\
         [[flow]]\nname = \"noise\"\nkind = \"bulk\"\ndirection = \"down\"\n\
         on_off = { on = \"300 ms\", off = \"300 ms\" }\n",
    );
    assert_eq!(outcome.flows[0].completed, 20);
    // Labels tell the hosts apart.
    let of_server = follower.packets.keys().filter(|label| **label >> 40 == 1).count();
    assert!(of_server >= 20 * 20_000 / 1500 && of_server < follower.packets.len(), "{of_server}");
    assert!(follower.abandoned > 0);
    assert!(delays(&follower).all(|delay| delay >= Duration::from_millis(10)));
}
