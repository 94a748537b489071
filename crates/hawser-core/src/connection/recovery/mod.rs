//! Loss recovery of one path (RFC 9002).
