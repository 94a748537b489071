//! Tiles that wait to be sent to one player, in the order of need.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bytes::Bytes;

use super::protocol::Wish;
use super::under_way::{Place, Refused, UnderWay};
use hawser::policy::Time;

/// A tile of a chunk.
type Key = (u32, u16);

/// A tile that is to be sent.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) chunk: u32,
    pub(super) tile: u16,
    pub(super) is_in_view: bool,
    /// When it is of no use any more.
    pub(super) deadline: Time,
    pub(super) picture: Bytes,
    /// Among those that wait or are on their way, until it is dropped.
    pub(super) place: Place,
}

/// What is sent first: all that is expected in view before all that is not, earlier chunks before later ones, then as the
/// player listed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    is_margin: bool,
    deadline: Time,
    position: usize,
    key: Key,
}

/// How fast tiles arrive now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pace {
    /// Bytes per second; 0 if it is not known.
    pub(super) bytes_per_second: f64,
    pub(super) round_trip: Duration,
    /// Bytes of tiles that were begun and have not arrived, as far as is known.
    pub(super) under_way: usize,
}

impl Pace {
    /// When a tile of so many bytes has arrived if it is begun now: behind all that was begun before. What is on its way and
    /// not acknowledged yet takes a round trip at most.
    fn arrival(&self, now: Time, bytes: usize) -> Time {
        if self.bytes_per_second <= 0.0 {
            return now;
        }
        let seconds = (self.under_way + bytes) as f64 / self.bytes_per_second;
        let waits = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
        now + waits.saturating_sub(self.round_trip) + self.round_trip / 2
    }
}

/// The tiles that one player waits for. How many there are is bounded by [`UnderWay`]; a wish costs what it names, or what others
/// named before, however much waits.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    orders: BTreeMap<Rank, Order>,
    ranks: BTreeMap<Key, Rank>,
    /// Tiles that were begun, by their chunk, until the chunk is over.
    begun: BTreeMap<u32, BTreeSet<u16>>,
    /// When that is, and of which chunk.
    ends: BTreeSet<(Time, u32)>,
    /// Tiles that were not begun since they could not have arrived in time.
    pub(super) hopeless: u64,
    /// Tiles that were not begun since the head had turned away.
    pub(super) cancelled: u64,
}

/// Chunks of which it is remembered what was begun.
pub(super) const MAX_CHUNKS: usize = 1024;

impl Waiting {
    /// Takes a wish, which stands in the place of an earlier one for the same chunk: what that one wanted and this one does
    /// not is not sent, unless it was begun.
    pub(super) fn take(
        &mut self,
        now: Time,
        wish: &Wish,
        deadline: Time,
        under_way: &UnderWay,
        picture: impl Fn(u16) -> Option<Bytes>,
    ) {
        while let Some((_, chunk)) = self.ends.first().copied().filter(|(until, _)| *until <= now) {
            self.ends.pop_first();
            self.begun.remove(&chunk);
        }
        let view = wish.view.iter().map(|tile| (*tile, false));
        let wanted = view.chain(wish.margin.iter().map(|tile| (*tile, true)));
        let mut named = BTreeSet::new();
        for (position, (tile, is_margin)) in wanted.enumerate() {
            if !named.insert(tile) {
                continue;
            }
            let key = (wish.chunk, tile);
            let rank = Rank { is_margin, deadline, position, key };
            if let Some(before) = self.ranks.remove(&key) {
                if let Some(order) = self.orders.remove(&before) {
                    self.insert(rank, Order { is_in_view: !is_margin, deadline, ..order });
                }
                continue;
            }
            if self.begun.get(&wish.chunk).is_some_and(|tiles| tiles.contains(&tile)) {
                continue;
            }
            let Some(picture) = picture(tile) else { continue };
            match under_way.begin(wish.chunk, tile, picture.len()) {
                Ok(place) => {
                    let is_in_view = !is_margin;
                    self.insert(
                        rank,
                        Order { chunk: wish.chunk, tile, is_in_view, deadline, picture, place },
                    );
                }
                Err(Refused::Twice) => {}
                Err(Refused::Full) => break,
            }
        }
        let of_chunk = self.ranks.range((wish.chunk, 0)..=(wish.chunk, u16::MAX));
        let unwanted = of_chunk.filter(|((_, tile), _)| !named.contains(tile)).map(|(_, rank)| *rank);
        let unwanted: Vec<Rank> = unwanted.collect();
        for rank in unwanted {
            self.remove(rank);
            self.cancelled += 1;
        }
    }

