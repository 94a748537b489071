//! The acceptance lists that come with the program.

use std::path::Path;
use std::sync::Arc;

use super::verify::{Known, List, ListError, Plot, Program, read, read_file};
use super::{
    ExperimentError, bbrv2plus, defaults, four_d_map, ftrl_wrr, maco, mams, qc_mab, ride, seam, sscc, xfi,
};

/// Name, file and text of a list.
macro_rules! embedded {
    ($name:literal) => {
        (
            $name,
            concat!("lab/reproductions/", $name, ".toml"),
            include_str!(concat!("../../reproductions/", $name, ".toml")),
        )
    };
}

/// Name, file and text of each list.
const EMBEDDED: &[(&str, &str, &str)] = &[
    embedded!("4d-map"),
    embedded!("bbrv2plus"),
    embedded!("default"),
    embedded!("ftrl-wrr"),
    embedded!("maco"),
    embedded!("mams"),
    embedded!("qc-mab"),
    embedded!("ride"),
    embedded!("seam"),
    embedded!("sscc"),
    embedded!("xfi"),
];

/// Programs that lists may name.
const PROGRAMS: &[&[Program]] = &[
    bbrv2plus::PROGRAMS,
    defaults::PROGRAMS,
    four_d_map::PROGRAMS,
    ftrl_wrr::PROGRAMS,
    maco::PROGRAMS,
    mams::PROGRAMS,
    qc_mab::PROGRAMS,
    ride::PROGRAMS,
    seam::PROGRAMS,
    sscc::PROGRAMS,
    xfi::PROGRAMS,
];
/// Drawings that lists may name.
const PLOTS: &[&[Plot]] = &[bbrv2plus::PLOTS, ride::PLOTS];

/// What lists may name that is written in Rust.
pub const KNOWN: Known = Known { programs: PROGRAMS, plots: PLOTS };

/// The names of all lists, in the order of the alphabet.
pub fn names() -> Vec<&'static str> {
    EMBEDDED.iter().map(|(name, ..)| *name).collect()
}

/// A list by its name, or the one in a file whose name ends with `.toml`.
///
/// # Errors
/// [`ExperimentError`]: there is no such list, its file cannot be read, or something in it is wrong.
pub fn find(name: &str) -> Result<Arc<List>, ExperimentError> {
    if Path::new(name).extension().is_some_and(|extension| extension == "toml") {
        return read_file(Path::new(name), KNOWN).map(Arc::new);
    }
    match embedded(name) {
        Some(list) => Ok(Arc::new(list?)),
        None => Err(ExperimentError::unknown("list", name, names())),
    }
}

fn embedded(name: &str) -> Option<Result<List, ListError>> {
    let found = EMBEDDED.iter().find(|(known, ..)| *known == name);
    found.map(|(_, file, text)| read(text, file, KNOWN))
}

/// All lists that can be read: a test sees to it that none is missing.
pub fn all() -> Vec<List> {
    names().into_iter().filter_map(embedded).filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_can_be_read_and_has_its_name() {
        for name in names() {
            let list = embedded(name).unwrap().unwrap();
            assert_eq!(list.name, name);
        }
    }
}
