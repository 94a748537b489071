//! Packets in given shares over the paths, and what happens where a path is full: the part of FTRL-WRR that decides about
//! single packets.

use hawser_policy::{Assignment, Decision, ParameterInfo, Parameters, PathId, PathView, SendView, Tag};

use crate::placement::datagram;
use crate::wheel::Wheel;

/// What becomes of a packet whose path is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Redirect {
    /// Another path takes it, and the turn of the full one goes on afterwards: no window stays empty.
    #[default]
    Free,
    /// Another path takes it where the *window* is full; where the path is only paced, the packet waits for its release. So
    /// shares hold as long as windows have room, as in the thesis, whose senders are not paced.
    Window,
    /// Another path takes it, and the turn of the full one is shortened by it.
    ConsumeCredit,
    /// It waits.
    Off,
}

impl Redirect {
    pub(crate) fn parameter() -> ParameterInfo {
        ParameterInfo::choice("redirect", ["free", "window", "consume", "off"])
            .meaning(
                "what becomes of a packet whose path is full: another one takes it (free), only if the window is full and \
                 not just paced (window), at the expense of the full one's turn (consume), or it waits (off)",
            )
            .source("Li 2024, section 3.3, and the author's code")
    }

    pub(crate) fn read(parameters: &Parameters) -> Self {
        match parameters.choice("redirect") {
            "window" => Redirect::Window,
            "consume" => Redirect::ConsumeCredit,
            "off" => Redirect::Off,
            _ => Redirect::Free,
        }
    }
}

/// Datagrams of one redirection: the path that is full may open again meanwhile.
const REDIRECTED: u64 = 8;

#[derive(Clone, Debug, Default)]
pub(crate) struct Dispatch {
    wheel: Wheel,
    redirect: Redirect,
    /// Whose turn it is, and how many packets of it are left.
    turn: Option<(PathId, u64)>,
}

/// Tags name the timestep and whether the packet was redirected.
pub(crate) fn tag(step: u64, redirected: bool) -> Tag {
    Tag(step << 1 | u64::from(redirected))
}

/// The timestep of a tag; 0 for what was not dispatched here.
pub(crate) fn step_of(tag: Tag) -> u64 {
    tag.0 >> 1
}

pub(crate) fn is_redirected(tag: Tag) -> bool {
    tag.0 & 1 == 1
}

impl Dispatch {
    pub(crate) fn new(redirect: Redirect) -> Self {
        Dispatch { redirect, ..Dispatch::default() }
    }

    /// Restarts with these shares of the bytes: path, share, datagram size.
    pub(crate) fn set(&mut self, shares: impl Iterator<Item = (PathId, f64, u64)> + Clone) {
        self.wheel.set(shares);
        self.turn = None;
    }

    /// Where the next packets go.
    pub(crate) fn decide(&mut self, view: &SendView<'_>, step: u64) -> Decision {
        if self.turn.is_none() {
            self.turn = self.wheel.run();
        }
        let Some((id, credit)) = self.turn else { return Decision::Wait(None) };
        let path = view.path(id);
        if let Some(path) = path.filter(|path| path.sendable() > 0) {
            let max_bytes = credit.saturating_mul(datagram(path));
            return Decision::Send(Assignment::next(id).with(|assignment| {
                assignment.max_bytes = max_bytes;
                assignment.tag = tag(step, false);
            }));
        }
        let release = path.and_then(|path| path.next_release);
        let is_only_paced = |path: &PathView| release.is_some() && path.window_left() >= datagram(path);
        let waits = match self.redirect {
            Redirect::Off => true,
            Redirect::Window => path.is_some_and(is_only_paced),
            Redirect::Free | Redirect::ConsumeCredit => false,
        };
        if waits {
            return Decision::Wait(release);
        }
        let is_other = |other: &&PathView| other.id != id && other.sendable() > 0;
        // Of several the one that has the most room.
        let other = view
            .preferred()
            .filter(is_other)
            .max_by_key(|other| (other.window_left(), std::cmp::Reverse(other.id)));
        let Some(other) = other else { return Decision::Wait(release) };
        let packets =
            if self.redirect == Redirect::ConsumeCredit { credit.min(REDIRECTED) } else { REDIRECTED };
        Decision::Send(Assignment::next(other.id).with(|assignment| {
            assignment.max_bytes = packets.saturating_mul(datagram(other));
            assignment.tag = tag(step, true);
        }))
    }

    /// A packet left that was dispatched here.
    pub(crate) fn on_sent(&mut self, path: PathId, tag: Tag) {
        let Some((id, credit)) = &mut self.turn else { return };
        let redirected = is_redirected(tag);
        let counts = if redirected { self.redirect == Redirect::ConsumeCredit } else { *id == path };
        if counts {
            *credit = credit.saturating_sub(1);
            if *credit == 0 {
                self.turn = None;
            }
        }
    }
}
