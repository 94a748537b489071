//! SRT at either end. Times are since the beginning.

use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use hawser_media::ts::TsReader;
use sapflow_srt::Listener;
use sapflow_srt::crypto::{CryptoConfig, KeySize};
use tokio::sync::mpsc;

use crate::hub::Hub;
use crate::srt::{Call, Callers, Calling, Got, LATENCY, Present};
use hawser_command::output::Output;

/// The key of the stream, and the passphrase where there is one.
const KEY: &str = "key";
const PASSPHRASE: &[u8] = b"a passphrase of SRT";
/// How far a subscriber of the stream may lag.
const BUFFER: Duration = Duration::from_secs(3);
/// The encoder that is called.
const ENCODER: &str = "srt://192.0.2.1:9000?streamid=key";

fn quiet() -> Output {
    Output { quiet: true, ..Output::default() }
}

fn passphrase(is_wanted: bool) -> Option<CryptoConfig> {
    is_wanted.then(|| CryptoConfig::new(PASSPHRASE.to_vec(), KeySize::Aes128).ok()).flatten()
}

/// The port at which encoders call, for the stream with the key `key`.
pub struct SrtPort {
    callers: Callers,
    listener: Listener<BuildHasherDefault<DefaultHasher>>,
    present: Present,
    began: Instant,
    _done: mpsc::Receiver<bool>,
}

impl SrtPort {
    /// One that wants a passphrase, or none.
    pub fn new(wants_passphrase: bool) -> Self {
        let (done, _done) = mpsc::channel(1);
        let passphrase = passphrase(wants_passphrase);
        let (hub, key) = (Hub::new(BUFFER), KEY.to_owned());
        let callers = Callers { hub, key, output: quiet(), done, passphrase, latency: LATENCY };
        let began = Instant::now();
        let listener = Listener::with_key(callers.config(), began, BuildHasherDefault::default());
        SrtPort { callers, listener, present: Present::default(), began, _done }
    }

    /// A datagram from somebody.
    pub fn handle(&mut self, at: Duration, peer: SocketAddr, datagram: &[u8]) {
        self.listener.handle_datagram(self.began + at, peer, datagram);
        self.take_events(at);
    }

    /// What is due is done.
    pub fn handle_timeout(&mut self, at: Duration) {
        self.listener.handle_timeout(self.began + at);
        self.take_events(at);
    }

    fn take_events(&mut self, at: Duration) {
        let SrtPort { callers, listener, present, began, .. } = self;
        while let Some(event) = listener.poll_event() {
            callers.handle(listener, present, event, *began + at);
        }
    }

    /// When something is due.
    pub fn poll_timeout(&self) -> Option<Duration> {
        Some(self.listener.poll_timeout()?.saturating_duration_since(self.began))
    }

    /// The next datagram to somebody.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.listener.poll_transmit()
    }

    /// Connections that are there.
    pub fn connections(&self) -> usize {
        self.listener.connections()
    }
}

/// A call of an encoder that listens.
pub struct SrtCall {
    call: Call,
    reader: TsReader,
    began: Instant,
}

impl SrtCall {
    /// A call with a passphrase, or without; `None` if it cannot be made.
    pub fn new(has_passphrase: bool) -> Option<Self> {
        let (done, _) = mpsc::channel(1);
        let (target, passphrase) = (ENCODER.parse().ok()?, passphrase(has_passphrase));
        let calling =
            Calling { target, hub: Hub::new(BUFFER), output: quiet(), done, passphrase, latency: LATENCY };
        let began = Instant::now();
        let call = Call::new(&calling, SocketAddr::from(([192, 0, 2, 1], 9000)), began).ok()?;
        Some(SrtCall { call, reader: TsReader::default(), began })
    }

    /// A datagram of the encoder.
    pub fn handle(&mut self, at: Duration, mut datagram: Vec<u8>) {
        self.call.handle(self.began + at, &mut datagram);
    }

    /// What is due is done.
    pub fn handle_timeout(&mut self, at: Duration) {
        self.call.handle_timeout(self.began + at);
    }

    /// When something is due.
    pub fn poll_timeout(&self) -> Option<Duration> {
        Some(self.call.poll_timeout()?.saturating_duration_since(self.began))
    }

    /// The next datagram to the encoder.
    pub fn poll_transmit(&mut self, at: Duration) -> Option<Vec<u8>> {
        self.call.poll_transmit(self.began + at)
    }

    /// Takes what came. Returns whether the call goes on, and whether it is connected.
    pub fn take(&mut self) -> (bool, bool) {
        let mut is_connected = false;
        while let Some(got) = self.call.poll() {
            match got {
                Got::Connected => is_connected = true,
                Got::Data(payload) => {
                    self.reader.push_datagram(&payload);
                    while self.reader.next_tag().is_some() {}
                }
                Got::Refused(why) => {
                    assert!(!why.is_empty());
                    return (false, is_connected);
                }
                Got::Ended(_) => {
                    self.reader.end();
                    return (false, is_connected);
                }
            }
        }
        (true, is_connected)
    }
}
