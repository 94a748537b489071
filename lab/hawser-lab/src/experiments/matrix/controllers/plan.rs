//! The grid as it stands in a file: bottlenecks, buffers, losses, and who shares the bottleneck.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;

use crate::experiments::ExperimentError;
use crate::experiments::plans::{doubled, read_plan};

/// The grid that comes with the program, and where it stands.
const SHIPPED: (&str, &str) =
    ("lab/matrices/controllers.toml", include_str!("../../../../matrices/controllers.toml"));

/// A grid.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Buffers of the bottleneck, in bandwidth-delay products, the smallest first.
    pub buffers: Vec<f64>,
    /// Random loss on the access links, in addition to that of the link itself; 0 to 1, the least first.
    pub losses: Vec<f64>,
    /// When the second flow of the same controller comes, in seconds.
    pub second_flow_after_seconds: u64,
    /// Simulated seconds with a flow of the same controller, and with two paths.
    pub seconds_with_another: u64,
    /// The same with a flow of CUBIC.
    pub seconds_with_cubic: u64,
    /// Controllers that couple the paths of a connection.
    pub coupled: Vec<String>,
    /// The bottleneck through which these have two paths.
    pub coupled_link: String,
    /// Bottlenecks; their names differ.
    #[serde(rename = "link")]
    pub links: Vec<Arc<Link>>,
}

/// A bottleneck of the matrix.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Its scenario file.
    pub file: String,
    /// Fields set in it, as `KEY=VALUE`.
    #[serde(default)]
    pub set: Vec<String>,
    /// Round-trip time without a queue, about, in milliseconds; with the mean rate it makes the bandwidth-delay product.
    pub rtt_ms: u64,
    /// Simulated seconds of a flow alone.
    pub seconds_alone: u64,
}

impl Link {
    /// Round-trip time without a queue, about.
    pub fn rtt(&self) -> Duration {
        Duration::from_millis(self.rtt_ms)
    }
}

impl Plan {
    /// The grid in a file; none: that which comes with the program.
    ///
    /// # Errors
    /// [`ExperimentError::NotRead`]: it cannot be read, or is wrong; with the line where that is known.
    pub fn read(file: Option<&Path>) -> Result<Plan, ExperimentError> {
        read_plan(SHIPPED, file, Plan::check).map_err(ExperimentError::NotRead)
    }

    fn check(self) -> Result<Plan, String> {
        let rises = |list: &[f64]| list.windows(2).all(|pair| pair[0] < pair[1]) && !list.is_empty();
        if !rises(&self.buffers) || self.buffers.iter().any(|buffer| !(0.0..=1000.0).contains(buffer)) {
            return Err("`buffers`: expected one or more of 0 to 1000, the smallest first".to_owned());
        }
        if !rises(&self.losses) || self.losses.iter().any(|loss| !(0.0..1.0).contains(loss)) {
            return Err("`losses`: expected one or more of 0 to below 1, the least first".to_owned());
        }
        let names: Vec<&str> = self.links.iter().map(|link| link.name.as_str()).collect();
        if let Some(name) = doubled(&names) {
            return Err(format!("two links are named {name:?}; names must differ"));
        }
        if !names.contains(&self.coupled_link.as_str()) {
            return Err(format!("`coupled_link`: expected one of {}", names.join(", ")));
        }
        Ok(self)
    }

    /// Every buffer with every loss.
    pub fn places(&self) -> Vec<(f64, f64)> {
        places(&self.buffers, &self.losses)
    }

    /// When the second flow of the same controller comes.
    pub(super) fn second_flow(&self) -> Duration {
        Duration::from_secs(self.second_flow_after_seconds)
    }

    /// Whether a controller, with or without parameters, has two paths through a bottleneck.
    pub(super) fn is_coupled(&self, controller: &str, link: &str) -> bool {
        let name = controller.split(',').next().unwrap_or_default().trim();
        link == self.coupled_link && self.coupled.iter().any(|coupled| coupled == name)
    }
}

/// Every buffer with every loss.
pub(super) fn places(buffers: &[f64], losses: &[f64]) -> Vec<(f64, f64)> {
    buffers.iter().flat_map(|buffer| losses.iter().map(|loss| (*buffer, *loss))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::plans::parse_plan;

    #[test]
    fn what_is_wrong_with_a_grid_is_said_with_its_place() {
        let text = SHIPPED.1;
        assert_eq!(Plan::read(None).unwrap().links.len(), 5);
        let said = |from: &str, to: &str| {
            parse_plan(("my.toml", &text.replacen(from, to, 1)), Plan::check).expect_err(to)
        };
        let unknown = said("rtt_ms = 20", "rtt = 20");
        assert!(
            unknown.contains("my.toml") && unknown.contains("line") && unknown.contains("rtt_ms"),
            "{unknown}"
        );
        assert!(said("0.1, 1.0, 8.0", "1.0, 0.1").contains("smallest first"));
        assert!(said("0.0, 0.001", "0.0, 2.0, 3.0").contains("`losses`"));
        assert!(said("coupled_link = \"100/50\"", "coupled_link = \"moon\"").contains("300/100"));
        assert!(said("name = \"leo\"", "name = \"drive\"").contains("two links are named"));
    }
}
