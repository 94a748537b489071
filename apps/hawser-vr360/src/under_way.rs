//! Tiles on their way to one player.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tiles under way to one player; of what it asks for beyond that nothing is sent.
pub(super) const MAX_TILES: usize = 4096;
/// Bytes of them.
pub(super) const MAX_BYTES: usize = 64 << 20;

/// What is under way to one player. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct UnderWay(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// Chunk and tile.
    tiles: BTreeSet<(u32, u16)>,
    bytes: usize,
}

/// A tile under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    under_way: UnderWay,
    tile: (u32, u16),
    bytes: usize,
}

/// Why a tile is not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// It is under way already.
    Twice,
    /// There are as many tiles or bytes under way as there may be.
    Full,
}

impl UnderWay {
    /// A tile begins, with so many bytes.
    ///
    /// # Errors
    /// It does not.
    pub(super) fn begin(&self, chunk: u32, tile: u16, bytes: usize) -> Result<Place, Refused> {
        let mut inner = self.lock();
        let tile = (chunk, tile);
        if inner.tiles.contains(&tile) {
            return Err(Refused::Twice);
        }
        if inner.tiles.len() >= MAX_TILES || inner.bytes.saturating_add(bytes) > MAX_BYTES {
            return Err(Refused::Full);
        }
        inner.tiles.insert(tile);
        inner.bytes += bytes;
        Ok(Place { under_way: self.clone(), tile, bytes })
    }

    /// Tiles, and their bytes.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(super) fn held(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.tiles.len(), inner.bytes)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inner = self.under_way.lock();
        inner.tiles.remove(&self.tile);
        inner.bytes -= self.bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_and_bytes_under_way_are_bounded_and_no_tile_is_under_way_twice() {
        let under_way = UnderWay::default();
        let first = under_way.begin(3, 5, MAX_BYTES - 10).unwrap();
        assert_eq!(under_way.begin(3, 5, 1).unwrap_err(), Refused::Twice);
        assert_eq!(under_way.begin(3, 6, 11).unwrap_err(), Refused::Full);
        let _other = under_way.begin(4, 5, 10).unwrap();
        drop(first);
        let many: Vec<_> = (0..u16::MAX).map_while(|tile| under_way.begin(3, tile, 1).ok()).collect();
        assert_eq!(many.len(), MAX_TILES - 1);
        drop(many);
        assert_eq!(under_way.held(), (1, 10));
    }
}
