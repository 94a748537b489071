//! Key updates (RFC 9001 section 6), which several paths have to follow.

use hawser_policy::{PathState, Time};

use super::Connection;
use super::paths::path::Path;
use crate::{Code, TransportError};

impl Connection {
    /// Starts a key update (RFC 9001 section 6). Happens by itself before the keys wear out.
    ///
    /// Returns whether it was possible now: every path must have acknowledged a packet of the present phase
    /// (draft-ietf-quic-multipath-21 section 4), and three probe timeouts must be over since.
    //= rfc9001-6.1-1: no key update before the handshake is confirmed
    pub fn initiate_key_update(&mut self, now: Time) -> bool {
        let Some(keys) = self.handshake.one_rtt.as_ref().filter(|_| self.handshake.confirmed) else {
            return false;
        };
        // A silent path may block for as long as it takes to abandon it; that it is left out when the keys run out is
        // better than to end the connection. Should it return, its packets are of the present phase like all others.
        let is_urgent = keys.needs_update();
        let counts = |path: &&Path| match path.state() {
            Some(PathState::Active) => true,
            Some(PathState::Suspect) => !is_urgent,
            _ => false,
        };
        let all_acknowledged = self.paths.iter().filter(counts).all(|path| path.key_phase.is_acknowledged());
        let updated = all_acknowledged && keys.may_update(now) && self.roll_keys(now).is_ok();
        if updated {
            self.trace_key_update(now, "local_update");
        }
        updated
    }

    /// Moves to the next key phase.
    pub(super) fn roll_keys(&mut self, _now: Time) -> Result<(), TransportError> {
        self.handshake.update_keys()?;
        self.observed.stats.key_updates += 1;
        self.paths.iter_mut().for_each(Path::on_key_update);
        Ok(())
    }

    /// A packet of the present key phase was acknowledged for the first time on a path.
    //= multipath-2.5-1: a key update waits three times the largest PTO after the last is acknowledged
    #[cold]
    pub(super) fn on_key_phase_acked(&mut self, now: Time) {
        let three_pto = self.three_pto();
        if let Some(keys) = &mut self.handshake.one_rtt {
            keys.on_acknowledged(now, three_pto);
        }
    }

    /// Keeps the keys within their limits (RFC 9001 section 6.6).
    //= rfc9001-5.3-3: keys are updated before the limits of the AEAD
    //= rfc9001-6.6-3: a key update comes before the confidentiality limit
    pub(super) fn check_key_limits(&mut self, now: Time) {
        let Some(keys) = &self.handshake.one_rtt else { return };
        if keys.wants_update() {
            self.update_or_fail(now);
        }
    }

    //= rfc9001-6.6-2: a key encrypts no more packets than the confidentiality limit
    //= rfc9001-6.6-4: the connection ends at the confidentiality limit if no update is possible
    //= rfc9001-6.6-5: a connection that cannot update its keys ends with AEAD_LIMIT_REACHED
    #[cold]
    fn update_or_fail(&mut self, now: Time) {
        if !self.initiate_key_update(now)
            && self.handshake.one_rtt.as_ref().is_some_and(|keys| keys.is_exhausted())
        {
            self.fail(
                now,
                TransportError::new(
                    Code::AEAD_LIMIT_REACHED,
                    "the keys are used up and could not be changed",
                ),
            );
        }
    }
}
