//! A result that is computed once per change.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};

/// A value and what was computed from it, which is remembered until the value is changed: for what hardly ever changes
/// and is asked for several times per packet.
pub(crate) struct Memo<T, R> {
    value: T,
    result: Cell<Option<R>>,
}

impl<T, R: Copy> Memo<T, R> {
    /// Nothing computed yet.
    pub(crate) fn new(value: T) -> Self {
        Memo { value, result: Cell::new(None) }
    }

    /// What follows from the value. `compute` must depend on nothing else, or the code that changes that calls
    /// [`forget`](Self::forget).
    #[inline]
    pub(crate) fn result(&self, compute: impl FnOnce(&T) -> R) -> R {
        match self.result.get() {
            Some(result) => result,
            None => self.remember(compute),
        }
    }

    #[cold]
    fn remember(&self, compute: impl FnOnce(&T) -> R) -> R {
        let result = compute(&self.value);
        self.result.set(Some(result));
        result
    }

    /// The result is to be computed again.
    pub(crate) fn forget(&mut self) {
        self.result.set(None);
    }
}

impl<T, R> Deref for Memo<T, R> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T, R> DerefMut for Memo<T, R> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.result.set(None);
        &mut self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_remembered_until_the_next_change() {
        let mut list = Memo::new(vec![3, 1]);
        let mut computed = 0;
        let mut least = |list: &Memo<Vec<u32>, Option<u32>>| {
            list.result(|list| {
                computed += 1;
                list.iter().min().copied()
            })
        };
        assert_eq!((least(&list), least(&list)), (Some(1), Some(1)));
        list.pop();
        assert_eq!((least(&list), list.len()), (Some(3), 1));
        list.forget();
        assert_eq!(least(&list), Some(3));
        assert_eq!(computed, 3);
    }
}
