use crate::{Profile, RadioError};

/// Something that yields the profiles of links which belong together: what they share (motion, weather, a satellite)
/// is drawn once, so that they are correlated as they should be.
pub trait Scene {
    /// How many links it has.
    fn links(&self) -> usize;

    /// The profiles of all links from 0 to `duration_ns`. The same arguments give the same profiles, bit by bit, on
    /// every machine.
    ///
    /// # Errors
    ///
    /// A parameter is impossible, a text malformed, or nothing can be received.
    fn profiles(&self, duration_ns: u64, seed: u64) -> Result<Vec<Profile>, RadioError>;

    /// The first link alone, for scenes that have one.
    ///
    /// # Errors
    ///
    /// As [`Scene::profiles`].
    fn profile(&self, duration_ns: u64, seed: u64) -> Result<Profile, RadioError> {
        Ok(self.profiles(duration_ns, seed)?.into_iter().next().unwrap_or_default())
    }
}
