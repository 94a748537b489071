//! The list of X-Fi and X-Perf (F. Yang, thesis, Sorbonne Université and UCAS 2022, chapter 3; `docs/measure.md`): the generator
//! of encounters, attachment, the tool; sessions over the generator's links on the real transport, and WiFi that comes and goes beside
//! a cellular link, in the simulator and on real sockets.

mod addresses;
mod attachment;
mod beside;
mod beside_items;
mod calibration;
mod generator;
mod items;
mod session;
mod sockets;
mod tool;
mod transport;
mod transport_items;

use super::verify::constant::{List, Policy, Seeds, System, program};

pub use calibration::{Calibration, Sessions};

const OURS: &[Policy] = &[Policy::System];

/// Five drives have more than the 20,000 associations of a city that the sheet asks for.
const DRIVES: Seeds = Seeds { default: 5, full: 20 };

/// The list.
pub const LIST: List = List {
    name: "xfi",
    title: "X-Fi and X-Perf: WiFi encounters from a car, and the tool that measures them",
    source: "F. Yang, thesis, Sorbonne Université and UCAS 2022, chapter 3",
    system: System { key: "encounters.tool", policy: "hawser-measure" },
    runs: &[
        program("drives", generator::drives, &[], OURS, DRIVES),
        program("correlations", generator::correlations, &[], OURS, DRIVES),
        program("same-seed", generator::same_seed, &[], OURS, Seeds { default: 2, full: 5 }),
        program("clients", attachment::clients, &[], OURS, DRIVES),
        program("phases", attachment::phases, &[], OURS, DRIVES),
        program("addresses", addresses::keeping, &[], OURS, DRIVES),
        program("sessions-paris", transport::city, &[session::SCENARIO], OURS, DRIVES),
        program("sessions-bologna", transport::city, &[session::SCENARIO], OURS, DRIVES),
        program("sessions-los-angeles", transport::city, &[session::SCENARIO], OURS, DRIVES),
        program("sessions-macao-rate17", transport::city, &[session::SCENARIO], OURS, DRIVES),
        program("bands", transport::bands, &[session::SCENARIO], OURS, DRIVES),
        program("controllers", transport::controllers, &[session::SCENARIO], OURS, DRIVES),
        program("arrivals", beside::arrivals, &[beside::ARRIVAL], OURS, DRIVES),
        program("departures", beside::departures, beside::DRIVES, OURS, DRIVES),
        program("modes", beside::modes, beside::DRIVES, OURS, DRIVES),
        program("sockets", sockets::beside, &[beside::ARRIVAL], OURS, Seeds::ONCE),
        program("draws", tool::draws, &[], OURS, DRIVES),
        program("links", tool::links, &[], OURS, Seeds::ONCE),
    ],
    items: &[
        items::GENERATOR,
        items::ATTACHMENT,
        items::CORRELATIONS,
        transport_items::ITEMS,
        transport_items::ADDRESSES,
        items::TOOL,
        beside_items::ITEMS,
    ],
    figures: &[],
};

#[cfg(test)]
mod tests;
