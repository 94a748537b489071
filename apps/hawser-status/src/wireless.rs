//! The signal of WiFi links, where nobody else tells it: what the kernel writes in `/proc/net/wireless`.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How old what was read may be.
const AGE: Duration = Duration::from_secs(1);
/// Most bytes that are read: some hundred links.
const MOST: u64 = 32 << 10;
/// What levels can be: drivers that count otherwise write numbers above zero.
const PLAUSIBLE: std::ops::RangeInclusive<f64> = -150.0..=-1.0;

/// Received power of WiFi links in dBm, by name.
#[derive(Debug)]
pub(crate) struct Wireless {
    path: PathBuf,
    read: Option<Instant>,
    levels: BTreeMap<String, f64>,
}

impl Default for Wireless {
    fn default() -> Self {
        Wireless { path: "/proc/net/wireless".into(), read: None, levels: BTreeMap::new() }
    }
}

impl Wireless {
    /// The received power of a link; `None` if it is no WiFi link, or the kernel does not tell.
    pub(crate) fn level(&mut self, link: &str, now: Instant) -> Option<f64> {
        if self.read.is_none_or(|read| now.duration_since(read) >= AGE) {
            self.read = Some(now);
            let mut text = String::new();
            let read =
                std::fs::File::open(&self.path).and_then(|file| file.take(MOST).read_to_string(&mut text));
            self.levels = if read.is_ok() { levels(&text) } else { BTreeMap::new() };
        }
        self.levels.get(link).copied()
    }
}

/// `wlan0: 0000   54.  -56.  -256  0 0 0 0 0 0`: status, quality, level, noise.
fn levels(text: &str) -> BTreeMap<String, f64> {
    let line = |line: &str| {
        let (name, rest) = line.split_once(':')?;
        let level = rest.split_whitespace().nth(2)?.trim_end_matches('.').parse::<f64>().ok()?;
        PLAUSIBLE.contains(&level).then(|| (name.trim().to_owned(), level))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read_as_the_kernel_writes_them() {
        let text = "Inter-| sta-|   Quality        |   Discarded packets               | Missed | WE\n \
                    face | tus | link level noise |  nwid  crypt   frag  retry   misc | beacon | 22\n \
                    wlan0: 0000   54.  -56.  -256        0      0      0      0     12        0\n  \
                    wlp3s0: 0000   70.  -40   -256        0      0      0      0     12        0\n  \
                    odd0: 0000   54.  210.  -256        0      0      0      0     12        0\n  \
                    cut0: 0000   5";
        let levels = levels(text);
        assert_eq!(
            levels.into_iter().collect::<Vec<_>>(),
            [("wlan0".to_owned(), -56.0), ("wlp3s0".to_owned(), -40.0)]
        );
    }

    #[test]
    fn a_file_is_read_once_a_second_and_may_be_missing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wireless");
        let mut wireless = Wireless { path: path.clone(), ..Wireless::default() };
        let now = Instant::now();
        assert_eq!(wireless.level("wlan0", now), None);
        std::fs::write(&path, "wlan0: 0000   54.  -56.  -256 0\n").unwrap();
        assert_eq!(wireless.level("wlan0", now + AGE / 2), None);
        assert_eq!(wireless.level("wlan0", now + AGE), Some(-56.0));
        assert_eq!(wireless.level("wwan0", now + AGE), None);
    }
}
