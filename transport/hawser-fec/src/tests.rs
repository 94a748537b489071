//! The codes as a whole: encode, lose, solve.

use proptest::prelude::*;
use proptest::sample::subsequence;

use super::*;

/// Repair symbols of a block.
fn encode(code: Code, source: &[Vec<u8>], first: u64, repair: u32) -> Vec<RepairSymbol> {
    let mut symbols: Vec<RepairSymbol> = (0..repair).map(RepairSymbol::new).collect();
    for (at, symbol) in source.iter().enumerate() {
        add_source(code, &mut symbols, first, first + at as u64, symbol);
    }
    symbols
}

/// What the repair symbols tell of the missing ones; zeros behind the shorter ones.
fn decode(
    code: Code,
    source: &[Vec<u8>],
    first: u64,
    missing: &[usize],
    repair: &[RepairSymbol],
) -> Vec<Option<Vec<u8>>> {
    let coefficient =
        |symbol: &RepairSymbol, at: usize| code.coefficient(symbol.index, first, first + at as u64);
    let rows: Vec<Vec<u8>> =
        repair.iter().map(|symbol| missing.iter().map(|at| coefficient(symbol, *at)).collect()).collect();
    let solution = Elimination::of(&rows, missing.len());
    let length = source.iter().map(Vec::len).max().unwrap_or(0);
    let solve = |unknown: usize| {
        let weights = solution.weights(unknown)?;
        let mut bytes = vec![0; length];
        for (symbol, weight) in repair.iter().zip(weights) {
            gf256::mul_add(&mut bytes, &symbol.bytes, *weight);
            for at in (0..source.len()).filter(|at| !missing.contains(at)) {
                gf256::mul_add(&mut bytes, &source[at], gf256::mul(*weight, coefficient(symbol, at)));
            }
        }
        Some(bytes)
    };
    (0..missing.len()).map(solve).collect()
}

fn padded(source: &[Vec<u8>], at: usize) -> Vec<u8> {
    let mut symbol = source[at].clone();
    symbol.resize(source.iter().map(Vec::len).max().unwrap_or(0), 0);
    symbol
}

/// A block of 1 to 64 symbols of up to 80 bytes, 1 to 32 repair symbols, and as many losses as these allow, spread over
/// source and repair.
#[derive(Clone, Debug)]
struct Losses {
    source: Vec<Vec<u8>>,
    first: u64,
    missing: Vec<usize>,
    repair: u32,
    kept: Vec<usize>,
}

fn losses() -> impl Strategy<Value = Losses> {
    let source = proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..80), 1..=64);
    (source, 1..=32_u32, 0..1_u64 << 40).prop_flat_map(|(source, repair, first)| {
        let most = source.len().min(repair as usize);
        (Just(source), Just(repair), Just(first), 1..=most).prop_flat_map(|(source, repair, first, lost)| {
            let (all, rows) =
                ((0..source.len()).collect::<Vec<_>>(), (0..repair as usize).collect::<Vec<_>>());
            (Just(source), Just(repair), Just(first), subsequence(all, lost), subsequence(rows, lost))
                .prop_map(|(source, repair, first, missing, kept)| Losses {
                    source,
                    first,
                    missing,
                    repair,
                    kept,
                })
        })
    })
}

