//! TUN devices.
//!
//! With offload the kernel hands over TCP segments of up to 64 KiB whose checksums are not complete, each behind a header that says
//! so (`struct virtio_net_hdr`), and takes such segments back. Packets that leave the machine are completed here first.

use std::io;

use hawser_masque::packet::{self, MAX_PACKET};
use tun_rs::{AsyncDevice, DeviceBuilder, VirtioNetHdr, gso_split};

/// Bytes before each packet of a device with offload.
pub(crate) const HEADER: usize = tun_rs::VIRTIO_NET_HDR_LEN;
/// Most bytes that are read at once.
pub(crate) const MAX_FRAME: usize = HEADER + MAX_PACKET;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is that of the pseudo-header so far.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_NONE`: one packet. Others are payloads of one size, one behind the other, of UDP or TCP.
const WHOLE: u8 = 0;
/// `VIRTIO_NET_HDR_GSO_ECN`, a flag of the type.
const ECN_FLAG: u8 = 0x80;
/// Most payloads in such a frame (`UDP_MAX_SEGMENTS`; of TCP there are fewer, of what a datagram has room for).
const MAX_SEGMENTS: usize = 128;

/// Why there is no TUN device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The kernel allows none.
    #[error("cannot make the TUN device {name}: {source}; it needs root or CAP_NET_ADMIN")]
    Forbidden {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// One of that name is there.
    #[error(
        "cannot make the TUN device {name}: {source}; another program may have one of that name (--device)"
    )]
    Busy {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// Something else.
    #[error("cannot make the TUN device {name}: {source}")]
    Other {
        /// Its name.
        name: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// A TUN device, which goes when this is dropped, or the process ends.
pub(crate) struct Tun {
    inner: AsyncDevice,
}

impl Tun {
    /// Makes it, down and without addresses. Must be called inside a tokio runtime.
    pub(crate) fn create(name: &str, offload: bool) -> Result<Self, DeviceError> {
        let made = DeviceBuilder::new().name(name).offload(offload).enable(false).build_async();
        let inner = made.map_err(|source| {
            let name = name.to_owned();
            match source.raw_os_error().map(nix::errno::Errno::from_raw) {
                Some(nix::errno::Errno::EPERM | nix::errno::Errno::EACCES) => {
                    DeviceError::Forbidden { name, source }
                }
                Some(nix::errno::Errno::EBUSY) => DeviceError::Busy { name, source },
                _ => DeviceError::Other { name, source },
            }
        })?;
        Ok(Tun { inner })
    }

    /// The next frame.
    pub(crate) async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.inner.recv(buffer).await
    }

    /// Hands a frame to the kernel. One that it has no room for, or does not like, is lost as any packet may be.
    pub(crate) fn send(&self, frame: &[u8]) {
        if let Err(error) = self.inner.try_send(frame) {
            tracing::debug!(%error, length = frame.len(), "the kernel did not take a packet");
        }
    }
}

/// What a frame of a device with offload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    flags: u8,
    kind: u8,
    start: u16,
    offset: u16,
}

impl FrameHeader {
    /// Reads it; `None` of a frame that is too short.
    pub(crate) fn read(frame: &[u8]) -> Option<Self> {
        let [flags, kind, _, _, _, _, s1, s2, o1, o2] = *frame.first_chunk::<HEADER>()?;
        Some(FrameHeader {
            flags,
            kind: kind & !ECN_FLAG,
            start: u16::from_ne_bytes([s1, s2]),
            offset: u16::from_ne_bytes([o1, o2]),
        })
    }

    /// Whether the checksum of the transport protocol is that of the pseudo-header so far.
    pub(crate) fn is_partial(self) -> bool {
        self.flags & NEEDS_CHECKSUM != 0
    }
}

/// Calls `each` for every packet in a frame, its checksum complete.
pub(crate) fn complete(frame: &mut [u8], mut each: impl FnMut(&[u8])) {
    let Some(header) = FrameHeader::read(frame) else { return };
    if header.kind != WHOLE {
        return split(frame, each);
    }
    let Some(packet) = frame.get_mut(HEADER..) else { return };
    if header.is_partial() {
        packet::complete_checksum(packet, header.start.into(), header.offset.into());
    }
    each(packet);
}

/// Payloads that a program handed over at once.
fn split(frame: &mut [u8], mut each: impl FnMut(&[u8])) {
    let Ok(header) = VirtioNetHdr::decode(frame) else { return };
    let Some(input) = frame.get_mut(HEADER..) else { return };
    let is_v6 = input.first().is_some_and(|first| first >> 4 == 6);
    let size = usize::from(header.hdr_len) + usize::from(header.gso_size);
    let mut packets = vec![vec![0; size]; MAX_SEGMENTS];
    let mut sizes = vec![0; MAX_SEGMENTS];
    match gso_split(input, header, &mut packets, &mut sizes, 0, is_v6) {
        Ok(count) => {
            for (packet, size) in packets.iter().zip(sizes).take(count) {
                each(packet.get(..size).unwrap_or_default());
            }
        }
        Err(error) => tracing::debug!(%error, "a frame of payloads was dropped"),
    }
}
