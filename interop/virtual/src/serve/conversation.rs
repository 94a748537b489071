//! What a client asks on one connection, and what comes of it.

use std::collections::BTreeMap;

use hawser_policy::Time;
use hawser_sim::pattern_bytes;
use hawser_sim::run::{DatagramPacer, Meter, REQUEST_LENGTH, Request, sent_at};

use super::{Happened, ServingStack};
use crate::{ByteStream, Piece};

/// One connection, as its application sees it.
#[derive(Default)]
pub(super) struct Conversation {
    streams: BTreeMap<u64, Stream>,
    pub(super) pacer: Option<DatagramPacer>,
    /// Whether anything was asked: only one connection of a session is, the others lost the race.
    pub(super) was_asked: bool,
}

enum Stream {
    /// Its request is not complete.
    Asking { bytes: [u8; REQUEST_LENGTH], filled: usize },
    /// Its client sends, and we answer with so much when it has ended.
    Listening { offset: u64, answer: Option<u64> },
    /// We send.
    Answering { offset: u64, length: u64 },
}

impl Conversation {
    /// Does what is to be done after an event.
    pub(super) fn on_event(
        &mut self,
        now: Time,
        happened: Happened,
        stack: &mut dyn ServingStack,
        connection: usize,
        meter: &mut Meter,
    ) {
        match happened {
            Happened::Opened(id) => {
                self.was_asked = true;
                self.streams.insert(id, Stream::Asking { bytes: [0; REQUEST_LENGTH], filled: 0 });
                self.drive(now, id, stack, connection, meter);
            }
            Happened::Readable(id) | Happened::Writable(id) => self.drive(now, id, stack, connection, meter),
            Happened::Stopped(id) => {
                self.streams.remove(&id);
                stack.reset(connection, id);
            }
            Happened::Datagram(datagram) => {
                meter.arrived(now, datagram.len() as u64);
                meter.completed += 1;
                if let Some(sent) = sent_at(&datagram) {
                    meter.delays.record(now.since(sent), 1);
                }
            }
        }
        self.send_due(now, stack, connection);
    }

    /// Sends the datagrams that are due.
    pub(super) fn send_due(&mut self, now: Time, stack: &mut dyn ServingStack, connection: usize) {
        let Some(pacer) = &mut self.pacer else { return };
        let most = stack.datagram_limit(connection).unwrap_or(0);
        while let Some(datagram) = pacer.next_due(now, most) {
            stack.send_datagram(connection, datagram);
        }
    }

    /// Reads and writes what a stream has and takes; what the stack refuses ends it, as with our own server.
    fn drive(
        &mut self,
        now: Time,
        id: u64,
        stack: &mut dyn ServingStack,
        connection: usize,
        meter: &mut Meter,
    ) {
        let Some(mut bytes) = stack.stream(connection, id) else { return };
        let read = self.read(now, id, bytes.as_mut(), meter);
        if read.and_then(|()| self.write(id, bytes.as_mut())).is_err() {
            self.streams.remove(&id);
        }
    }

    fn read(
        &mut self,
        now: Time,
        id: u64,
        stream: &mut dyn ByteStream,
        meter: &mut Meter,
    ) -> Result<(), String> {
        while let Some(Stream::Asking { .. } | Stream::Listening { .. }) = self.streams.get(&id) {
            match stream.read()? {
                Piece::Data(data) => self.take(now, id, &data, meter),
                Piece::End => self.ended(id, meter),
                Piece::Blocked => break,
            }
        }
        Ok(())
    }

    /// Takes the next bytes of a stream.
    fn take(&mut self, now: Time, id: u64, mut data: &[u8], meter: &mut Meter) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        if let Stream::Asking { bytes, filled } = stream {
            let (request, rest) = data.split_at(data.len().min(REQUEST_LENGTH - *filled));
            bytes[*filled..*filled + request.len()].copy_from_slice(request);
            *filled += request.len();
            data = rest;
            if *filled < REQUEST_LENGTH {
                return;
            }
            match Request::decode(bytes) {
                Some(Request::Serve { length }) => {
                    *stream = Stream::Listening { offset: 0, answer: Some(length) };
                }
                Some(Request::Receive) => *stream = Stream::Listening { offset: 0, answer: None },
                Some(Request::Datagrams { size, rate }) => {
                    self.pacer.get_or_insert_with(|| DatagramPacer::new(now, size, rate));
                    self.streams.remove(&id);
                    return;
                }
                // Applications are refused before anything runs.
                Some(Request::Application) | None => {
                    self.streams.remove(&id);
                    return;
                }
            }
        }
        if let Stream::Listening { offset, .. } = stream
            && !data.is_empty()
        {
            meter.arrived_pattern(now, *offset, data);
            *offset += data.len() as u64;
        }
    }

    /// The client has sent everything.
    fn ended(&mut self, id: u64, meter: &mut Meter) {
        match self.streams.get_mut(&id) {
            Some(stream @ Stream::Listening { .. }) => {
                let Stream::Listening { answer, .. } = *stream else { return };
                meter.completed += u64::from(answer.is_none());
                *stream = Stream::Answering { offset: 0, length: answer.unwrap_or(0) };
            }
            _ => {
                self.streams.remove(&id);
            }
        }
    }

    fn write(&mut self, id: u64, stream: &mut dyn ByteStream) -> Result<(), String> {
        let Some(Stream::Answering { offset, length }) = self.streams.get_mut(&id) else { return Ok(()) };
        while *offset < *length {
            match stream.write(&pattern_bytes(*offset, *length - *offset))? {
                0 => return Ok(()),
                written => *offset += written as u64,
            }
        }
        self.streams.remove(&id);
        stream.finish()
    }
}
