//! QUIC and multipath QUIC wire format: bytes to values and back.
