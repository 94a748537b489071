//! Rows of packets that wait for the delivery of their data.

use std::collections::BTreeMap;

use super::packets::{PacketRow, PacketTable};
use crate::data::table::TableError;

/// Writes each packet when everything is known of it: at its end, and when the data that it was the first to carry was
/// delivered. What waits is what is on its way or waits for something lost, so memory does not grow with the run.
pub(super) struct PacketRows {
    table: PacketTable,
    /// By label.
    waiting: BTreeMap<u64, Waiting>,
    /// Data delivered before the end of its packet, by label.
    early: BTreeMap<u64, Option<u64>>,
    /// Every name that a row has had.
    names: Vec<Box<str>>,
}

/// A row, with the places of its names.
struct Waiting {
    row: PacketRow<'static>,
    link: usize,
    dropped_at: Option<usize>,
}

impl PacketRows {
    /// Into this table.
    pub(super) fn new(table: PacketTable) -> Self {
        PacketRows { table, waiting: BTreeMap::new(), early: BTreeMap::new(), names: Vec::new() }
    }

    /// A packet is at the end of its way; with a label when its data is [`settled`](Self::settled) some time.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&mut self, row: &PacketRow<'_>, label: Option<u64>) -> Result<(), TableError> {
        let Some(label) = label else { return self.table.add(row) };
        if let Some(delivered_ns) = self.early.remove(&label) {
            return self.table.add(&PacketRow { delivered_ns, ..*row });
        }
        let link = self.place(row.link);
        let dropped_at = row.dropped.map(|(link, _)| self.place(link));
        let dropped = row.dropped.map(|(_, cause)| ("", cause));
        self.waiting
            .insert(label, Waiting { row: PacketRow { link: "", dropped, ..*row }, link, dropped_at });
        Ok(())
    }

    /// The data that a packet was the first to carry was delivered, or never will be.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn settled(&mut self, label: u64, delivered_ns: Option<u64>) -> Result<(), TableError> {
        match self.waiting.remove(&label) {
            Some(waiting) => self.write(&waiting, delivered_ns),
            None => {
                self.early.insert(label, delivered_ns);
                Ok(())
            }
        }
    }

    /// Writes what still waits and gives the file its name.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn finish(mut self) -> Result<(), TableError> {
        for waiting in std::mem::take(&mut self.waiting).into_values() {
            self.write(&waiting, None)?;
        }
        self.table.finish()
    }

    fn write(&mut self, waiting: &Waiting, delivered_ns: Option<u64>) -> Result<(), TableError> {
        let name = |place: usize| &*self.names[place];
        let dropped = waiting.row.dropped.zip(waiting.dropped_at).map(|((_, cause), at)| (name(at), cause));
        self.table.add(&PacketRow { link: name(waiting.link), dropped, delivered_ns, ..waiting.row })
    }

    fn place(&mut self, name: &str) -> usize {
        self.names.iter().position(|known| **known == *name).unwrap_or_else(|| {
            self.names.push(name.into());
            self.names.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use hawser_scenario::Direction;

    use super::*;

    #[test]
    fn rows_are_written_when_all_is_known() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("packets.jsonl");
        let mut rows = PacketRows::new(PacketTable::create(&file).unwrap());
        let row = |at_ns, dropped| PacketRow {
            sent_ns: 1,
            at_ns,
            delivered_ns: None,
            link: "a0",
            direction: Direction::Up,
            port: 9,
            length: 100,
            congestion_experienced: false,
            dropped,
        };
        rows.add(&row(10, Some(("b0", "queue"))), Some(1)).unwrap();
        rows.add(&row(11, None), None).unwrap();
        rows.add(&row(12, None), Some(2)).unwrap();
        rows.add(&row(13, None), Some(3)).unwrap();
        rows.settled(4, Some(14)).unwrap();
        rows.settled(1, Some(15)).unwrap();
        rows.add(&row(16, None), Some(4)).unwrap();
        rows.settled(2, None).unwrap();
        rows.finish().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let rows: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let seen: Vec<_> =
            rows.iter().map(|row| (row["at_ns"].as_u64(), row["delivered_ns"].as_u64())).collect();
        let expected = [(11, None), (10, Some(15)), (16, Some(14)), (12, None), (13, None)];
        assert_eq!(seen, expected.map(|(at, delivered)| (Some(at), delivered)));
        assert_eq!(
            (&rows[1]["link"], &rows[1]["dropped_at"], &rows[1]["cause"]),
            (&"a0".into(), &"b0".into(), &"queue".into())
        );
    }
}
