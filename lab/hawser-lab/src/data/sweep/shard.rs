//! A share of the cells.

use std::fmt;
use std::str::FromStr;

use super::SweepError;

/// One of several shares of the cells of a plan: every `count`-th, so that each shard has some of every scenario.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Counted from 1.
    number: usize,
    count: usize,
}

impl Shard {
    /// All cells.
    pub const ALL: Self = Shard { number: 1, count: 1 };
    /// Shards of a plan.
    const MOST: usize = 100_000;

    /// Whether a cell belongs to it.
    pub fn has(self, cell: usize) -> bool {
        cell % self.count == self.number - 1
    }

    /// The name of its folder.
    pub fn folder_name(self) -> String {
        format!("shard-{}-of-{}", self.number, self.count)
    }
}

impl FromStr for Shard {
    type Err = SweepError;

    fn from_str(text: &str) -> Result<Self, SweepError> {
        let wrong = || SweepError::BadShard { text: text.to_owned() };
        let (number, count) = text.split_once('/').ok_or_else(wrong)?;
        let (number, count) = (number.parse().map_err(|_| wrong())?, count.parse().map_err(|_| wrong())?);
        if !(1..=Self::MOST).contains(&count) || !(1..=count).contains(&number) {
            return Err(wrong());
        }
        Ok(Shard { number, count })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.number, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_share_all_cells() {
        let shards: Vec<Shard> = ["1/3", "2/3", "3/3"].iter().map(|text| text.parse().unwrap()).collect();
        assert!((0..100).all(|cell| shards.iter().filter(|shard| shard.has(cell)).count() == 1));
        assert_eq!(shards[1].folder_name(), "shard-2-of-3");
        for wrong in ["", "1", "0/3", "4/3", "1/0", "a/b", "1/3/5", "-1/2", "1/999999999"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}
