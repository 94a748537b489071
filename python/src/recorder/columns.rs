//! Columns that grow by a value at a time.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, StringDictionaryBuilder, UInt64Builder};
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::Field;

/// Whole numbers.
#[derive(Default)]
pub(super) struct Numbers(UInt64Builder);

impl Numbers {
    pub(super) fn push(&mut self, value: u64) {
        self.0.append_value(value);
    }

    pub(super) fn push_option(&mut self, value: Option<u64>) {
        self.0.append_option(value);
    }

    pub(super) fn finish(mut self, name: &str) -> (Field, ArrayRef) {
        named(name, Arc::new(self.0.finish()))
    }
}

/// Truth values.
#[derive(Default)]
pub(super) struct Flags(BooleanBuilder);

impl Flags {
    pub(super) fn push(&mut self, value: bool) {
        self.0.append_value(value);
    }

    pub(super) fn finish(mut self, name: &str) -> (Field, ArrayRef) {
        named(name, Arc::new(self.0.finish()))
    }
}

/// Texts of which there are few: a dictionary, so that a row takes four bytes.
#[derive(Default)]
pub(super) struct Texts(StringDictionaryBuilder<Int32Type>);

impl Texts {
    pub(super) fn push(&mut self, text: &str) {
        self.0.append_value(text);
    }

    pub(super) fn push_option(&mut self, text: Option<&str>) {
        self.0.append_option(text);
    }

    pub(super) fn finish(mut self, name: &str) -> (Field, ArrayRef) {
        named(name, Arc::new(self.0.finish()))
    }
}

/// A column whose values may be missing.
pub(super) fn optional_numbers(name: &str, values: Vec<Option<u64>>) -> (Field, ArrayRef) {
    named(name, Arc::new(UInt64Array::from(values)))
}

fn named(name: &str, array: ArrayRef) -> (Field, ArrayRef) {
    (Field::new(name, array.data_type().clone(), true), array)
}
