//! Packet schedulers, one file each.
