//! What may happen to frames and to the packets that carry them.

use hawser_policy::Reliability;
use proptest::prelude::*;

/// Where in what was written of a stream, in parts of 256.
pub(super) type Place = (u8, u8);

#[derive(Clone, Debug)]
pub(super) enum Op {
    Open { bidirectional: bool },
    Write { pick: usize, length: usize },
    Frame { pick: usize, length: usize, reliability: Reliability, lifetime: Option<u64> },
    Declare { pick: usize, reliability: Reliability },
    Discard { pick: usize, place: Place },
    DoNotRetransmit { pick: usize, place: Place },
    Cancel { pick: usize, frame: u64 },
    Prolong { pick: usize, frame: u64, lifetime: Option<u64> },
    Assign { pick: usize, place: Place, path: u32 },
    Unassign { pick: usize, place: Place },
    PathGone { path: u32 },
    Finish { pick: usize },
    Reset { pick: usize, reliable: Option<Place> },
    Stop { pick: usize },
    Read { pick: usize, max: usize, how: u8 },
    Send { path: u32, room: usize, skip: u64 },
    SendRange { pick: usize, place: Place, path: u32 },
    Copy { pick: usize },
    Deliver { pick: usize },
    Ack { pick: usize },
    Lose { pick: usize },
    Wait { millis: u64 },
}

fn reliability() -> impl Strategy<Value = Reliability> {
    prop_oneof![Just(Reliability::Reliable), Just(Reliability::Unreliable), Just(Reliability::UntilDeadline)]
}

pub(super) fn op() -> impl Strategy<Value = Op> {
    let pick = 0..64usize;
    let place = any::<(u8, u8)>();
    let path = 0..3u32;
    let frame = 0..30u64;
    let lifetime = prop::option::of(0..200u64);
    let skip = prop_oneof![3 => Just(0u64), 1 => 0..4_000u64];
    prop_oneof![
        2 => any::<bool>().prop_map(|bidirectional| Op::Open { bidirectional }),
        2 => (pick.clone(), 0..3_000usize).prop_map(|(pick, length)| Op::Write { pick, length }),
        6 => (pick.clone(), 0..2_000usize, reliability(), lifetime.clone()).prop_map(
            |(pick, length, reliability, lifetime)| Op::Frame { pick, length, reliability, lifetime }
        ),
        1 => (pick.clone(), reliability()).prop_map(|(pick, reliability)| Op::Declare { pick, reliability }),
        4 => (pick.clone(), place).prop_map(|(pick, place)| Op::Discard { pick, place }),
        2 => (pick.clone(), place).prop_map(|(pick, place)| Op::DoNotRetransmit { pick, place }),
        2 => (pick.clone(), frame.clone()).prop_map(|(pick, frame)| Op::Cancel { pick, frame }),
        1 => (pick.clone(), frame, lifetime)
            .prop_map(|(pick, frame, lifetime)| Op::Prolong { pick, frame, lifetime }),
        2 => (pick.clone(), place, path.clone())
            .prop_map(|(pick, place, path)| Op::Assign { pick, place, path }),
        1 => (pick.clone(), place).prop_map(|(pick, place)| Op::Unassign { pick, place }),
        1 => path.clone().prop_map(|path| Op::PathGone { path }),
        1 => pick.clone().prop_map(|pick| Op::Finish { pick }),
        1 => (pick.clone(), prop::option::of(place))
            .prop_map(|(pick, reliable)| Op::Reset { pick, reliable }),
        1 => pick.clone().prop_map(|pick| Op::Stop { pick }),
        8 => (pick.clone(), 0..4_000usize, any::<u8>()).prop_map(|(pick, max, how)| Op::Read { pick, max, how }),
        10 => (path.clone(), prop_oneof![30..200usize, 1_150..1_300usize], skip)
            .prop_map(|(path, room, skip)| Op::Send { path, room, skip }),
        2 => (pick.clone(), place, path).prop_map(|(pick, place, path)| Op::SendRange { pick, place, path }),
        1 => pick.clone().prop_map(|pick| Op::Copy { pick }),
        8 => pick.clone().prop_map(|pick| Op::Deliver { pick }),
        6 => pick.clone().prop_map(|pick| Op::Ack { pick }),
        4 => pick.prop_map(|pick| Op::Lose { pick }),
        2 => (0..100u64).prop_map(|millis| Op::Wait { millis }),
    ]
}
