//! Which tiles of the picture a view meets.

use super::View;

/// Most columns or rows.
const MAX_SIDE: u16 = 64;
/// Points of a side of a tile that are looked at, its corners included: they lie closer together than any view is wide.
const POINTS: u16 = 7;

/// How a picture is cut: numbers run along the rows, from the top left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    columns: u16,
    rows: u16,
}

/// Why there is no such grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a picture is cut into 2 to {MAX_SIDE} columns and rows, not {columns} and {rows}")]
pub struct GridError {
    columns: u16,
    rows: u16,
}

/// How much of the sphere a view shows, in degrees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Field {
    /// From left to right, under 180.
    pub width: f64,
    /// From bottom to top, under 180.
    pub height: f64,
}

impl Default for Field {
    /// That of a usual headset: 100 degrees each.
    fn default() -> Self {
        Field { width: 100.0, height: 100.0 }
    }
}

impl Grid {
    /// One of so many columns and rows.
    ///
    /// # Errors
    /// If there are too many of them or too few.
    pub fn new(columns: u16, rows: u16) -> Result<Self, GridError> {
        let is_sound = |side| (2..=MAX_SIDE).contains(&side);
        if is_sound(columns) && is_sound(rows) {
            Ok(Grid { columns, rows })
        } else {
            Err(GridError { columns, rows })
        }
    }

    /// Columns.
    pub fn columns(&self) -> u16 {
        self.columns
    }

    /// Rows.
    pub fn rows(&self) -> u16 {
        self.rows
    }

    /// Number of tiles.
    pub fn tiles(&self) -> u16 {
        self.columns * self.rows
    }

    /// The tiles of which the view shows something, in order.
    pub fn in_view(&self, view: View, field: Field) -> Vec<u16> {
        let camera = Camera::new(view, field);
        (0..self.tiles()).filter(|tile| self.points(*tile).any(|point| camera.shows(point))).collect()
    }

    /// The tiles that touch one of these, but are none of them, in order. The picture is closed at its left and right.
    pub fn around(&self, tiles: &[u16]) -> Vec<u16> {
        let (columns, rows) = (i32::from(self.columns), i32::from(self.rows));
        let mut around: Vec<u16> = Vec::new();
        for tile in tiles {
            let (row, column) = (i32::from(tile / self.columns), i32::from(tile % self.columns));
            for (down, right) in (-1..=1).flat_map(|down| (-1..=1).map(move |right| (down, right))) {
                if (0..rows).contains(&(row + down)) {
                    let other = (row + down) * columns + (column + right).rem_euclid(columns);
                    around.extend(u16::try_from(other));
                }
            }
        }
        around.sort_unstable();
        around.dedup();
        around.retain(|tile| !tiles.contains(tile));
        around
    }

    /// Points of a tile: yaw and pitch.
    fn points(&self, tile: u16) -> impl Iterator<Item = View> + use<> {
        let (row, column) = (tile / self.columns, tile % self.columns);
        let (width, height) = (360.0 / f64::from(self.columns), 180.0 / f64::from(self.rows));
        let part = |at: u16| f64::from(at) / f64::from(POINTS - 1);
        (0..POINTS).flat_map(move |down| {
            (0..POINTS).map(move |right| View {
                yaw: width * (f64::from(column) + part(right)),
                pitch: 90.0 - height * (f64::from(row) + part(down)),
            })
        })
    }
}

/// A view as a camera: the directions to its right, up and ahead.
struct Camera {
    right: [f64; 3],
    up: [f64; 3],
    ahead: [f64; 3],
    /// Tangents of half of the field.
    half: [f64; 2],
}

impl Camera {
    fn new(view: View, field: Field) -> Self {
        let above = View { yaw: view.yaw, pitch: view.pitch + 90.0 };
        let side = View { yaw: view.yaw + 90.0, pitch: 0.0 };
        let half = [field.width, field.height].map(|angle| libm::tan(angle.to_radians() / 2.0));
        Camera { right: direction(side), up: direction(above), ahead: direction(view), half }
    }

    fn shows(&self, point: View) -> bool {
        let point = direction(point);
        let along = |axis: &[f64; 3]| point.iter().zip(axis).map(|(a, b)| a * b).sum::<f64>();
        let depth = along(&self.ahead);
        depth > 0.0
            && along(&self.right).abs() <= self.half[0] * depth
            && along(&self.up).abs() <= self.half[1] * depth
    }
}

/// As a vector: yaw 0 and pitch 0 are along the first axis, the third one points up.
fn direction(view: View) -> [f64; 3] {
    let (yaw, pitch) = (view.yaw.to_radians(), view.pitch.to_radians());
    [libm::cos(pitch) * libm::cos(yaw), libm::cos(pitch) * libm::sin(yaw), libm::sin(pitch)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut() -> Grid {
        Grid::new(12, 6).unwrap()
    }

    /// At the horizon a view of 100 degrees meets yaw 130 to 230 and pitch -50 to 50: columns 4 to 7, rows 1 to 4.
    #[test]
    fn a_view_at_the_horizon_meets_a_rectangle() {
        let seen = cut().in_view(View { yaw: 180.0, pitch: 0.0 }, Field::default());
        let expected: Vec<u16> = (1..5).flat_map(|row| (4..8).map(move |column| row * 12 + column)).collect();
        assert_eq!(seen, expected);
    }

    /// A viewer who looks up sees the whole circle around the pole, and nothing of the bottom.
    #[test]
    fn a_view_of_the_pole_meets_every_column() {
        let seen = cut().in_view(View { yaw: 10.0, pitch: 90.0 }, Field::default());
        assert!((0..12).all(|tile| seen.contains(&tile)));
        assert!(seen.iter().all(|tile| *tile < 36), "{seen:?}");
    }

    #[test]
    fn what_is_around_is_closed_at_the_sides() {
        assert_eq!(cut().around(&[12]), [0, 1, 11, 13, 23, 24, 25, 35]);
        assert_eq!(cut().around(&[0]), [1, 11, 12, 13, 23]);
    }

    #[test]
    fn what_is_no_grid_is_told_so() {
        let error = Grid::new(1, 6).unwrap_err().to_string();
        assert_eq!(error, "a picture is cut into 2 to 64 columns and rows, not 1 and 6");
    }

    proptest! {
        /// The tile in which the middle of the view lies is seen, wherever it looks, and a turn by a column moves all by one.
        #[test]
        fn the_middle_is_seen_and_columns_are_alike(yaw in 0.0..360.0f64, pitch in -90.0..90.0f64) {
            let seen = cut().in_view(View { yaw, pitch }, Field::default());
            let middle = ((90.0 - pitch) / 30.0).min(5.0).floor() * 12.0 + (yaw / 30.0).floor();
            prop_assert!(seen.contains(&(middle as u16)), "{seen:?} lacks {middle}");
            // By what no rounding can move across an edge.
            let turned = cut().in_view(View { yaw: yaw + 30.0, pitch }, Field::default());
            let differs = turned.len().abs_diff(seen.len());
            prop_assert!(differs <= 1, "{seen:?} {turned:?}");
        }
    }
}
