//! What is asked of policy sets whose parts know of each other (`hawser_sim::sets`): what the seam is for.

use super::ITEM;
use crate::experiments::verify::constant::Bound::{AtLeast, AtMost};
use crate::experiments::verify::constant::Value::{Largest, Smallest, Sum};
use crate::experiments::verify::constant::{Item, claim, ours};

pub(super) const ITEMS: &[Item] = &[
    Item {
        id: "set-shares-state",
        statement: "Controllers share a budget: what one path gives up goes to the other, at once and to the byte",
        threshold: "windows <= 200 kB together; >= 85 % of what they allow, also over the path that is left; >= 75 % with loss",
        claims: &[
            claim(Largest(ours("set-shares-state", "largest_sum_of_windows_kB")), AtMost(200.0)),
            claim(Smallest(ours("set-shares-state", "share_of_the_budget")), AtLeast(0.85)),
            claim(Smallest(ours("set-shares-state", "share_of_the_budget_with_loss")), AtLeast(0.75)),
            claim(Smallest(ours("set-shares-state", "share_of_the_budget_on_one_path")), AtLeast(0.85)),
            claim(Sum(ours("set-shares-state", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "set-steers-the-sender",
        statement: "Messages steer the sender: it leaves a path that begins to lose packets, and without messages does not",
        threshold: "<= 10 kB on that path from 0.8 s after the loss begins; >= 100 kB without messages",
        claims: &[
            claim(Largest(ours("set-steers-the-sender", "afterwards_kB")), AtMost(10.0)),
            claim(Smallest(ours("set-steers-the-sender", "afterwards_without_messages_kB")), AtLeast(100.0)),
            claim(Sum(ours("set-steers-the-sender", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
    Item {
        id: "set-leaves-exact-gaps",
        statement: "Frames that would be late are left out as a whole; the reader sees gaps where they were, to the byte",
        threshold: "gaps = what was discarded; no frame in part; complete frames within 400 ms",
        claims: &[
            claim(Sum(ours("set-leaves-exact-gaps", "gaps_that_are_not_what_was_discarded")), AtMost(0.0)),
            claim(Sum(ours("set-leaves-exact-gaps", "frames_in_part")), AtMost(0.0)),
            claim(Largest(ours("set-leaves-exact-gaps", "oldest_complete_frame_ms")), AtMost(400.0)),
            claim(Smallest(ours("set-leaves-exact-gaps", "complete_frames")), AtLeast(150.0)),
            claim(Sum(ours("set-leaves-exact-gaps", "unmet_bounds")), AtMost(0.0)),
        ],
        ..ITEM
    },
];