    /// The tile that is needed most of those that can be there in time.
    pub(super) fn next(&mut self, now: Time, pace: &Pace) -> Option<Order> {
        while let Some(rank) = self.orders.keys().next().copied() {
            let order = self.remove(rank)?;
            if pace.arrival(now, order.picture.len()) > order.deadline || now >= order.deadline {
                self.hopeless += 1;
                continue;
            }
            if let Some(tiles) = self.begun.get_mut(&order.chunk) {
                tiles.insert(order.tile);
            } else if self.begun.len() < MAX_CHUNKS {
                self.begun.insert(order.chunk, BTreeSet::from([order.tile]));
                self.ends.insert((order.deadline, order.chunk));
            }
            return Some(order);
        }
        None
    }

    /// Tiles that wait, and chunks of which it is remembered what was begun.
    #[cfg(feature = "fuzzing")]
    pub(super) fn held(&self) -> (usize, usize) {
        assert_eq!(self.orders.len(), self.ranks.len(), "each has one rank");
        assert_eq!(self.ends.len(), self.begun.len(), "what was begun is forgotten at a time");
        (self.orders.len(), self.begun.len())
    }

    fn insert(&mut self, rank: Rank, order: Order) {
        self.ranks.insert(rank.key, rank);
        self.orders.insert(rank, order);
    }

    fn remove(&mut self, rank: Rank) -> Option<Order> {
        self.ranks.remove(&rank.key);
        self.orders.remove(&rank)
    }
}

#[cfg(test)]
mod tests {
    use super::super::under_way::MAX_BYTES;
    use super::*;

    const FAST: Pace = Pace { bytes_per_second: 1e12, round_trip: Duration::from_millis(20), under_way: 0 };

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    fn wish(chunk: u32, view: &[u16], margin: &[u16]) -> Wish {
        Wish { chunk, left_ms: 1000, view: view.to_vec(), margin: margin.to_vec() }
    }

    fn rest(waiting: &mut Waiting, now: Time, pace: &Pace) -> Vec<(u32, u16, bool)> {
        std::iter::from_fn(|| waiting.next(now, pace))
            .map(|order| (order.chunk, order.tile, order.is_in_view))
            .collect()
    }

    fn picture(tile: u16) -> Option<Bytes> {
        (tile < 100).then(|| Bytes::from(vec![0; 1000]))
    }

    #[test]
    fn what_is_in_view_goes_first_and_earlier_chunks_before_later_ones() {
        let (mut waiting, under_way) = (Waiting::default(), UnderWay::default());
        waiting.take(at(0), &wish(2, &[7, 3], &[9]), at(400), &under_way, picture);
        waiting.take(at(0), &wish(1, &[5, 200], &[6]), at(300), &under_way, picture);
        let expected = [(1, 5, true), (2, 7, true), (2, 3, true), (1, 6, false), (2, 9, false)];
        assert_eq!(rest(&mut waiting, at(0), &FAST), expected);
    }

    #[test]
    fn tiles_that_the_head_turned_away_from_are_cancelled_and_none_is_sent_twice() {
        let (mut waiting, under_way) = (Waiting::default(), UnderWay::default());
        waiting.take(at(0), &wish(1, &[1, 2, 3], &[4, 5]), at(300), &under_way, picture);
        let first = waiting.next(at(0), &FAST).unwrap();
        assert_eq!(first.tile, 1);
        drop(first);
        // 4 was margin and is in view now; 3 is margin; 2 and 5 are not wanted any more; 1 was begun.
        waiting.take(at(50), &wish(1, &[4, 1, 6], &[3]), at(300), &under_way, picture);
        assert_eq!(rest(&mut waiting, at(50), &FAST), [(1, 4, true), (1, 6, true), (1, 3, false)]);
        assert_eq!((waiting.cancelled, waiting.hopeless), (2, 0));
    }

    #[test]
    fn what_cannot_be_there_in_time_is_not_begun() {
        let (mut waiting, under_way) = (Waiting::default(), UnderWay::default());
        waiting.take(at(0), &wish(1, &[1], &[]), at(100), &under_way, picture);
        waiting.take(at(0), &wish(2, &[2], &[]), at(200), &under_way, picture);
        // 100 kB/s, and 14 kB before it: 150 ms, of which a round trip is in flight.
        let slow = Pace { bytes_per_second: 1e5, round_trip: Duration::from_millis(20), under_way: 14_000 };
        assert_eq!(rest(&mut waiting, at(0), &slow), [(2, 2, true)]);
        assert_eq!(waiting.hopeless, 1);
        waiting.take(at(0), &wish(3, &[3], &[]), at(100), &under_way, picture);
        let unknown = Pace { bytes_per_second: 0.0, ..slow };
        assert_eq!(rest(&mut waiting, at(0), &unknown).len(), 1);
        waiting.take(at(0), &wish(4, &[3], &[]), at(100), &under_way, picture);
        assert_eq!(rest(&mut waiting, at(100), &unknown).len(), 0, "its time is over");
    }

