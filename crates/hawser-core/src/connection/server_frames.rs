//! HANDSHAKE_DONE and NEW_TOKEN: what a server says once the handshake is over.

use std::net::IpAddr;

use hawser_policy::Time;
use hawser_wire::{Frame, Writer};
use rand_chacha::ChaCha8Rng;

use super::frames::{SentFrame, SentFrames};
use crate::endpoint::tokens::TokenIssuer;

/// The frames that only a server sends; nothing ever pends at a client.
pub(crate) struct ServerFrames {
    /// Makes address-validation tokens.
    issuer: Option<TokenIssuer>,
    /// NEW_TOKEN frames to send.
    pub(crate) tokens_pending: u32,
    pub(crate) handshake_done_pending: bool,
}

impl ServerFrames {
    /// As many tokens as the issuer says, none without one.
    pub(crate) fn new(issuer: Option<TokenIssuer>) -> Self {
        let tokens_pending = issuer.as_ref().map_or(0, |issuer| issuer.count);
        ServerFrames { issuer, tokens_pending, handshake_done_pending: false }
    }

    /// Whether a frame is to be sent.
    #[inline]
    pub(crate) fn are_pending(&self) -> bool {
        self.handshake_done_pending || self.tokens_pending > 0
    }

    /// Writes as many of them as fit; a token is for the address that the client has now.
    pub(crate) fn write(
        &mut self,
        now: Time,
        client: IpAddr,
        rng: &mut ChaCha8Rng,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
    ) {
        if self.handshake_done_pending && Frame::HandshakeDone.encode(w).is_ok() {
            self.handshake_done_pending = false;
            frames.push(SentFrame::HandshakeDone);
        }
        while self.tokens_pending > 0 {
            let Some(token) = self.issuer.as_ref().map(|issuer| issuer.issue(now, client, rng)) else {
                break;
            };
            if Frame::NewToken(&token).encode(w).is_err() {
                break;
            }
            self.tokens_pending -= 1;
            frames.push(SentFrame::NewToken(self.tokens_pending));
        }
    }
}
