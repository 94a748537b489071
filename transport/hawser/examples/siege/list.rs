//! Which attack is carried out again by which form.

use super::all_forms;
use super::programs::TRIALS;

/// An attack of the second round of trials.
struct Attack {
    /// `N1` and so on in the report of that round.
    number: u8,
    /// The reproductions of it.
    reproductions: &'static str,
    what: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        number: 1,
        reproductions: "09, 10",
        what: "repair symbols, and other frames in their smallest form",
    },
    Attack { number: 2, reproductions: "01", what: "one address takes all replies" },
    Attack { number: 3, reproductions: "02", what: "listings that nobody reads" },
    Attack { number: 4, reproductions: "06", what: "one tile wished for again and again" },
    Attack { number: 5, reproductions: "07", what: "half-open connections take the places of vr360" },
    Attack { number: 6, reproductions: "08", what: "half-open and idle connections take those of the relay" },
    Attack { number: 7, reproductions: "03", what: "an upload quota given back several times" },
    Attack { number: 8, reproductions: "04", what: "slow uploads take all slots" },
    Attack { number: 9, reproductions: "05", what: "empty uploads with long names" },
    Attack {
        number: 10,
        reproductions: "13",
        what: "players over HTTP that left, or whose stream has ended",
    },
    Attack { number: 11, reproductions: "11", what: "DNS rebinding of the page of vr360" },
    Attack { number: 12, reproductions: "14", what: "digests nobody waits for" },
    Attack { number: 13, reproductions: "12", what: "requests for pipes and devices" },
    Attack { number: 14, reproductions: "-", what: "scenario files of any length" },
    Attack { number: 15, reproductions: "-", what: "malformed lengths and trailers" },
    Attack { number: 16, reproductions: "15", what: "idle connections shrink the windows of others" },
];

/// Prints the attacks with the forms of each, and the forms of none. Returns whether each has one.
pub(crate) fn print() -> bool {
    let forms = || {
        let programs = TRIALS.iter().map(|trial| (trial.name, trial.attacks));
        all_forms().map(|form| (form.name, form.attacks)).chain(programs)
    };
    println!("| attack | reproduction | what | forms |\n|---|---|---|---|");
    let mut is_complete = true;
    for Attack { number, reproductions, what } in ATTACKS {
        let names: Vec<&str> =
            forms().filter(|(_, attacks)| attacks.contains(number)).map(|(name, _)| name).collect();
        is_complete &= !names.is_empty();
        println!("| N{number} | {reproductions} | {what} | {} |", names.join("; "));
    }
    let others: Vec<&str> = forms().filter(|(_, attacks)| attacks.is_empty()).map(|(name, _)| name).collect();
    println!("| - | - | others | {} |", others.join("; "));
    is_complete
}
