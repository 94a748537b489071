//! Congestion controllers, one file each.
