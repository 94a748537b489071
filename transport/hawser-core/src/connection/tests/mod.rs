//! Whole connections: what the parts make of it together. Scenarios over links are in `hawser-sim`; here one end is
//! made to misbehave, by packets that are forged with its own keys.

mod ack_frequency;
mod addresses;
mod balanced;
mod batches;
mod bounds;
mod builder;
mod copies;
mod dead_zone;
mod ecn;
mod efficiency;
mod ending;
mod forge;
mod frames;
mod handshaking;
mod key_updates;
mod messages;
mod outages;
mod pair;
mod planner;
mod policy_messages;
mod policy_sets;
mod preferred_address;
mod probing;
mod protection;
mod protection_hostile;
mod receive_times;
mod scheduling;
mod sent_packets;
mod silence;
mod strangers;
mod tls_alerts;
mod versions;
mod violations;
mod work;
mod zero_rtt;
