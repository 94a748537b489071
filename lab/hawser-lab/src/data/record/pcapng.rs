//! Packet captures in pcapng (draft-ietf-opsawg-pcapng), written as they come.
//!
//! ```text
//!  Section Header | Interface Description * | Enhanced Packet, Enhanced Packet, ...
//! ```
//!
//! Every packet begins with its IP header (LINKTYPE_RAW) and carries a time in nanoseconds. Interfaces stand for the
//! directions of links; they may be added at any time before their first packet. Analysers show what was dropped by
//! its comment.

use std::io::{self, Write};

/// Packets that begin with an IPv4 or IPv6 header; the version tells which (LINKTYPE registry).
const LINKTYPE_RAW: u16 = 101;

/// Types of blocks: sections 4.1, 4.2 and 4.3 of the draft.
const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Tells readers the order of our bytes.
const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;

/// Options: section 3.5 for the first two, then those of each block.
const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_DESCRIPTION_TEXT: u16 = 3;
const INTERFACE_TIME_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;

/// Ten to the minus ninth of a second.
const NANOSECONDS: u8 = 9;
/// In [`PACKET_FLAGS`]: the packet was received, as seen from the interface.
const INBOUND: u32 = 0b01;

/// Bytes of a block around its body: type, and length at either end.
const FRAME: usize = 12;

/// Names an interface of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InterfaceId(u32);

/// Writes a capture.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    output: W,
    interfaces: u32,
    /// The block being put together.
    block: Vec<u8>,
    /// Bytes so far.
    written: u64,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a capture; `application` is the name of the program that makes it.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn new(output: W, application: &str) -> io::Result<Self> {
        let mut writer = PcapngWriter { output, interfaces: 0, block: Vec::new(), written: 0 };
        writer.word(BYTE_ORDER_MAGIC);
        // Version 1.0, and a section whose length is not known in advance.
        writer.half(1);
        writer.half(0);
        writer.block.extend((-1i64).to_ne_bytes());
        writer.option(SECTION_APPLICATION, application.as_bytes());
        writer.option(END_OF_OPTIONS, &[]);
        writer.finish_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Adds an interface.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn add_interface(&mut self, name: &str, description: &str) -> io::Result<InterfaceId> {
        self.half(LINKTYPE_RAW);
        self.half(0);
        // No limit on the length of packets.
        self.word(0);
        self.option(INTERFACE_NAME, name.as_bytes());
        self.option(INTERFACE_DESCRIPTION_TEXT, description.as_bytes());
        self.option(INTERFACE_TIME_RESOLUTION, &[NANOSECONDS]);
        self.option(END_OF_OPTIONS, &[]);
        self.finish_block(INTERFACE_DESCRIPTION)?;
        self.interfaces += 1;
        Ok(InterfaceId(self.interfaces - 1))
    }

    /// Adds an IP packet that the far end of an interface's link received at `time_ns`. `length` is what it had on the
    /// link, if only its beginning is given. A packet with a comment stands out: say there why it was dropped.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn packet(
        &mut self,
        time_ns: u64,
        interface: InterfaceId,
        bytes: &[u8],
        length: u32,
        comment: Option<&str>,
    ) -> io::Result<()> {
        self.word(interface.0);
        self.word((time_ns >> 32) as u32);
        self.word(time_ns as u32);
        let captured = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.word(captured);
        self.word(length.max(captured));
        self.padded(bytes);
        self.option(PACKET_FLAGS, &INBOUND.to_ne_bytes());
        if let Some(comment) = comment {
            self.option(COMMENT, comment.as_bytes());
        }
        self.option(END_OF_OPTIONS, &[]);
        self.finish_block(ENHANCED_PACKET)
    }

    /// Bytes written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Hands the output back; nothing is left to be written.
    pub fn into_inner(self) -> W {
        self.output
    }

    /// Writes the block with its type and, at either end, its length.
    fn finish_block(&mut self, kind: u32) -> io::Result<()> {
        let length = u32::try_from(self.block.len() + FRAME).map_err(io::Error::other)?;
        self.written += u64::from(length);
        let length = length.to_ne_bytes();
        self.output.write_all(&kind.to_ne_bytes())?;
        self.output.write_all(&length)?;
        self.output.write_all(&self.block)?;
        self.output.write_all(&length)?;
        self.block.clear();
        Ok(())
    }

    fn word(&mut self, value: u32) {
        self.block.extend(value.to_ne_bytes());
    }

    fn half(&mut self, value: u16) {
        self.block.extend(value.to_ne_bytes());
    }

    /// A value that is cut where its length no longer fits.
    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.half(code);
        self.half(value.len() as u16);
        self.padded(value);
    }

    /// Everything begins at multiples of four bytes.
    fn padded(&mut self, bytes: &[u8]) {
        self.block.extend(bytes);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests;
