//! A capture of what the links of a scenario carried, from the simulator and from the emulator alike.
//!
//! There is one interface for each direction of each access link, and one for each UDP flow of the scenario. A packet
//! has the time at which it arrived at the end of its route; one that was dropped has the time of that, and a comment.

use std::path::Path;

use hawser_scenario::{Direction, FlowKind, Scenario};

use super::pcapng::{InterfaceId, PcapngWriter};
use crate::data::table::{PartialFile, TableError};

/// Writes a capture to a file, which gets its name when it is complete.
pub struct Capture {
    writer: PcapngWriter<PartialFile>,
    path: std::path::PathBuf,
    interfaces: Vec<(String, Direction, InterfaceId)>,
    /// No packet begins beyond so many bytes.
    limit: u64,
    left_out: u64,
}

impl Capture {
    /// Begins a capture of the links of a scenario.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn create(path: &Path, scenario: &Scenario) -> Result<Self, TableError> {
        let failed = |error| TableError::write(path, error);
        let writer = PcapngWriter::new(PartialFile::create(path)?, "hawser").map_err(failed)?;
        let mut capture =
            Capture { writer, path: path.to_owned(), interfaces: Vec::new(), limit: u64::MAX, left_out: 0 };
        for link in &scenario.links {
            for direction in Direction::BOTH {
                capture.add_interface(&link.name, direction)?;
            }
        }
        for flow in &scenario.flows {
            if let FlowKind::Udp { direction, .. } = flow.kind {
                capture.add_interface(&flow.name, direction)?;
            }
        }
        Ok(capture)
    }

    /// Leaves out packets once the file has this many bytes.
    pub fn set_limit(&mut self, bytes: u64) {
        self.limit = bytes;
    }

    /// Packets that are not in the file for want of room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn add_interface(&mut self, name: &str, direction: Direction) -> Result<(), TableError> {
        let label = format!("{name} {}", direction.name());
        let added = self.writer.add_interface(&label, "receiving end");
        let id = added.map_err(|error| TableError::write(&self.path, error))?;
        self.interfaces.push((name.to_owned(), direction, id));
        Ok(())
    }

    /// Adds an IP packet that ended its way over `route` at `at_ns`: it arrived there, or was dropped at a link or
    /// segment for a cause. Packets of routes that the scenario does not have are left out.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn add(
        &mut self,
        at_ns: u64,
        route: &str,
        direction: Direction,
        packet: &[u8],
        dropped: Option<(&str, &str)>,
    ) -> Result<(), TableError> {
        let is_it = |entry: &&(String, Direction, InterfaceId)| entry.0 == route && entry.1 == direction;
        let Some(&(.., interface)) = self.interfaces.iter().find(is_it) else { return Ok(()) };
        if self.writer.written() >= self.limit {
            self.left_out += 1;
            return Ok(());
        }
        let comment = dropped.map(|(link, cause)| format!("dropped at {link}: {cause}"));
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        let written = self.writer.packet(at_ns, interface, packet, length, comment.as_deref());
        written.map_err(|error| TableError::write(&self.path, error))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn finish(self) -> Result<(), TableError> {
        self.writer.into_inner().complete().map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "version = 1\n[[link]]\nname = \"a0\"\nrate = \"9 Mbit/s\"\n";

    #[test]
    fn a_capture_ends_at_its_limit_and_counts_what_it_leaves_out() {
        let scenario = Scenario::parse(TEXT, "test.toml", &mut |_| Err(String::new())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.pcapng");
        let mut capture = Capture::create(&path, &scenario).unwrap();
        capture.set_limit(10_000);
        for at in 0..100 {
            capture.add(at, "a0", Direction::Up, &[0x45; 1_000], None).unwrap();
        }
        let left_out = capture.left_out();
        capture.finish().unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        assert!((90..=92).contains(&left_out) && (10_000..11_100).contains(&length), "{left_out}, {length}");
    }
}
