//! What players and servers say to each other, without a connection, for fuzzing (feature `fuzzing`).

use std::cell::Cell;
use std::time::Duration;

use bytes::Bytes;
use hawser_media::panorama::Motion;

use super::film::{Shape, Splitter};
use super::protocol::{self, Head, MAX_LINE, Said, Wish};
use super::screen::Screen;
use super::serve::deadline;
use super::under_way::{self, UnderWay};
use super::waiting::{self, Order, Pace, Waiting};
use hawser::policy::Time;
use hawser_command::lines::{Cutter, parse};
use hawser_command::report::to_json;

/// Bytes before a picture.
pub const HEAD: usize = protocol::HEAD;
/// Tiles that wait or are under way to one player.
pub const MAX_TILES: usize = under_way::MAX_TILES;
/// Their bytes.
pub const MAX_BYTES: usize = under_way::MAX_BYTES;
/// Chunks of which it is remembered what was begun.
pub const MAX_CHUNKS: usize = waiting::MAX_CHUNKS;
/// Tiles that each chunk has.
pub const TILES: u16 = 200;

/// Round-trip time of every connection here.
const ROUND_TRIP: Duration = Duration::from_millis(20);

/// A wish as its line.
pub fn wish(chunk: u32, left_ms: u32, view: Vec<u16>, margin: Vec<u16>) -> String {
    to_json(&Wish { chunk, left_ms, view, margin })
}

/// What a line of a server says, as it is written; `None` if it is no such line.
pub fn said(line: &[u8]) -> Option<String> {
    parse::<Said>(line).ok().map(|said| to_json(&said))
}

/// The head of a tile as bytes again; `None` if it is none.
pub fn head(bytes: [u8; HEAD]) -> Option<[u8; HEAD]> {
    Head::decode(bytes).map(|head| head.encode())
}

/// Pictures out of what ffmpeg writes.
///
/// # Errors
/// Why it is none.
pub fn pictures<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<(Vec<Bytes>, bool), String> {
    let (mut splitter, mut found) = (Splitter::default(), Vec::new());
    for piece in pieces {
        splitter.push(piece);
        while let Some(picture) = splitter.next_picture()? {
            found.push(picture);
        }
    }
    Ok((found, splitter.is_empty()))
}

/// The server's end of one player's stream, with what waits for him.
#[derive(Debug)]
pub struct Server {
    cutter: Cutter,
    waiting: Waiting,
    under_way: UnderWay,
    picture: Bytes,
    /// Tiles that were begun, the oldest first.
    begun: Vec<Order>,
    /// Wishes so far, and tiles that they named.
    wishes: usize,
    named: usize,
    /// Pictures that were looked up.
    looked_up: Cell<usize>,
}

/// What a server holds for a player, and did for him.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Account {
    /// Wishes, and tiles that they named.
    pub wishes: usize,
    /// See `wishes`.
    pub named: usize,
    /// Pictures that were looked up for them.
    pub looked_up: usize,
    /// Tiles that wait.
    pub waiting: usize,
    /// Tiles that were begun, and of which it is not known what became.
    pub begun: usize,
    /// Both together, as they are counted, and their bytes.
    pub held: (usize, usize),
    /// Chunks of which it is remembered what was begun.
    pub chunks: usize,
}

impl Server {
    /// One of a film in which every picture has so many bytes.
    pub fn new(picture: usize) -> Self {
        Server {
            cutter: Cutter::default(),
            waiting: Waiting::default(),
            under_way: UnderWay::default(),
            picture: vec![0; picture].into(),
            begun: Vec::new(),
            wishes: 0,
            named: 0,
            looked_up: Cell::new(0),
        }
    }

    /// Bytes of the player at this time.
    ///
    /// # Errors
    /// Why his connection ends.
    pub fn hear(&mut self, now: Time, bytes: &[u8]) -> Result<(), String> {
        self.cutter.push(bytes);
        while let Some(line) = self.cutter.next(MAX_LINE).map_err(|error| error.words("vr360"))? {
            if line.is_empty() {
                continue;
            }
            let wish: Wish = parse(&line).map_err(|error| error.words("vr360"))?;
            let (picture, looked_up) = (&self.picture, &self.looked_up);
            let has = |tile: u16| {
                looked_up.set(looked_up.get() + 1);
                (tile < TILES).then(|| picture.clone())
            };
            self.waiting.take(now, &wish, deadline(now, &wish, ROUND_TRIP), &self.under_way, has);
            self.wishes += 1;
            self.named += wish.view.len() + wish.margin.len();
        }
        Ok(())
    }

