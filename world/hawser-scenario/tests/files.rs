//! Every file in `scenarios/` can be read.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_scenario::{Plan, Scenario, load, load_plan};

fn files_in(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_scenario_is_valid_and_says_what_it_is() {
    let files = files_in("scenarios");
    assert!(files.len() > 60, "{} files", files.len());
    for path in files {
        let scenario = load(&path, &[]).unwrap_or_else(|error| panic!("{error}"));
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        assert_eq!(Some(scenario.name.as_str()), stem, "{}", path.display());
        assert!(!scenario.description.is_empty(), "{}: no description", path.display());
        assert!(scenario.duration.is_some(), "{}: no duration", path.display());
        // Another seed must do as well: no scenario is valid by luck.
        load(&path, &["seed=987654321".to_owned()]).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_plan_names_scenarios_that_take_its_values() {
    let plans = files_in("scenarios/plans");
    assert!(!plans.is_empty());
    for path in plans {
        let plan = load_plan(&path).unwrap_or_else(|error| panic!("{error}"));
        let mut last = None;
        for cell in plan.cells.iter().filter(|cell| cell.replicate == 0) {
            let file = Plan::scenario_path(&path, cell);
            load(&file, &cell.settings()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            last = Some(file);
        }
        assert!(last.is_some());
    }
}

/// The examples of the documentation that are whole files.
#[test]
fn the_documentation_is_right() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let text = fs::read_to_string(&path).expect("docs/scenarios.md");
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut read = 0;
    for block in blocks.filter(|block| block.starts_with("version") && !block.contains("include =")) {
        let no_file = &mut |name: &str| Err(format!("no file {name}"));
        let result = match block.contains("scenarios =") {
            true => Plan::parse(block, "docs/scenarios.md").map(drop),
            false => Scenario::parse(block, "docs/scenarios.md", no_file).map(drop),
        };
        result.unwrap_or_else(|error| panic!("{error}"));
        read += 1;
    }
    assert_eq!(read, 2);
}
