use proptest::prelude::*;

use super::*;

/// Multiplication as it is taught: one bit at a time.
fn slow(mut a: u8, b: u8) -> u8 {
    let mut product = 0;
    for bit in 0..8 {
        if b >> bit & 1 == 1 {
            product ^= a;
        }
        a = (a << 1) ^ if a & 0x80 != 0 { POLYNOMIAL } else { 0 };
    }
    product
}

#[test]
fn products_and_inverses() {
    for a in 0..=255 {
        for b in 0..=255 {
            assert_eq!(mul(a, b), slow(a, b), "{a} {b}");
        }
        assert_eq!(mul(a, inverse(a)), u8::from(a != 0));
    }
    // From the table of this polynomial's field in Plank, "A tutorial on Reed-Solomon coding" (1997), of order 8.
    assert_eq!((mul(2, 128), mul(142, 2)), (0x1d, 1));
}

proptest! {
    #[test]
    fn runs_of_elements(
        source in proptest::collection::vec(any::<u8>(), 0..300),
        factor in any::<u8>(),
        length in 0..320_usize,
    ) {
        let mut row = vec![77; length];
        mul_add(&mut row, &source, factor);
        let product = source.iter().map(|element| slow(*element, factor)).chain(std::iter::repeat(0));
        let expected: Vec<u8> = product.take(length).map(|added| 77 ^ added).collect();
        prop_assert_eq!(row, expected);
    }
}