    /// Begins to send the tile that is needed most, over links of this rate: its chunk and number.
    pub fn send(&mut self, now: Time, bytes_per_second: f64) -> Option<(u32, u16)> {
        let under_way = self.begun.iter().map(|order| order.picture.len()).sum();
        let pace = Pace { bytes_per_second, round_trip: ROUND_TRIP, under_way };
        let order = self.waiting.next(now, &pace)?;
        assert!(now < order.deadline, "what is too late is not begun");
        let tile = (order.chunk, order.tile);
        self.begun.push(order);
        Some(tile)
    }

    /// It is known what became of so many of the tiles that were begun.
    pub fn arrive(&mut self, count: usize) {
        self.begun.drain(..count.min(self.begun.len()));
    }

    /// What it holds, and did.
    pub fn account(&self) -> Account {
        let (waiting, chunks) = self.waiting.held();
        Account {
            wishes: self.wishes,
            named: self.named,
            looked_up: self.looked_up.get(),
            waiting,
            begun: self.begun.len(),
            held: self.under_way.held(),
            chunks,
        }
    }
}

/// The player's end: what he makes of what a server says and sends.
#[derive(Debug, Default)]
pub struct Player {
    cutter: Cutter,
    screen: Option<Screen>,
    /// Chunks that were wished for, and those that are over.
    wished: u32,
    ended: u32,
}

impl Player {
    /// Bytes of the server's stream.
    ///
    /// # Errors
    /// Why the connection ends.
    pub fn hear(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.cutter.push(bytes);
        while let Some(line) = self.cutter.next(MAX_LINE).map_err(|error| error.words("vr360"))? {
            if line.is_empty() {
                continue;
            }
            let said: Said = parse(&line).map_err(|error| error.words("vr360"))?;
            match said {
                Said::Film(shape) if self.screen.is_none() => self.screen = Some(screen(&shape)?),
                Said::Film(_) => return Err("the server sends another film".to_owned()),
                Said::Carried { chunk, tile, paths } => match &mut self.screen {
                    Some(screen) => screen.carried(chunk, tile, paths),
                    None => return Err("the server does not say what it has".to_owned()),
                },
            }
        }
        Ok(())
    }

    /// Time passes: the player wishes for the next chunk. Returns whether he knows the film.
    pub fn wish(&mut self, now: Duration) -> bool {
        let Some(screen) = &mut self.screen else { return false };
        let wish = screen.wish(self.wished, now);
        assert!(wish.view.len() + wish.margin.len() <= usize::from(u16::MAX));
        let _ = screen.wish_again(self.wished, now);
        self.wished += 1;
        true
    }

    /// A tile came as a whole.
    pub fn arrived(&mut self, bytes: &[u8], now: Duration) {
        let Some(screen) = &mut self.screen else { return };
        let Some(head) = bytes.first_chunk().and_then(|head| Head::decode(*head)) else { return };
        let picture = Bytes::copy_from_slice(&bytes[HEAD..]);
        if picture.len() == head.length as usize {
            screen.arrived(head.chunk, head.tile, picture, now);
        }
    }

    /// The oldest chunk is over.
    pub fn end(&mut self, now: Duration) {
        let Some(screen) = self.screen.as_mut().filter(|_| self.ended < self.wished) else { return };
        screen.look(now);
        screen.end(self.ended);
        self.ended += 1;
        let counts = screen.counts;
        assert_eq!(counts.seen, counts.in_time + counts.late + counts.missing + counts.unasked);
    }

    /// Chunks and paths that are kept.
    pub fn kept(&self) -> (usize, usize) {
        self.screen.as_ref().map_or((0, 0), |screen| (screen.chunks.len(), screen.carried.len()))
    }
}

fn screen(shape: &Shape) -> Result<Screen, String> {
    let grid = shape.grid()?;
    let length = Duration::from_secs_f64(1.0 / shape.rate);
    Ok(Screen::new(grid, Motion::synthetic(1, 60.0), length, Duration::from_millis(500)))
}
