//! What is measured, and what is made of it. Nothing here knows which experiment it serves.
//!
//! * [`table`] writes and reads columns of measurements: Parquet, JSON lines, CSV.
//! * [`statistics`] says what repeated runs tell: means, medians, differences, and how sure they are.
//! * [`record`] keeps what a simulation tells while it runs.
//! * [`sweep`] runs the cells of a plan on all cores, keeps what is done, and merges it.
//! * [`sim_report`] makes pages of sweeps and of single runs in the simulator.
//! * [`measure`] is what is recorded on links that come and go, how it is kept, and what it amounts to.
//! * [`wifi`] is what attempts to attach to WiFi amount to.
//! * [`trace`] measures and draws recorded links, and makes scenarios of them; `hawser-trace` reads them.

pub mod measure;
pub(crate) mod page;
pub mod record;
pub mod sim_report;
pub mod statistics;
pub mod sweep;
pub mod table;
pub mod trace;
pub mod wifi;
