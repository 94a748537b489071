//! Experiments: scenarios played with real programs or in virtual time, and reports about what happened.
//!
//! A scenario file says which links there are; an experiment says what is sent over them and by whom; the
//! report says what came out, with enough about the circumstances that somebody else can repeat it. Nothing
//! here knows the protocol: programs are started, watched from outside, and asked for their own account.
//!
//! * [`data`]: tables, statistics, recorders, sweeps, pages: what any experiment needs.
//! * [`experiments`]: the questions. They use [`data`] and not each other; [`data`] knows none of them.

pub mod data;
pub mod experiments;

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    #[test]
    fn data_knows_no_experiment() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src/data")];
        let mut files = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|ending| ending == "rs") {
                    files += 1;
                    let text = fs::read_to_string(&path).expect("source");
                    assert!(!text.contains("crate::experiments"), "{}", path.display());
                }
            }
        }
        assert!(files > 30, "only {files} files were looked at");
    }
}
