//! Which files are got at the same time.

use std::path::PathBuf;

use hawser_command::url::Url;

/// Where a file goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Stdout,
    File(PathBuf),
}

/// A file to get.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) url: Url,
    pub(super) destination: Destination,
}

/// Host and port.
pub(super) type Authority = (String, u16);

pub(super) fn authority(url: &Url) -> Authority {
    (url.host.clone(), url.port)
}

/// Files of one server that may be got at the same time, over one connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Batch {
    pub(super) authority: Authority,
    pub(super) targets: Vec<Target>,
}

/// Batches to work off one after the other. On standard output files follow each other in their
/// order.
pub(super) fn batches(targets: Vec<Target>) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for target in targets {
        let authority = authority(&target.url);
        let writes_there =
            |batch: &Batch| batch.targets.iter().any(|earlier| earlier.destination == target.destination);
        let first = batches.iter().rposition(writes_there).map_or(0, |last| last + 1);
        match batches.iter_mut().skip(first).find(|batch| batch.authority == authority) {
            Some(batch) => batch.targets.push(target),
            None => batches.push(Batch { authority, targets: vec![target] }),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to_file(url: &str) -> Target {
        let url: Url = url.parse().unwrap();
        let destination = Destination::File(url.file_name().unwrap().into());
        Target { url, destination }
    }

    /// The batches of these URLs, which are all written to files with the names that they end in.
    fn of(urls: &[&str]) -> Vec<Vec<String>> {
        let batches = batches(urls.iter().map(|url| to_file(url)).collect());
        let urls = |batch: Batch| batch.targets.iter().map(|target| target.url.to_string()).collect();
        batches.into_iter().map(urls).collect()
    }

    #[test]
    fn files_of_a_server_are_got_together() {
        let batches = of(&["https://a:1/x", "https://b:1/y", "https://a:1/z", "https://a:2/u"]);
        let expected: [&[&str]; 3] =
            [&["https://a:1/x", "https://a:1/z"], &["https://b:1/y"], &["https://a:2/u"]];
        assert_eq!(batches, expected);
    }

    #[test]
    fn to_standard_output_they_go_one_after_the_other() {
        let urls = ["https://a:1/x", "https://b:1/y", "https://a:1/z"];
        let target = |url: &&str| Target { url: url.parse().unwrap(), destination: Destination::Stdout };
        let batches = batches(urls.iter().map(target).collect());
        let order: Vec<_> = batches.iter().map(|batch| batch.targets[0].url.to_string()).collect();
        assert_eq!((order, batches.len()), (urls.map(str::to_owned).to_vec(), 3));
    }
}
