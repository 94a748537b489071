use std::fmt;

/// A statistic, what it should be, and what it is.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Row {
    /// Name and unit.
    pub statistic: String,
    /// From the measurement.
    pub target: f64,
    /// From the generator.
    pub got: f64,
}

impl Row {
    /// (got - target) / target.
    pub fn relative_error(&self) -> f64 {
        (self.got - self.target) / self.target
    }
}

/// Rows under a title.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Table {
    /// What is compared with what.
    pub title: String,
    /// One per statistic that both sides have.
    pub rows: Vec<Row>,
}

impl Table {
    /// The largest absolute relative error.
    pub fn worst(&self) -> f64 {
        self.rows.iter().map(|row| row.relative_error().abs()).fold(0.0, f64::max)
    }

    /// The row of a statistic.
    pub fn row(&self, statistic: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.statistic == statistic)
    }
}

/// Compares lists of named statistics; those that one side lacks are left out.
pub fn table(title: &str, target: &[(String, f64)], got: &[(String, f64)]) -> Table {
    let rows = target
        .iter()
        .filter_map(|(statistic, target)| {
            let got = got.iter().find(|known| known.0 == *statistic)?.1;
            Some(Row { statistic: statistic.clone(), target: *target, got })
        })
        .filter(|row| row.target.is_finite() && row.got.is_finite())
        .collect();
    Table { title: title.to_owned(), rows }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.title)?;
        writeln!(f, "  {:<46} {:>12} {:>12} {:>9}", "statistic", "target", "got", "error")?;
        for row in &self.rows {
            let error = 100.0 * row.relative_error();
            writeln!(f, "  {:<46} {:>12.4} {:>12.4} {:>8.1}%", row.statistic, row.target, row.got, error)?;
        }
        Ok(())
    }
}