proptest! {
    #[test]
    fn any_k_of_n_symbols_of_a_block_are_enough(case in losses()) {
        let repair = encode(Code::ReedSolomon, &case.source, case.first, case.repair);
        let kept: Vec<RepairSymbol> = case.kept.iter().map(|at| repair[*at].clone()).collect();
        let found = decode(Code::ReedSolomon, &case.source, case.first, &case.missing, &kept);
        for (missing, found) in case.missing.iter().zip(found) {
            prop_assert_eq!(found, Some(padded(&case.source, *missing)));
        }
    }

    #[test]
    fn what_random_combinations_determine_is_right(case in losses()) {
        let repair = encode(Code::RandomLinear, &case.source, case.first, case.repair);
        let kept: Vec<RepairSymbol> = case.kept.iter().map(|at| repair[*at].clone()).collect();
        let found = decode(Code::RandomLinear, &case.source, case.first, &case.missing, &kept);
        for (missing, found) in case.missing.iter().zip(found) {
            prop_assert!(found.is_none_or(|found| found == padded(&case.source, *missing)));
        }
    }

    #[test]
    fn exclusive_or_brings_back_one_and_no_more(case in losses()) {
        let repair = encode(Code::Xor, &case.source, case.first, 1);
        let found = decode(Code::Xor, &case.source, case.first, &case.missing[..1], &repair);
        prop_assert_eq!(&found[0], &Some(padded(&case.source, case.missing[0])));
        if case.missing.len() > 1 {
            let found = decode(Code::Xor, &case.source, case.first, &case.missing, &repair);
            prop_assert!(found.iter().all(Option::is_none));
        }
    }
}

/// A random square matrix over this field cannot be inverted in 1/255 of the cases and a little more; here no coefficient
/// is zero, which changes little.
#[test]
fn random_combinations_fail_once_in_250() {
    let (mut failed, cases) = (0, 20_000_u32);
    for case in 0..cases {
        let missing = 1 + case as usize % 8;
        let row = |at: u32| -> Vec<u8> {
            let repair = case * 8 + at;
            (0..missing as u64)
                .map(|index| Code::RandomLinear.coefficient(repair, 0, 7 * u64::from(case) + index))
                .collect()
        };
        let rows: Vec<Vec<u8>> = (0..missing as u32).map(row).collect();
        let solution = Elimination::of(&rows, missing);
        failed += u32::from(!(0..missing).all(|unknown| solution.is_determined(unknown)));
    }
    // 7 of 8 cases are about more than one symbol; one alone never fails.
    let share = f64::from(failed) / f64::from(cases);
    assert!((0.002..0.006).contains(&share), "{share}");
}

/// One symbol more than needed, and failures all but vanish.
#[test]
fn one_combination_more_is_nearly_always_enough() {
    let failed = (0..20_000_u32).filter(|case| {
        let rows: Vec<Vec<u8>> = (0..6)
            .map(|at| (0..5).map(|index| Code::RandomLinear.coefficient(case * 8 + at, 0, index)).collect())
            .collect();
        let solution = Elimination::of(&rows, 5);
        !(0..5).all(|unknown| solution.is_determined(unknown))
    });
    assert!(failed.count() <= 5);
}

/// Windows that slide: an early loss that is beyond repair does not keep a later one from being brought back.
#[test]
fn what_is_not_determined_does_not_spoil_the_rest() {
    // Unknown 0 and 1 only in the first equation, unknown 2 alone in the second.
    let solution = Elimination::of(&[vec![3, 7, 0], vec![0, 0, 9]], 3);
    assert_eq!([0, 1, 2].map(|unknown| solution.is_determined(unknown)), [false, false, true]);
    assert_eq!(solution.weights(2), Some(&[0, gf256::inverse(9)][..]));
    assert!(Elimination::of(&[], 2).weights(0).is_none() && solution.weights(9).is_none());
}

#[test]
fn coefficients_of_a_block_are_those_of_a_cauchy_matrix() {
    let coefficient = |repair, index| Code::ReedSolomon.coefficient(repair, 1_000, 1_000 + index);
    assert_eq!(gf256::mul(coefficient(0, 0), 64), 1);
    assert_eq!(gf256::mul(coefficient(31, 63), 95 ^ 63), 1);
    for repair in 0..Code::MAX_REPAIR as u32 {
        for index in 0..Code::MAX_SOURCE {
            assert_ne!(coefficient(repair, index), 0);
            assert_ne!(Code::RandomLinear.coefficient(repair, 0, index), 0);
        }
    }
    // What peers must agree on.
    assert_eq!([0, 1, 2, 3].map(|index| Code::RandomLinear.coefficient(1, 0, index)), [197, 248, 175, 4]);
}
