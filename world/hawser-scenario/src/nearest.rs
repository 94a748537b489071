//! The name that somebody may have meant who wrote another.

/// Letters that may differ: fewer in a short name.
const MOST_CHANGES: usize = 2;

/// Returns the known name that is most like `name`, if one is like it.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = MOST_CHANGES.min(name.chars().count() / 3);
    let changes = known.into_iter().map(|known| (changes(name, known), known));
    changes.min().filter(|(changes, _)| (1..=most).contains(changes)).map(|(_, known)| known)
}

/// How many letters have to be changed, added, removed or swapped with their neighbour.
fn changes(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (row[j] + usize::from(a != b)).min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(above[j - 1] + 1);
            }
            next.push(least);
        }
        above = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_a_letter_wrong_is_known() {
        let known = ["duration", "every", "on"];
        assert_eq!(nearest("durtion", known), Some("duration"));
        assert_eq!(nearest("evry", known), Some("every"));
        assert_eq!(nearest("eevry", known), Some("every"), "two letters swapped");
        assert_eq!(nearest("of", known), None, "too short to tell");
        assert_eq!(nearest("every", known), None, "it is there");
        assert_eq!(nearest("length", known), None);
        assert_eq!(nearest("", known), None);
    }
}
