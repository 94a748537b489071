//! A folder as an HTML page.
//!
//! A request of some seventy bytes can ask for megabytes that take a look at thousands of files. So a page shows a number of
//! entries at most, and the requests of a few seconds get the same one, in the same memory.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::{DirEntry, File, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderValue, StatusCode};

use super::reply::Reply;
use super::tree::{Location, TEMPORARY_PREFIX, read_folder};
use hawser_command::percent;
use hawser_command::units::bytes;

/// The page has a style, and needs nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
/// Entries of a folder that are looked at.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of a page, to within an entry.
const MAX_PAGE: usize = 4 << 20;
/// Pages that are kept.
const MAX_PAGES: usize = 16;
/// How long a page is good if the folder has not changed: sizes of files in it may have.
const KEPT_FOR: Duration = Duration::from_secs(5);

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;\
color:#222;background:#fff}table{border-collapse:collapse;width:100%}td,th{padding:0.2rem 0.6rem;text-align:left}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr:hover td{background:#f3f5f7}\
a{color:#0b57a4;text-decoration:none}@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181b}\
a{color:#7db8f0}tr:hover td{background:#22262b}}";

/// The pages of a site that were asked for a moment ago.
#[derive(Debug, Default)]
pub(super) struct Pages {
    kept: Mutex<VecDeque<Page>>,
    /// Held while a page is made: requests that come together get one page, not one each.
    making: Mutex<()>,
}

#[derive(Debug)]
struct Page {
    version: Version,
    made: Instant,
    html: Bytes,
}

/// A folder as it was, under one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    device: u64,
    inode: u64,
    changed: (i64, i64),
    names: Vec<OsString>,
}

struct Row {
    name: Vec<u8>,
    entry: DirEntry,
    is_folder: bool,
}

impl Pages {
    /// The page of an open folder: folders first, then files, by name. Blocks on the disk.
    pub(super) fn reply(&self, folder: &File, location: &Location, hidden: bool, now: Instant) -> Reply {
        match self.page(folder, location, hidden, now) {
            Ok(html) => {
                let mut reply = Reply::bytes(StatusCode::OK, "text/html; charset=utf-8", html);
                reply.headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
                reply
            }
            Err(error) => super::failed(&error),
        }
    }

    fn page(&self, folder: &File, location: &Location, hidden: bool, now: Instant) -> io::Result<Bytes> {
        let metadata = folder.metadata()?;
        let version = Version {
            device: metadata.dev(),
            inode: metadata.ino(),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
            names: location.names().to_vec(),
        };
        if let Some(html) = self.find(&version, now) {
            return Ok(html);
        }
        let _alone = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(html) = self.find(&version, now) {
            return Ok(html);
        }
        let (rows, is_complete) = rows(folder, hidden)?;
        let html = Bytes::from(render(&rows, location, is_complete));
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|page| page.version != version);
        kept.truncate(MAX_PAGES - 1);
        kept.push_front(Page { version, made: now, html: html.clone() });
        Ok(html)
    }

    fn find(&self, version: &Version, now: Instant) -> Option<Bytes> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|page| now.saturating_duration_since(page.made) < KEPT_FOR);
        kept.iter().find(|page| page.version == *version).map(|page| page.html.clone())
    }
}

/// What is in a folder, and whether that is all.
fn rows(folder: &File, hidden: bool) -> io::Result<(Vec<Row>, bool)> {
    let mut entries = read_folder(folder)?.flatten();
    let mut rows: Vec<Row> = entries
        .by_ref()
        .take(MAX_ENTRIES)
        .map(|entry| Row {
            name: entry.file_name().into_vec(),
            is_folder: entry.file_type().is_ok_and(|kind| kind.is_dir()),
            entry,
        })
        .filter(|row| hidden || !row.name.starts_with(b"."))
        .filter(|row| !row.name.starts_with(TEMPORARY_PREFIX.as_bytes()))
        .collect();
    rows.sort_by(|a, b| b.is_folder.cmp(&a.is_folder).then_with(|| a.name.cmp(&b.name)));
    Ok((rows, entries.next().is_none()))
}

