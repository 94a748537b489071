//! From unit to unit, frame to frame and session to session.

use hawser_learn::Random;

use super::{Environment, Unit};
use crate::config::Kind;
use crate::gop::bit;
use crate::paths::Path;
use crate::seeds::derive;
use crate::{
    FRAME_SECONDS, Network, PATHS, Playback, TILES, Views, bundle, deadline_frame, in_order, release,
};

impl Environment {
    /// Goes to the next unit; whether it is of another frame, and of another session.
    pub(super) fn advance(&mut self) -> (bool, bool) {
        self.cursor += 1;
        if self.cursor < self.tiles.len() {
            self.load_unit();
            return (false, false);
        }
        self.slot += 1;
        if self.slot < self.config.frames && self.start_frame() {
            return (true, false);
        }
        self.session += 1;
        self.start_session();
        (true, true)
    }

    pub(super) fn start_session(&mut self) {
        let purpose = self.config.purpose;
        let seed = derive(self.seed, self.session.to_le_bytes());
        self.video = self.video_of_session();
        let (frames, gop) = (self.config.frames, self.gop_length());
        self.views = Views::synthetic(purpose.seed(seed, "viewer"), frames, gop, self.config.viewing);
        self.network = Network::synthetic(purpose.seed(seed, "network"), frames, self.config.max_loss);
        self.random = Random::new(purpose.seed(seed, "losses"));
        self.paths = [(); PATHS].map(|()| Path::new());
        self.pending.clear();
        self.slot = 0;
        let started = self.start_frame();
        debug_assert!(started, "the field of view is never empty");
    }

    /// The videos in a new order in each pass.
    fn video_of_session(&self) -> usize {
        let count = self.videos.len() as u64;
        let pass = self.session / count;
        let mut random =
            Random::new(self.config.purpose.seed(derive(self.seed, pass.to_le_bytes()), "order"));
        let mut order: Vec<usize> = (0..self.videos.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, (random.fraction() * (at + 1) as f64) as usize);
        }
        order[(self.session % count) as usize]
    }

    /// Starts the frame, or the next one in which a tile is viewed; false: none is left.
    fn start_frame(&mut self) -> bool {
        let gop = self.gop_length();
        while self.slot < self.config.frames {
            if self.slot.is_multiple_of(gop) {
                self.sent.fill(0);
                self.decoded.fill(f64::INFINITY);
                debug_assert!(self.pending.is_empty(), "references lie within the GoP");
            }
            self.start_paths();
            let member = bit(self.order[self.slot % gop]);
            self.tiles.clear();
            let viewed = |tile: &usize| self.views.of(self.slot / gop, *tile) & member != 0;
            self.tiles.extend((0..TILES).filter(viewed));
            if !self.tiles.is_empty() {
                self.cursor = 0;
                self.load_unit();
                return true;
            }
            self.slot += 1;
        }
        false
    }

    fn start_paths(&mut self) {
        let now = release(self.slot);
        for (path, trace) in self.paths.iter_mut().zip(self.network.paths()) {
            match self.config.kind {
                Kind::Episodic => path.start_empty(trace, self.slot, now),
                Kind::Continuous => path.go_on(trace, self.slot, release(self.slot.saturating_sub(1)), now),
            }
        }
    }

    fn load_unit(&mut self) {
        let (tile, video) = (self.tiles[self.cursor], &self.videos[self.video]);
        let gop = video.gop();
        let (number, frame) = (self.slot / gop.len(), self.order[self.slot % gop.len()]);
        let first = number * gop.len();
        let viewed = self.views.of(number, tile);
        let members = bundle(gop, viewed, self.sent[tile], frame);
        let rule = self.config.deadline_rule;
        // It is viewed itself, so that it has a deadline of its own.
        let until = deadline_frame(gop, rule, viewed, frame).unwrap_or(frame);
        let start = |frame| release(frame) + self.config.playout_delay;
        let end = |frame| start(frame) + FRAME_SECONDS;
        self.unit = Unit {
            frame: first + frame,
            tile,
            kind: gop.kind(frame),
            bundle: members,
            bytes: in_order(gop, members).map(|member| video.size(first + member, tile)).sum(),
            release: release(self.slot),
            playback: Playback {
                start: start(first + frame),
                end: end(first + frame),
                deadline: end(first + until),
            },
        };
    }
}
