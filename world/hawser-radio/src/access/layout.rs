use crate::RadioError;
use crate::error::Check;
use crate::math::sqrt;

/// Where the sites of a network are.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "snake_case"))]
pub enum Layout {
    /// Along a road of unbounded length.
    Line {
        /// Metres between sites.
        spacing: f64,
        /// Where one of them is, metres.
        offset: f64,
    },
    /// At the centres of hexagons that fill the plane.
    Hexagons {
        /// Metres between neighbours.
        distance: f64,
    },
    /// At the crossings of a square grid that fills the plane.
    Squares {
        /// Metres between neighbours.
        distance: f64,
    },
    /// One colour of a chessboard whose first field is at the origin (QC-MAB, W. Yang 2024, section 4.5.2).
    Chessboard {
        /// Metres between neighbouring fields of any colour.
        distance: f64,
        /// Fields per row.
        columns: u32,
        /// Rows.
        rows: u32,
        /// 0 for the colour of the first field, 1 for the other.
        colour: u32,
    },
    /// At these points, metres.
    Sites(Vec<[f64; 2]>),
}

/// A site and its number.
pub(crate) type Site = (u64, [f64; 2]);

impl Layout {
    /// The sites that may serve at a point, with some to spare for shadowing.
    pub(crate) fn near(&self, place: [f64; 2]) -> Vec<Site> {
        match *self {
            Layout::Line { spacing, offset } => {
                let middle = libm::round((place[0] - offset) / spacing) as i64;
                (middle - 2..=middle + 2)
                    .map(|i| (number(i, 0), [offset + spacing * i as f64, 0.0]))
                    .collect()
            }
            Layout::Hexagons { distance } => {
                let row_height = distance * sqrt(0.75);
                let row = libm::round(place[1] / row_height) as i64;
                around(row)
                    .flat_map(|j| {
                        let shift = 0.5 * distance * j as f64;
                        let middle = libm::round((place[0] - shift) / distance) as i64;
                        around(middle).map(move |i| {
                            (number(i, j), [shift + distance * i as f64, row_height * j as f64])
                        })
                    })
                    .collect()
            }
            Layout::Squares { distance } => {
                let [column, row] = place.map(|x| libm::round(x / distance) as i64);
                around(row)
                    .flat_map(|j| {
                        around(column)
                            .map(move |i| (number(i, j), [distance * i as f64, distance * j as f64]))
                    })
                    .collect()
            }
            Layout::Chessboard { distance, columns, rows, colour } => {
                let [column, row] = place.map(|x| libm::round(x / distance) as i64);
                let inside = |index: i64, count: u32| (0..i64::from(count)).contains(&index);
                (row - 3..=row + 3)
                    .flat_map(|j| (column - 3..=column + 3).map(move |i| (i, j)))
                    .filter(|&(i, j)| inside(i, columns) && inside(j, rows))
                    .filter(|&(i, j)| (i + j) % 2 == i64::from(colour))
                    .map(|(i, j)| (number(i, j), [distance * i as f64, distance * j as f64]))
                    .collect()
            }
            Layout::Sites(ref sites) => {
                sites.iter().enumerate().map(|(index, site)| (index as u64, *site)).collect()
            }
        }
    }

    /// How far the edge of a cell is from its site at most, metres; `None` for a list.
    pub(crate) fn edge_distance(&self) -> Option<f64> {
        match *self {
            Layout::Line { spacing, .. } => Some(0.5 * spacing),
            Layout::Hexagons { distance } => Some(distance / sqrt(3.0)),
            Layout::Squares { distance } => Some(distance * sqrt(0.5)),
            Layout::Chessboard { distance, .. } => Some(distance),
            Layout::Sites(_) => None,
        }
    }

    pub(crate) fn is_line(&self) -> bool {
        matches!(self, Layout::Line { .. })
    }

    pub(crate) fn check(&self, check: Check) -> Result<(), RadioError> {
        match *self {
            Layout::Line { spacing, offset } => {
                check.positive("spacing", spacing)?;
                check.finite("offset", offset)
            }
            Layout::Hexagons { distance } | Layout::Squares { distance } => {
                check.positive("distance", distance)
            }
            Layout::Chessboard { distance, columns, rows, colour } => {
                check.positive("distance", distance)?;
                check.that(columns >= 2, "columns", columns, "2 or more")?;
                check.that(rows >= 2, "rows", rows, "2 or more")?;
                check.that(colour < 2, "colour", colour, "0 or 1")
            }
            Layout::Sites(ref sites) => {
                check.that(!sites.is_empty(), "layout.sites", "an empty list", "at least one site")?;
                let finite = sites.iter().flatten().all(|x| x.is_finite());
                check.that(finite, "layout.sites", "a coordinate that is not finite", "metres")
            }
        }
    }
}

fn around(middle: i64) -> impl Iterator<Item = i64> {
    middle - 2..=middle + 2
}

/// One number for a pair of signed indices.
fn number(i: i64, j: i64) -> u64 {
    (u64::from(zigzag(j)) << 32) | u64::from(zigzag(i))
}

/// 0, -1, 1, -2, 2, .. become 0, 1, 2, 3, 4, ..
fn zigzag(value: i64) -> u32 {
    (((value << 1) ^ (value >> 63)) & 0xffff_ffff) as u32
}
