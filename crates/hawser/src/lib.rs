//! Multipath QUIC for hosts on the move: library and command.