    /// Whatever a player wishes for: what waits or is under way has a cap, no tile is there twice, tiles that do not exist
    /// have no place, and what ended makes room.
    #[test]
    fn a_player_has_so_many_tiles_at_a_time() {
        let under_way = UnderWay::default();
        let picture = Bytes::from(vec![0; MAX_BYTES / 10]);
        let has = |tile: u16| (tile < 100).then(|| picture.clone());
        let wish = Wish { chunk: 3, left_ms: 1000, view: vec![5; 4096], margin: (0..=u16::MAX).collect() };
        let mut waiting = Waiting::default();
        waiting.take(at(0), &wish, at(900), &under_way, has);
        let mut first: Vec<Order> = std::iter::from_fn(|| waiting.next(at(0), &FAST)).collect();
        let tiles: Vec<(u16, bool)> = first.iter().map(|order| (order.tile, order.is_in_view)).collect();
        let margin = [0, 1, 2, 3, 4, 6, 7, 8, 9].map(|tile| (tile, false));
        assert_eq!(tiles, [vec![(5, true)], margin.to_vec()].concat());
        let other = Wish { chunk: 4, ..wish };
        waiting.take(at(0), &other, at(900), &under_way, has);
        assert!(waiting.next(at(0), &FAST).is_none());
        first.truncate(7);
        waiting.take(at(0), &other, at(900), &under_way, has);
        assert_eq!(std::iter::from_fn(|| waiting.next(at(0), &FAST)).collect::<Vec<_>>().len(), 3);
    }

    /// The shortest wishes of each kind, while as much waits as may: what a packet of 1,150 bytes full of them costs.
    #[test]
    fn no_wish_costs_more_than_its_bytes() {
        type Lines = fn(u32) -> String;
        fn of(chunk: u32, tiles: &str) -> String {
            format!("{{\"chunk\":{chunk},\"left_ms\":9,\"view\":[{tiles}],\"margin\":[]}}")
        }
        fn list(tiles: impl Iterator<Item = u32>) -> String {
            tiles.map(|tile| tile.to_string()).collect::<Vec<_>>().join(",")
        }
        let kinds: [(&str, Lines); 6] = [
            ("for nothing", |_| of(0, "")),
            ("for nothing of another chunk", |n| of(n, "")),
            ("for a tile", |n| of(n, "1")),
            ("for one tile again and again", |_| of(1, &["1"; 1_000].join(","))),
            ("for all tiles of a chunk", |n| of(n % 8, &list(0..100))),
            ("for half of them, in turn", |n| of(1, &list((0..50).map(|tile| 2 * tile + n % 2)))),
        ];
        let picture = Bytes::from(vec![0; 10]);
        // As many tiles and chunks as are remembered.
        let full = || {
            let under_way = UnderWay::default();
            let mut waiting = Waiting::default();
            for chunk in 0..40 {
                let full = wish(1_000 + chunk, &(0..100).collect::<Vec<_>>(), &[]);
                waiting.take(at(0), &full, at(1_000_000), &under_way, |_| Some(picture.clone()));
            }
            for chunk in 0..MAX_CHUNKS as u32 {
                waiting.take(at(0), &wish(5_000 + chunk, &[1], &[]), at(900_000), &under_way, |_| {
                    Some(picture.clone())
                });
                drop(waiting.next(at(0), &FAST));
            }
            (waiting, under_way)
        };
        for (name, kind) in kinds {
            let lines: Vec<String> = (0..2_000).map(kind).collect();
            hawser_toll::measure_prepared(&format!("wishes {name}"), full, |(mut waiting, under_way)| {
                for line in &lines {
                    let wish: Wish = hawser_command::lines::parse(line.as_bytes()).unwrap();
                    waiting
                        .take(at(1), &wish, at(10), &under_way, |tile| (tile < 100).then(|| picture.clone()));
                }
                lines.iter().map(|line| line.len() + 1).sum()
            });
        }
    }
}
