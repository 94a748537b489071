//! The name that somebody may have meant who wrote another.

/// Letters that may differ: fewer in a short name.
const MOST_CHANGES: usize = 2;

/// Returns the known name that is most like `name`, if one is like it.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = MOST_CHANGES.min(name.chars().count() / 3);
    let changes = known.into_iter().map(|known| (changes(name, known), known));
    changes.min().filter(|(changes, _)| (1..=most).contains(changes)).map(|(_, known)| known)
}

/// How many letters have to be changed, added or removed.
fn changes(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
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
        assert_eq!(nearest("of", known), None, "too short to tell");
        assert_eq!(nearest("every", known), None, "it is there");
        assert_eq!(nearest("length", known), None);
        assert_eq!(nearest("", known), None);
    }
}
