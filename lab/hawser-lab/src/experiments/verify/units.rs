//! How values are shown.

/// How a value is shown: what it is divided by, and its unit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Unit {
    one: Option<f64>,
    name: &'static str,
}

/// The unit that the end of a metric's name says.
pub(super) fn unit_of(metric: &str) -> Unit {
    let units = [
        ("_bps", 1e6, "Mbit/s"),
        ("_ms", 1.0, "ms"),
        ("_seconds", 1.0, "s"),
        ("_s", 1.0, "s"),
        ("_bytes", 1e3, "kB"),
        ("_kB", 1.0, "kB"),
    ];
    let found = units.into_iter().find(|(ending, ..)| metric.ends_with(ending));
    found.map_or_else(Unit::default, |(_, one, name)| Unit { one: Some(one), name })
}

impl Unit {
    /// A value in this unit.
    pub(super) fn of(self, value: f64) -> f64 {
        value / self.one.unwrap_or(1.0)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        self.name
    }
}

/// A value with its unit.
pub(super) fn figure(value: f64, unit: Unit) -> String {
    format!("{} {}", number(unit.of(value)), unit.name).trim_end().to_owned()
}

/// `0.98 .. 1.02`; empty without an interval.
pub(super) fn interval(low: Option<f64>, high: Option<f64>, unit: Unit) -> String {
    let ends = low.zip(high);
    ends.map(|(low, high)| format!("{} .. {}", number(unit.of(low)), number(unit.of(high))))
        .unwrap_or_default()
}

pub(super) fn number(value: f64) -> String {
    match value.abs() {
        _ if value == value.trunc() && value.abs() < 1e6 => format!("{value:.0}"),
        size if size < 1e-3 => format!("{value:.1e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}
