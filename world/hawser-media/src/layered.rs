//! `layered`: scalable video in a base layer and two enhancement layers, the application of QC-MAB (W. Yang 2024, section
//! 4.5.1).
//!
//! A frame is released in each period and shown one period later; what is not there by then is of no use, and given up. Each
//! layer of a frame is a stream of its own: a header ([`wire`], reliable) and a body until its deadline. The base layer is sent
//! first. The receiver chooses the representation of each segment by what it gets ([`Receiver`]).
//!
//! The film is a synthetic stand-in for *Sintel*: the rates of its eight representations, and sizes of segments with the
//! variation of the real ones ([`Film`]).

mod film;
mod measures;
mod receiver;
mod sender;
pub mod wire;

use std::time::Duration;

use hawser_policy::{ParameterInfo, Parameters};

use crate::Application;

pub use film::{Film, LAYERS, RATES, SEGMENT};
pub use receiver::Receiver;
pub use sender::Sender;

/// Length of the film: 84 segments.
const LENGTH: Duration = Duration::from_secs(336);
/// From frame to frame, and from release to display.
const PERIOD: Duration = Duration::from_millis(150);

/// What can be set.
pub(crate) fn parameters() -> Vec<ParameterInfo> {
    let hour = Duration::from_secs(3600);
    vec![
        ParameterInfo::duration("length", SEGMENT..=hour, LENGTH).meaning("of the film"),
        ParameterInfo::duration("period", Duration::from_millis(10)..=Duration::from_secs(4), PERIOD)
            .meaning("from frame to frame, and from the release of a frame to its display")
            .source("W. Yang 2024, section 4.5.1"),
        ParameterInfo::integer("representation", 0..=RATES.len() as u64, 0)
            .meaning("1 to 8: always this one; 0: by what arrives, from the third on"),
        ParameterInfo::integer("packet", 100..=65_000, 1_200)
            .unit("bytes")
            .meaning("of a layer that count as a packet"),
    ]
}

/// What both ends have to agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// Frames of the film.
    pub frames: u32,
    /// From frame to frame, and from release to display.
    pub period: Duration,
    /// Bytes of a layer that count as a packet.
    pub packet: u64,
    /// The only representation, 1 to 8; 0 if the receiver chooses.
    pub representation: u8,
}

impl Format {
    fn read(parameters: &Parameters) -> Self {
        let period = parameters.duration("period");
        let frames = parameters.duration("length").as_nanos() / period.as_nanos().max(1);
        Format {
            frames: u32::try_from(frames).unwrap_or(u32::MAX),
            period,
            packet: parameters.integer("packet"),
            representation: parameters.integer("representation") as u8,
        }
    }

    /// Packets of a layer of so many bytes.
    pub fn packets(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.packet.max(1))
    }

    /// The segment in which a frame begins.
    fn segment_of(&self, frame: u32) -> u32 {
        let start = self.period.as_nanos() * u128::from(frame);
        u32::try_from(start / SEGMENT.as_nanos()).unwrap_or(u32::MAX)
    }
}

/// The end that sends.
pub(crate) fn sender(parameters: &Parameters, seed: u64) -> Box<dyn Application> {
    let format = Format::read(parameters);
    Box::new(Sender::new(format, Film::synthetic(format.segment_of(format.frames) as usize + 1, seed)))
}

/// The end that shows.
pub(crate) fn receiver(parameters: &Parameters) -> Box<dyn Application> {
    Box::new(Receiver::new(Format::read(parameters)))
}

#[cfg(test)]
mod tests;
