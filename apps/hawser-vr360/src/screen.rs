//! What a viewer has of each chunk: asked for, in time, late, never.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use hawser_media::panorama::{Field, Grid, Motion, View};
use serde::Serialize;

use super::protocol::Wish;

/// Chunks that are kept for the page behind the one that is played.
const KEPT: usize = 12;

/// Paths of which is counted what they carried: the server names them, and may name any.
const MAX_PATHS: usize = 64;

/// What became of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Fate {
    /// On its way.
    Pending,
    /// All of it was there when its chunk began to be played.
    InTime,
    /// It came while its chunk was played.
    Late,
    /// It did not come before its chunk was over.
    Missing,
    /// Nobody asked for it: the head turned otherwise than was expected.
    Unasked,
}

/// A tile of a chunk.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    pub(super) fate: Fate,
    /// Whether it was asked for as one that will be seen.
    pub(super) forecast: bool,
    pub(super) picture: Option<Bytes>,
    /// Ids of paths and the bytes of it that each carried.
    pub(super) paths: Vec<(u32, u64)>,
}

impl Tile {
    /// The path that carried most of it.
    pub(super) fn carrier(&self) -> Option<u32> {
        self.paths.iter().max_by_key(|(_, bytes)| *bytes).map(|(path, _)| *path)
    }
}

/// A chunk.
#[derive(Clone, Debug)]
pub(super) struct Chunk {
    pub(super) number: u32,
    /// Since the beginning.
    pub(super) begins: Duration,
    pub(super) ends: Duration,
    /// Where the head was expected to look.
    pub(super) forecast: View,
    /// Where it looks, and the tiles that it sees: known when the chunk begins to be played.
    pub(super) seen: Option<(View, Vec<u16>)>,
    pub(super) tiles: BTreeMap<u16, Tile>,
}

impl Chunk {
    /// What becomes of a tile that is there at this time.
    fn fate_at(&self, now: Duration) -> Fate {
        if now <= self.begins {
            Fate::InTime
        } else if now < self.ends {
            Fate::Late
        } else {
            Fate::Missing
        }
    }
}

/// Numbers of tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// Chunks that are over.
    pub(super) chunks: u64,
    /// Tiles that were seen, one for each chunk in which they were.
    pub(super) seen: u64,
    /// Of these: there when their chunk began.
    pub(super) in_time: u64,
    /// There before it was over.
    pub(super) late: u64,
    /// Not there.
    pub(super) missing: u64,
    /// Not asked for.
    pub(super) unasked: u64,
    /// Tiles that were asked for, seen or not.
    pub(super) asked: u64,
    /// Of these: arrived in time.
    pub(super) arrived_in_time: u64,
    /// Bytes of the pictures that came before their chunk was over.
    pub(super) bytes: u64,
}

/// What a path carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Carried {
    /// Tiles of which it carried most.
    pub(super) tiles: u64,
    /// Bytes of tiles.
    pub(super) bytes: u64,
}

/// The viewer. Times are since it began.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) grid: Grid,
    pub(super) field: Field,
    motion: Motion,
    /// How long a chunk lasts.
    pub(super) length: Duration,
    /// From the wish for a chunk to its beginning.
    pub(super) delay: Duration,
    pub(super) chunks: VecDeque<Chunk>,
    pub(super) counts: Counts,
    pub(super) carried: BTreeMap<u32, Carried>,
}

impl Screen {
    pub(super) fn new(grid: Grid, motion: Motion, length: Duration, delay: Duration) -> Self {
        Screen {
            grid,
            field: Field::default(),
            motion,
            length,
            delay,
            chunks: VecDeque::new(),
            counts: Counts::default(),
            carried: BTreeMap::new(),
        }
    }

    /// When this chunk is wished for.
    pub(super) fn asked_at(&self, number: u32) -> Duration {
        self.length * number
    }

    /// When this chunk is over.
    pub(super) fn ends_at(&self, number: u32) -> Duration {
        self.asked_at(number) + self.delay + self.length
    }