fn render(rows: &[Row], location: &Location, mut is_complete: bool) -> String {
    let title: String =
        location.names().iter().map(|name| format!("/{}", escape(&name.to_string_lossy()))).collect();
    let title = if title.is_empty() { "/" } else { &title };
    let mut html = format!(
        "<!doctype html>\n<html lang=en><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width\"><title>{title}</title>\n\
         <style>{STYLE}</style>\n<h1>{title}</h1>\n\
         <table><tr><th>Name<th class=n>Size<th class=n>Changed (UTC)\n"
    );
    if !location.names().is_empty() {
        html.push_str("<tr><td><a href=\"../\">../</a><td><td>\n");
    }
    for row in rows {
        if html.len() >= MAX_PAGE {
            is_complete = false;
            break;
        }
        let metadata: Option<Metadata> = row.entry.metadata().ok();
        let slash = if row.is_folder { "/" } else { "" };
        let size = metadata.as_ref().filter(|data| data.is_file()).map(|data| bytes(data.len()));
        let changed = metadata.as_ref().and_then(|data| data.modified().ok()).map(date);
        html.push_str(&format!(
            "<tr><td><a href=\"./{}{slash}\">{}{slash}</a><td class=n>{}<td class=n>{}\n",
            percent::encode_segment(&row.name),
            escape(&String::from_utf8_lossy(&row.name)),
            size.unwrap_or_default(),
            changed.unwrap_or_default(),
        ));
    }
    html.push_str("</table>\n");
    if !is_complete {
        html.push_str("<p>There are more entries than are listed here.\n");
    }
    html.push_str("</html>\n");
    html
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// `2026-11-20 19:40`.
fn date(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // Howard Hinnant's algorithm: years begin in March, so that the leap day is the last.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60)
}

#[cfg(test)]
mod tests {
    use super::super::tree::{Entry, Tree};
    use super::*;

    fn folder_of(count: usize) -> (tempfile::TempDir, Tree) {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..count {
            File::create(folder.path().join(format!("{n:06}-{}", "x".repeat(200)))).unwrap();
        }
        let tree = Tree::open(folder.path()).unwrap();
        (folder, tree)
    }

    fn page_of(tree: &Tree, pages: &Pages, now: Instant) -> Bytes {
        let location = Location::parse("/").unwrap();
        let Entry::Folder(folder) = tree.entry(&location).unwrap() else { panic!("a folder") };
        pages.page(&folder, &location, false, now).unwrap()
    }

    #[test]
    fn a_page_has_a_largest_size_and_says_that_there_is_more() {
        let (_folder, tree) = folder_of(MAX_ENTRIES + 1);
        let html = page_of(&tree, &Pages::default(), Instant::now());
        assert!(html.len() <= MAX_PAGE + 4096, "{}", html.len());
        assert!(std::str::from_utf8(&html).unwrap().contains("more entries than are listed"));
    }

    /// A client that asks within some seconds gets the same bytes, not a copy.
    #[test]
    fn a_page_is_made_once_until_the_folder_changes_or_some_seconds_passed() {
        let (folder, tree) = folder_of(3);
        let (pages, now) = (Pages::default(), Instant::now());
        let first = page_of(&tree, &pages, now);
        assert!(!std::str::from_utf8(&first).unwrap().contains("more entries"));
        assert_eq!(page_of(&tree, &pages, now + KEPT_FOR / 2).as_ptr(), first.as_ptr());
        let later = page_of(&tree, &pages, now + KEPT_FOR);
        assert_ne!(later.as_ptr(), first.as_ptr());
        // The clock of the disk has steps of some milliseconds.
        std::thread::sleep(Duration::from_millis(20));
        File::create(folder.path().join("new")).unwrap();
        assert!(std::str::from_utf8(&page_of(&tree, &pages, now + KEPT_FOR)).unwrap().contains("./new"));
        assert_eq!(pages.kept.lock().unwrap().len(), 2);
    }

    #[test]
    fn dates_are_right_around_leap_days() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (951_868_800, "2000-03-01 00:00"),
            (1_795_203_600, "2026-11-20 19:40"),
        ] {
            assert_eq!(date(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
    }
}
