//! Sans-IO QUIC v1 and multipath QUIC endpoint and connections.
