//! Packets of the emulator, into the files that the simulator writes as well.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use hawser_emu::{PacketRecord, PacketRecorder, RouteName, Scenario};

use super::capture::Capture;
use super::cause_name;
use super::ip::udp_packet;
use super::packets::{PacketRow, PacketTable};
use crate::data::table::TableError;

/// Writes the emulator's records to a table, a capture, or both.
pub struct EmulatedPackets {
    scenario: Scenario,
    table: Option<PacketTable>,
    capture: Option<Capture>,
    /// Where packets without bytes are put together.
    packet: Vec<u8>,
    /// The first failure; what follows is not written.
    failure: Option<TableError>,
}

impl EmulatedPackets {
    /// Begins the files that are wanted.
    ///
    /// # Errors
    /// When one of them cannot be created, or the table's name does not say of which kind it is.
    pub fn create(
        scenario: &Scenario,
        table: Option<&Path>,
        capture: Option<&Path>,
    ) -> Result<Self, TableError> {
        Ok(EmulatedPackets {
            scenario: scenario.clone(),
            table: table.map(PacketTable::create).transpose()?,
            capture: capture.map(|path| Capture::create(path, scenario)).transpose()?,
            packet: Vec::new(),
            failure: None,
        })
    }

    /// Leaves packets out of the capture once it has this many bytes.
    pub fn limit_capture(&mut self, bytes: u64) {
        if let Some(capture) = &mut self.capture {
            capture.set_limit(bytes);
        }
    }

    /// Packets that the capture left out.
    pub fn left_out(&self) -> u64 {
        self.capture.as_ref().map_or(0, Capture::left_out)
    }

    /// Gives the files their names.
    ///
    /// # Errors
    /// The first failure of the whole recording.
    pub fn finish(self) -> Result<(), TableError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        self.table.map_or(Ok(()), PacketTable::finish)?;
        self.capture.map_or(Ok(()), Capture::finish)
    }

    fn add(&mut self, record: &PacketRecord) -> Result<(), TableError> {
        let scenario = &self.scenario;
        let link = record.route_name(scenario);
        let dropped = record.drop_name(scenario).map(|(link, cause)| (link, cause_name(cause)));
        if let Some(table) = &mut self.table {
            table.add(&PacketRow {
                sent_ns: record.sent,
                at_ns: record.at,
                delivered_ns: None,
                link,
                direction: record.direction,
                port: record.port,
                length: record.length,
                congestion_experienced: record.congestion_experienced,
                dropped,
            })?;
        }
        let Some(capture) = &mut self.capture else { return Ok(()) };
        let packet = match (record.packet(), record.route) {
            (Some(packet), _) => packet,
            (None, RouteName::Flow(flow)) => {
                background_packet(&mut self.packet, flow, record.port, record.length);
                &self.packet
            }
            (None, RouteName::Link(_)) => return Ok(()),
        };
        capture.add(record.at, link, record.direction, packet, dropped)
    }
}

/// A packet of the background as it would look: it exists by its length only.
fn background_packet(packet: &mut Vec<u8>, flow: usize, port: u16, length: u32) {
    let host = |last| SocketAddr::from((Ipv4Addr::new(10, 200, (flow % 256) as u8, last), port));
    udp_packet(packet, host(1), host(2), 0, &vec![0; (length as usize).saturating_sub(28)]);
}

impl PacketRecorder for EmulatedPackets {
    fn wants_bytes(&self) -> bool {
        self.capture.is_some()
    }

    fn packets(&mut self, records: &[PacketRecord]) {
        for record in records {
            if self.failure.is_some() {
                return;
            }
            self.failure = self.add(record).err();
        }
    }
}

#[cfg(test)]
mod tests {
    use hawser_emu::{Direction, DropCause};

    use super::*;

    const TEXT: &str = "version = 1\n[[link]]\nname = \"a0\"\nrate = \"9 Mbit/s\"\n[[flow]]\nname = \"noise\"\nkind = \"cbr\"\nrate = \"1 Mbit/s\"\n";

    #[test]
    fn records_become_rows_and_packets() {
        let scenario = Scenario::parse(TEXT, "test.toml", &mut |_| Err(String::new())).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let files = ["packets.jsonl", "packets.pcapng"].map(|name| folder.path().join(name));
        let mut packets = EmulatedPackets::create(&scenario, Some(&files[0]), Some(&files[1])).unwrap();
        assert!(packets.wants_bytes());
        let mut bytes = Vec::new();
        let host = |last| SocketAddr::from(([10, 0, 0, last], 4433));
        udp_packet(&mut bytes, host(1), host(2), 0, b"payload");
        let arrived = PacketRecord {
            sent: 5,
            at: 10,
            late: 3,
            route: RouteName::Link(0),
            direction: Direction::Up,
            port: 4433,
            length: 35,
            congestion_experienced: false,
            dropped: None,
            bytes: Some(bytes.clone().into()),
        };
        let dropped = PacketRecord {
            route: RouteName::Flow(0),
            direction: Direction::Down,
            dropped: Some((0, DropCause::Queue)),
            bytes: None,
            ..arrived.clone()
        };
        packets.packets(&[arrived, dropped]);
        packets.finish().unwrap();
        let rows = std::fs::read_to_string(&files[0]).unwrap();
        let rows: Vec<serde_json::Value> =
            rows.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        assert_eq!((rows.len(), &rows[0]["link"], &rows[0]["at_ns"]), (2, &"a0".into(), &10.into()));
        assert_eq!((&rows[1]["dropped_at"], &rows[1]["cause"]), (&"a0".into(), &"queue".into()));
        let capture = std::fs::read(&files[1]).unwrap();
        let holds = |wanted: &[u8]| capture.windows(wanted.len()).any(|window| window == wanted);
        assert!(holds(&bytes) && holds(b"noise down") && holds(b"dropped at a0: queue"));
    }
}
