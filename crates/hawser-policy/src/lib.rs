//! The seam between the Hawser core and its policies.
