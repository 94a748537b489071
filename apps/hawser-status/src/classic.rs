//! The text format of Prometheus before OpenMetrics: what node_exporter reads from files, and promtool checks.

use std::collections::HashSet;

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Makes it of OpenMetrics text: counters are named with their ending, and there are neither units nor an end.
pub(crate) fn of(openmetrics: &str) -> String {
    let types = openmetrics.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let counters: HashSet<&str> = types.filter_map(|line| line.strip_suffix(" counter")).collect();
    let mut text = String::with_capacity(openmetrics.len());
    for line in openmetrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("UNIT"), ..) | (Some("#"), Some("EOF"), ..) => continue,
            (Some("#"), Some(kind), Some(name), Some(rest)) if counters.contains(name) => {
                text.extend(["# ", kind, " ", name, "_total ", rest]);
            }
            _ => text.push_str(line),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_called_as_their_samples_are() {
        let openmetrics = "# HELP hawser_sent_bytes Sent bytes.\n# TYPE hawser_sent_bytes counter\n# UNIT hawser_sent_bytes bytes\n\
            hawser_sent_bytes_total{link=\"a\"} 7\n# TYPE hawser_up gauge\nhawser_up 1.0\n# EOF\n";
        assert_eq!(
            of(openmetrics),
            "# HELP hawser_sent_bytes_total Sent bytes.\n# TYPE hawser_sent_bytes_total counter\n\
             hawser_sent_bytes_total{link=\"a\"} 7\n# TYPE hawser_up gauge\nhawser_up 1.0\n"
        );
    }
}
