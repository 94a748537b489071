//! The agents that come with the crate; `make train` makes them.

/// A trained agent.
pub(super) struct Shipped {
    pub(super) name: &'static str,
    pub(super) manifest: &'static str,
    pub(super) weights: &'static [u8],
    pub(super) curve: &'static str,
}

macro_rules! shipped {
    ($($name:literal: $file:literal,)*) => {
        &[$(Shipped {
            name: $name,
            manifest: include_str!(concat!("../../weights/", $file, ".json")),
            weights: include_bytes!(concat!("../../weights/", $file, ".f32")),
            curve: include_str!(concat!("../../weights/", $file, "-curve.csv")),
        }),*]
    };
}

pub(super) const SHIPPED: &[Shipped] = shipped![
    "ride": "episodic",
    "ride-2": "episodic-2",
    "ride-3": "episodic-3",
    "ride-4": "episodic-4",
    "ride-5": "episodic-5",
    "ride-e2-1": "continuous-1",
    "ride-e2-2": "continuous-2",
    "ride-e2-3": "continuous-3",
    "ride-e2-4": "continuous-4",
    "ride-e2-5": "continuous-5",
    "ride-no-deadline-1": "no-deadline-1",
    "ride-no-deadline-2": "no-deadline-2",
    "ride-no-deadline-3": "no-deadline-3",
    "ride-no-deadline-4": "no-deadline-4",
    "ride-no-deadline-5": "no-deadline-5",
    "ride-no-size-1": "no-size-1",
    "ride-no-size-2": "no-size-2",
    "ride-no-size-3": "no-size-3",
    "ride-no-size-4": "no-size-4",
    "ride-no-size-5": "no-size-5",
    "ride-no-helper-1": "no-helper-1",
    "ride-no-helper-2": "no-helper-2",
    "ride-no-helper-3": "no-helper-3",
    "ride-no-helper-4": "no-helper-4",
    "ride-no-helper-5": "no-helper-5",
];

pub(super) const fn names() -> [&'static str; SHIPPED.len()] {
    let mut names = [""; SHIPPED.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SHIPPED[at].name;
        at += 1;
    }
    names
}
