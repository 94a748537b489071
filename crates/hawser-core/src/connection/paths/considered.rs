//! A conclusion that is drawn once per change.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// A value and what follows from it, which is remembered until the value is changed: for what hardly ever changes and
/// is asked about several times per packet.
pub(crate) struct Considered<T, C> {
    value: T,
    conclusion: Cell<Option<C>>,
}

impl<T, C: Copy> Considered<T, C> {
    /// Nothing concluded yet.
    pub(crate) fn new(value: T) -> Self {
        Considered { value, conclusion: Cell::new(None) }
    }

    /// What follows from the value. `consider` must depend on nothing else, or whoever changes that calls
    /// [`forget`](Self::forget).
    #[inline]
    pub(crate) fn conclusion(&self, consider: impl FnOnce(&T) -> C) -> C {
        match self.conclusion.get() {
            Some(conclusion) => conclusion,
            None => self.conclude(consider),
        }
    }

    #[cold]
    fn conclude(&self, consider: impl FnOnce(&T) -> C) -> C {
        let conclusion = consider(&self.value);
        self.conclusion.set(Some(conclusion));
        conclusion
    }

    /// Nothing follows any more.
    pub(crate) fn forget(&mut self) {
        self.conclusion.set(None);
    }
}

impl<T, C> Deref for Considered<T, C> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, C> DerefMut for Considered<T, C> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.conclusion.set(None);
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conclusion_lasts_until_the_next_change() {
        let mut list = Considered::new(vec![3, 1]);
        let mut considered = 0;
        let mut least = |list: &Considered<Vec<u32>, Option<u32>>| {
            list.conclusion(|list| {
                considered += 1;
                list.iter().min().copied()
            })
        };
        assert_eq!((least(&list), least(&list)), (Some(1), Some(1)));
        list.pop();
        assert_eq!((least(&list), list.len()), (Some(3), 1));
        list.forget();
        assert_eq!(least(&list), Some(3));
        assert_eq!(considered, 3);
    }
}
