//! HANDSHAKE_DONE and NEW_TOKEN: what a server says once the handshake is over.

use std::net::IpAddr;

use hawser_policy::Time;
use hawser_wire::{Frame, Version, Writer};
use rand_chacha::ChaCha8Rng;

use super::frames::{SentFrame, SentFrames};
use crate::endpoint::tokens::TokenIssuer;

/// The frames that only a server sends; nothing ever pends at a client.
pub(crate) struct ServerFrames {
    /// Makes address-validation tokens.
    issuer: Option<TokenIssuer>,
    /// NEW_TOKEN frames to send, once the handshake is complete.
    tokens_pending: u32,
    /// How many may still be made in place of lost ones.
    replacements_left: u32,
    /// The address that the tokens are for: that of the first.
    tokens_for: Option<IpAddr>,
    pub(crate) handshake_done_pending: bool,
}

impl ServerFrames {
    /// As many tokens as the issuer says, none without one.
    //= rfc9000-19.7-3: clients send no NEW_TOKEN
    pub(crate) fn new(issuer: Option<TokenIssuer>) -> Self {
        let replacements_left = issuer.as_ref().map_or(0, |issuer| issuer.count);
        ServerFrames {
            issuer,
            tokens_pending: 0,
            replacements_left,
            tokens_for: None,
            handshake_done_pending: false,
        }
    }

    /// The handshake is complete.
    pub(crate) fn on_handshake_complete(&mut self) {
        self.handshake_done_pending = true;
        self.tokens_pending = self.issuer.as_ref().map_or(0, |issuer| issuer.count);
    }

    /// A token was lost: another one is made, up to a bound.
    pub(crate) fn on_token_lost(&mut self) {
        if self.replacements_left > 0 {
            self.replacements_left -= 1;
            self.tokens_pending += 1;
        }
    }

    /// Whether a frame is to be sent.
    #[inline]
    pub(crate) fn are_pending(&self) -> bool {
        self.handshake_done_pending || self.tokens_pending > 0
    }

    /// Writes as many of them as fit. `client` is the address that the packet goes to, if it is validated: a token proves
    /// that its holder received at that address (RFC 9000 section 8.1.3). Tokens for other addresses than that of the
    /// first are not made: a client that moved gets them with its next connection.
    pub(crate) fn write(
        &mut self,
        now: Time,
        version: Version,
        client: Option<IpAddr>,
        rng: &mut ChaCha8Rng,
        w: &mut Writer<'_>,
        frames: &mut SentFrames,
    ) {
        if self.handshake_done_pending && Frame::HandshakeDone.encode(w).is_ok() {
            self.handshake_done_pending = false;
            frames.push(SentFrame::HandshakeDone);
        }
        if self.tokens_pending == 0 {
            return;
        }
        let Some(client) = client.filter(|client| self.tokens_for.is_none_or(|first| first == *client))
        else {
            self.tokens_pending = 0;
            return;
        };
        while self.tokens_pending > 0 {
            let Some(token) = self.issuer.as_ref().map(|issuer| issuer.issue(now, version, client, rng))
            else {
                break;
            };
            if Frame::NewToken(&token).encode(w).is_err() {
                break;
            }
            self.tokens_pending -= 1;
            self.tokens_for = Some(client);
            frames.push(SentFrame::NewToken(self.tokens_pending));
        }
    }
}
