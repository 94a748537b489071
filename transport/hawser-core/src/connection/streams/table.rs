//! Where the state of streams is kept.

use hawser_policy::StreamId;
use rustc_hash::FxHashMap;
use slab::Slab;

use super::due::Due;
use super::key::Key;
use super::recv::RecvStream;
use super::send::SendStream;

/// A stream with state. A half that does not exist or has ended is `None`.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) id: StreamId,
    pub(super) send: Option<SendStream>,
    pub(super) recv: Option<RecvStream>,
    /// Control frames to be sent for it.
    pub(super) due: Due,
}

/// The streams with state.
#[derive(Debug, Default)]
pub(super) struct Table {
    streams: Slab<Stream>,
    slots: FxHashMap<StreamId, u32>,
    /// The stream found last: packets of one batch mostly concern one stream.
    last: Option<Key>,
}

impl Table {
    #[inline]
    pub(super) fn find(&mut self, id: StreamId) -> Option<Key> {
        if let Some(last) = self.last
            && last.id == id
        {
            return Some(last);
        }
        let key = self.find_ref(id)?;
        self.last = Some(key);
        Some(key)
    }

    pub(super) fn find_ref(&self, id: StreamId) -> Option<Key> {
        self.slots.get(&id).map(|&slot| Key { slot, id })
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&Stream> {
        self.streams.get(key.slot as usize).filter(|stream| stream.id == key.id)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Stream> {
        self.streams.get_mut(key.slot as usize).filter(|stream| stream.id == key.id)
    }

    #[inline]
    pub(super) fn send_mut(&mut self, key: Key) -> Option<&mut SendStream> {
        self.get_mut(key)?.send.as_mut()
    }

    #[inline]
    pub(super) fn recv_mut(&mut self, key: Key) -> Option<&mut RecvStream> {
        self.get_mut(key)?.recv.as_mut()
    }

    pub(super) fn insert(&mut self, stream: Stream) -> Key {
        let id = stream.id;
        // Bounded by the stream limits of both ends, far below 2^32 streams with state.
        let slot = self.streams.insert(stream) as u32;
        self.slots.insert(id, slot);
        Key { slot, id }
    }

    pub(super) fn remove(&mut self, key: Key) {
        if self.get(key).is_some() {
            self.streams.remove(key.slot as usize);
            self.slots.remove(&key.id);
        }
        if self.last == Some(key) {
            self.last = None;
        }
        if self.streams.is_empty() {
            // An idle connection gives its memory back; busy ones keep a few slots.
            if self.streams.capacity() > 64 {
                self.streams.shrink_to_fit();
                self.slots.shrink_to_fit();
            }
        }
    }

    pub(super) fn shrink(&mut self) {
        self.streams.shrink_to_fit();
        self.slots.shrink_to_fit();
    }

    /// All streams, in the order of their slots (which is the same in every run).
    pub(super) fn keys(&self) -> Vec<Key> {
        self.streams.iter().map(|(slot, stream)| Key { slot: slot as u32, id: stream.id }).collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Stream> {
        self.streams.iter().map(|(_, stream)| stream)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.streams.len()
    }

    /// Bytes of memory of the table itself.
    pub(super) fn memory(&self) -> usize {
        self.streams.capacity() * size_of::<Stream>() + self.slots.capacity() * size_of::<(StreamId, u32)>()
    }
}
