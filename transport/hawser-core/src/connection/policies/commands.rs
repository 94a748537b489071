//! What policies order besides their answers.

use hawser_policy::{AttachRequest, Command, MAX_COMMANDS, PathId};

use super::reinject::{Reinjection, reinject};
use super::{MAX_ATTACH_REQUESTS, Policies, Targets};
use crate::connection::frames::SentStream;
use crate::connection::paths::life_cycle::LifeCycle;
use crate::connection::recovery::PathIdentity;
use crate::connection::streams::ANY_ROUND;

impl Policies {
    /// Applies what was ordered. Orders that name what does not exist change nothing and are counted.
    #[inline]
    pub(crate) fn apply_commands(&mut self, targets: &mut Targets<'_>) {
        if !self.commands.is_empty() {
            self.apply_all(targets);
        }
    }

    #[inline(never)]
    fn apply_all(&mut self, targets: &mut Targets<'_>) {
        let mut commands = std::mem::take(&mut self.commands);
        self.ignored_commands += commands.len().saturating_sub(MAX_COMMANDS) as u64;
        commands.truncate(MAX_COMMANDS);
        for command in commands.drain(..) {
            if !self.apply(command, targets) {
                self.ignored_commands += 1;
            }
        }
        self.commands = commands;
        self.wake();
    }

    /// Applies one command; whether that was possible.
    fn apply(&mut self, command: Command, targets: &mut Targets<'_>) -> bool {
        match command {
            Command::Reinject { from, to, max_bytes } => {
                self.reinject(targets, Reinjection { from, to, max_bytes, newest: false })
            }
            Command::ReinjectNewest { from, to, max_bytes } => {
                self.reinject(targets, Reinjection { from, to, max_bytes, newest: true })
            }
            Command::Copy { stream, range, to } => {
                let length = u32::try_from(range.end.saturating_sub(range.start)).unwrap_or(u32::MAX);
                let copy = SentStream {
                    id: stream,
                    offset: range.start,
                    length,
                    fin: false,
                    copy: true,
                    round: ANY_ROUND,
                };
                let path = targets.paths.get_mut(to).filter(|_| length > 0);
                path.is_some_and(|path| path.queue_copy(copy))
            }
            Command::ReplaceController { path } => self.replace_controller(path, targets),
            Command::ScalePacing { path, percent } => {
                let path = targets.paths.get_mut(path);
                path.map(|path| path.recovery.scale_pacing(targets.now, percent)).is_some()
            }
            Command::ReturnAcks { acked, on } => self.command_return_path(targets.paths, acked, on),
            Command::Send(message) => {
                let known = |path| targets.paths.get(path).is_some();
                message.path.is_none_or(known) && targets.messages.send(message).is_ok()
            }
            Command::Tell(message) => {
                targets.messages.tell_application(message);
                true
            }
            Command::Attach(request) => self.request_attachment(request),
            Command::RequestAckFrequency(frequency) => targets.ack_frequencies.request(frequency).is_ok(),
            Command::RequestAck { path } => {
                targets.paths.get(path).is_some() && targets.ack_frequencies.request_immediate(path).is_ok()
            }
            Command::Ping { path } => {
                let active =
                    |path: &&mut crate::connection::paths::path::Path| path.life() == LifeCycle::Active;
                let path = targets.paths.get_mut(path).filter(active);
                path.map(|path| path.probes = path.probes.max(1)).is_some()
            }
            Command::Assign { stream, range, path } => {
                let usable = targets.paths.get(path).is_some_and(|path| path.life() == LifeCycle::Active);
                usable && targets.streams.assign(stream, range, path)
            }
            Command::Unassign { stream, range } => targets.streams.unassign(stream, range),
            Command::Discard { stream, range } => targets.streams.discard(stream, range),
            Command::DoNotRetransmit { stream, range } => targets.streams.do_not_retransmit(stream, range),
        }
    }

    fn reinject(&mut self, targets: &mut Targets<'_>, wanted: Reinjection) -> bool {
        let looked_at = reinject(targets, wanted);
        self.packets_looked_at += looked_at.unwrap_or(0);
        looked_at.is_some()
    }

    /// Has the driver asked to attach a link elsewhere. The newest request for a link takes the place of older ones.
    fn request_attachment(&mut self, request: AttachRequest) -> bool {
        self.attach_requests.retain(|older| older.link != request.link);
        let has_room = self.attach_requests.len() < MAX_ATTACH_REQUESTS;
        if has_room {
            self.attach_requests.push_back(request);
        }
        has_room
    }

    /// Replaces the controller of a path; estimates are carried over.
    pub(crate) fn replace_controller(&mut self, id: PathId, targets: &mut Targets<'_>) -> bool {
        let seed = self.seeds.next_random();
        let Some(path) = targets.paths.get_mut(id) else { return false };
        let identity = PathIdentity { path: id, link: path.link, remote: path.tuples.current().remote, seed };
        path.recovery.swap_controller(&*self.controllers, &identity, targets.now);
        true
    }
}