    /// Wishes for a chunk: what will be seen if the head goes on as it does, and what lies around that.
    pub(super) fn wish(&mut self, number: u32, now: Duration) -> Wish {
        let begins = self.asked_at(number) + self.delay;
        let ends = begins + self.length;
        let ahead = begins.saturating_sub(now);
        let forecast = self.motion.forecast(now.as_secs_f64(), ahead.as_secs_f64());
        let view = self.grid.in_view(forecast, self.field);
        let margin = self.grid.around(&view);
        let tile = |forecast| Tile { fate: Fate::Pending, forecast, picture: None, paths: Vec::new() };
        let expected = view.iter().map(|at| (*at, tile(true)));
        let tiles = expected.chain(margin.iter().map(|at| (*at, tile(false)))).collect();
        self.counts.asked += (view.len() + margin.len()) as u64;
        self.chunks.push_back(Chunk { number, begins, ends, forecast, seen: None, tiles });
        let left_ms = u32::try_from(ends.saturating_sub(now).as_millis()).unwrap_or(u32::MAX);
        Wish { chunk: number, left_ms, view, margin }
    }

    /// Wishes again for a chunk that was wished for and has not begun, if the head is now expected to look elsewhere.
    pub(super) fn wish_again(&mut self, number: u32, now: Duration) -> Option<Wish> {
        let (grid, field) = (self.grid, self.field);
        let ahead = self.chunk(number)?.begins.checked_sub(now)?;
        let forecast = self.motion.forecast(now.as_secs_f64(), ahead.as_secs_f64());
        let view = grid.in_view(forecast, field);
        let margin = grid.around(&view);
        let chunk = self.chunk(number)?;
        let expected = chunk.tiles.iter().filter(|(_, tile)| tile.forecast).map(|(at, _)| *at);
        if expected.collect::<BTreeSet<u16>>() == view.iter().copied().collect() {
            return None;
        }
        chunk.forecast = forecast;
        chunk.tiles.values_mut().for_each(|tile| tile.forecast = false);
        let mut added = 0;
        for (at, forecast) in view.iter().map(|at| (at, true)).chain(margin.iter().map(|at| (at, false))) {
            let tile = chunk.tiles.entry(*at).or_insert_with(|| {
                added += 1;
                Tile { fate: Fate::Pending, forecast, picture: None, paths: Vec::new() }
            });
            tile.forecast |= forecast;
        }
        let left_ms = u32::try_from(chunk.ends.saturating_sub(now).as_millis()).unwrap_or(u32::MAX);
        self.counts.asked += added;
        Some(Wish { chunk: number, left_ms, view, margin })
    }

    /// The chunks that have begun by now: the head looks somewhere.
    pub(super) fn look(&mut self, now: Duration) {
        for chunk in self.chunks.iter_mut().filter(|chunk| chunk.seen.is_none() && chunk.begins <= now) {
            let view = self.motion.at(chunk.begins.as_secs_f64());
            chunk.seen = Some((view, self.grid.in_view(view, self.field)));
        }
    }

    fn chunk(&mut self, number: u32) -> Option<&mut Chunk> {
        self.chunks.iter_mut().find(|chunk| chunk.number == number)
    }

    /// A picture is there as a whole.
    pub(super) fn arrived(&mut self, number: u32, at: u16, picture: Bytes, now: Duration) {
        let Some(chunk) = self.chunk(number) else { return };
        let fate = chunk.fate_at(now);
        let tile = chunk.tiles.get_mut(&at).filter(|tile| tile.fate == Fate::Pending);
        let Some(tile) = tile.filter(|_| fate != Fate::Missing) else { return };
        let bytes = picture.len() as u64;
        (tile.fate, tile.picture) = (fate, Some(picture));
        self.counts.bytes += bytes;
        self.counts.arrived_in_time += u64::from(fate == Fate::InTime);
    }

    /// Which paths carried a tile.
    pub(super) fn carried(&mut self, number: u32, at: u16, mut paths: Vec<(u32, u64)>) {
        paths.truncate(MAX_PATHS);
        let most = paths.iter().max_by_key(|(_, bytes)| *bytes).map(|(path, _)| *path);
        for (path, bytes) in &paths {
            if self.carried.len() >= MAX_PATHS && !self.carried.contains_key(path) {
                continue;
            }
            let carried = self.carried.entry(*path).or_default();
            carried.bytes = carried.bytes.saturating_add(*bytes);
            carried.tiles += u64::from(Some(*path) == most);
        }
        if let Some(tile) = self.chunk(number).and_then(|chunk| chunk.tiles.get_mut(&at)) {
            tile.paths = paths;
        }
    }

