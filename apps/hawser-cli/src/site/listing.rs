//! A folder as an HTML page.

use std::fs::{File, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::time::{SystemTime, UNIX_EPOCH};

use http::StatusCode;

use super::reply::Reply;
use super::tree::{Location, TEMPORARY_PREFIX, read_folder};
use crate::percent;
use crate::units::bytes;

const STYLE: &str = "body{font:15px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem;\
color:#222;background:#fff}table{border-collapse:collapse;width:100%}td,th{padding:0.2rem 0.6rem;text-align:left}\
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tr:hover td{background:#f3f5f7}\
a{color:#0b57a4;text-decoration:none}@media(prefers-color-scheme:dark){body{color:#ddd;background:#16181b}\
a{color:#7db8f0}tr:hover td{background:#22262b}}";

struct Row {
    name: Vec<u8>,
    metadata: Option<Metadata>,
}

impl Row {
    fn is_folder(&self) -> bool {
        self.metadata.as_ref().is_some_and(Metadata::is_dir)
    }
}

/// The page of an open folder: folders first, then files, by name.
pub(super) fn page(folder: File, location: &Location, hidden: bool) -> Reply {
    let entries = match read_folder(&folder) {
        Ok(entries) => entries,
        Err(error) => return super::failed(&error),
    };
    let mut rows: Vec<Row> = entries
        .flatten()
        .map(|entry| Row { name: entry.file_name().as_bytes().to_vec(), metadata: entry.metadata().ok() })
        .filter(|row| hidden || !row.name.starts_with(b"."))
        .filter(|row| !row.name.starts_with(TEMPORARY_PREFIX.as_bytes()))
        .collect();
    rows.sort_by(|a, b| b.is_folder().cmp(&a.is_folder()).then_with(|| a.name.cmp(&b.name)));
    Reply::bytes(StatusCode::OK, "text/html; charset=utf-8", render(&rows, location).into())
}

fn render(rows: &[Row], location: &Location) -> String {
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
        let slash = if row.is_folder() { "/" } else { "" };
        let size = row.metadata.as_ref().filter(|data| data.is_file()).map(|data| bytes(data.len()));
        let changed = row.metadata.as_ref().and_then(|data| data.modified().ok()).map(date);
        html.push_str(&format!(
            "<tr><td><a href=\"./{}{slash}\">{}{slash}</a><td class=n>{}<td class=n>{}\n",
            percent::encode_segment(&row.name),
            escape(&String::from_utf8_lossy(&row.name)),
            size.unwrap_or_default(),
            changed.unwrap_or_default(),
        ));
    }
    html.push_str("</table></html>\n");
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
    use std::time::Duration;

    use super::*;

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
