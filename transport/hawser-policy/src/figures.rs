//! What a policy says of itself to people who look at a connection.

/// One value of [`Figures`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// A number; its unit is the end of its name, as in `bandwidth_bps`.
    Number(f64),
    /// One of a few words, such as the phase of a state machine.
    Word(&'static str),
}

impl From<f64> for Figure {
    fn from(value: f64) -> Self {
        Figure::Number(value)
    }
}

impl From<u32> for Figure {
    fn from(value: u32) -> Self {
        Figure::Number(value.into())
    }
}

/// One or zero.
impl From<bool> for Figure {
    fn from(value: bool) -> Self {
        u32::from(value).into()
    }
}

impl From<&'static str> for Figure {
    fn from(word: &'static str) -> Self {
        Figure::Word(word)
    }
}

/// Named values of a controller or scheduler at one moment: for status pages and logs, never for decisions.
///
/// Names are short, in `snake_case`, with the unit at their end. At most [`MAX_FIGURES`] are kept, so that what is shown of a
/// connection is bounded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures(Vec<(&'static str, Figure)>);

/// The most values of [`Figures`].
pub const MAX_FIGURES: usize = 24;

impl Figures {
    /// Adds a number; one that is not finite is left out.
    pub fn number(&mut self, name: &'static str, value: f64) {
        if value.is_finite() {
            self.add(name, Figure::Number(value));
        }
    }

    /// Adds a word.
    pub fn word(&mut self, name: &'static str, value: &'static str) {
        self.add(name, Figure::Word(value));
    }

    fn add(&mut self, name: &'static str, figure: Figure) {
        if self.0.len() < MAX_FIGURES {
            self.0.push((name, figure));
        }
    }

    /// Returns the values in the order in which they were added.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, Figure)> + '_ {
        self.0.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_bounded_and_finite() {
        let mut figures = Figures::default();
        figures.number("nan", f64::NAN);
        figures.word("phase", "startup");
        (0..100).for_each(|value| figures.number("value", f64::from(value)));
        assert_eq!(figures.iter().count(), MAX_FIGURES);
        assert_eq!(figures.iter().next(), Some(("phase", Figure::Word("startup"))));
    }
}