    /// A chunk is over: what was seen of it counts.
    pub(super) fn end(&mut self, number: u32) {
        let Some(at) = self.chunks.iter().position(|chunk| chunk.number == number) else { return };
        self.look(self.chunks[at].begins);
        let chunk = &mut self.chunks[at];
        for tile in chunk.tiles.values_mut().filter(|tile| tile.fate == Fate::Pending) {
            tile.fate = Fate::Missing;
        }
        let counts = &mut self.counts;
        counts.chunks += 1;
        for at in chunk.seen.iter().flat_map(|(_, tiles)| tiles) {
            counts.seen += 1;
            match chunk.tiles.get(at).map_or(Fate::Unasked, |tile| tile.fate) {
                Fate::InTime => counts.in_time += 1,
                Fate::Late => counts.late += 1,
                Fate::Missing | Fate::Pending => counts.missing += 1,
                Fate::Unasked => counts.unasked += 1,
            }
        }
        let over = self.chunks.iter().filter(|chunk| chunk.number <= number).count();
        self.chunks.drain(..over.saturating_sub(KEPT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Chunks of 200 ms, half a second ahead; the head jumps by half a turn at one second.
    fn screen() -> Screen {
        let motion = Motion::read("0,180,0\n0.99,180,0\n1,0,0\n").unwrap();
        Screen::new(Grid::new(12, 6).unwrap(), motion, 200 * MS, 500 * MS)
    }

    #[test]
    fn a_chunk_counts_what_was_there_when_it_was_seen() {
        let mut screen = screen();
        let wish = screen.wish(0, Duration::ZERO);
        assert_eq!((wish.left_ms, wish.view.len(), wish.margin.len()), (700, 16, 20));
        let picture = |bytes| Bytes::from(vec![0; bytes]);
        screen.arrived(0, wish.view[0], picture(10), 500 * MS);
        screen.arrived(0, wish.view[1], picture(10), 501 * MS);
        screen.arrived(0, wish.view[2], picture(10), 700 * MS);
        screen.arrived(0, wish.margin[0], picture(7), 100 * MS);
        // Neither a second time nor what nobody wanted counts.
        screen.arrived(0, wish.view[0], picture(10), 400 * MS);
        screen.arrived(0, 71, picture(10), 100 * MS);
        screen.end(0);
        let expected = Counts {
            chunks: 1,
            seen: 16,
            in_time: 1,
            late: 1,
            missing: 14,
            unasked: 0,
            asked: 36,
            arrived_in_time: 2,
            bytes: 27,
        };
        assert_eq!(screen.counts, expected);
        screen.carried(0, wish.view[0], vec![(0, 4), (2, 6)]);
        assert_eq!(screen.chunks[0].tiles[&wish.view[0]].carrier(), Some(2));
        assert_eq!(screen.carried[&2], Carried { tiles: 1, bytes: 6 });
        assert_eq!(screen.carried[&0], Carried { tiles: 0, bytes: 4 });
    }

    /// The chunk that begins at 1.1 s was wished for at 0.6 s, when the head still rested on the other side.
    #[test]
    fn what_the_head_did_not_announce_is_unasked() {
        let mut screen = screen();
        let wish = screen.wish(3, 600 * MS);
        assert_eq!(wish.view[0], 16, "the view at yaw 180");
        screen.end(3);
        assert_eq!((screen.counts.seen, screen.counts.unasked), (16, 16));
    }

    /// The head jumps at one second: what was wished for before is wished for again then.
    #[test]
    fn a_head_that_turns_is_followed() {
        let mut screen = screen();
        let first = screen.wish(3, 600 * MS);
        assert_eq!(screen.wish_again(3, 800 * MS), None, "it rests");
        let second = screen.wish_again(3, 1_010 * MS).unwrap();
        assert_ne!(second.view, first.view);
        assert_eq!((second.chunk, second.left_ms), (3, 290));
        assert_eq!(screen.wish_again(3, 1_200 * MS), None, "the chunk has begun");
        let asked: BTreeSet<u16> =
            [&first, &second].iter().flat_map(|wish| [&wish.view[..], &wish.margin[..]].concat()).collect();
        assert_eq!(screen.counts.asked, asked.len() as u64, "each tile once");
    }

    #[test]
    fn a_server_cannot_name_paths_without_end() {
        let mut screen = screen();
        screen.wish(0, Duration::ZERO);
        for first in (0..10_000).step_by(100) {
            screen.carried(0, 16, (first..first + 100).map(|path| (path, u64::MAX)).collect());
        }
        assert_eq!((screen.carried.len(), screen.chunks[0].tiles[&16].paths.len()), (MAX_PATHS, MAX_PATHS));
    }

    #[test]
    fn few_chunks_are_kept() {
        let mut screen = screen();
        for number in 0..100 {
            screen.wish(number, screen.asked_at(number));
            screen.end(number);
        }
        assert_eq!((screen.chunks.len(), screen.chunks[0].number), (KEPT, 88));
    }
}
