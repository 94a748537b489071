//! DATAGRAM frames (RFC 9221).
