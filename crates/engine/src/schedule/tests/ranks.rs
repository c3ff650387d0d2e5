//! Ranks: the longest path after each task.

use crate::schedule::ranks;

#[track_caller]
fn check(weights: &[u64], waits: &[&[u32]], expected: &[u64]) {
    let waits: Vec<Vec<u32>> = waits.iter().map(|list| list.to_vec()).collect();
    assert_eq!(ranks(weights, &waits), expected);
}

#[test]
fn the_longest_path_counts() {
    check(&[], &[], &[]);
    check(&[3, 5], &[&[], &[]], &[3, 5]);
    check(&[3, 5, 7], &[&[], &[0], &[1]], &[15, 12, 7]);
    // Two ways of different length, which meet again.
    check(
        &[1, 20, 3, 4, 5],
        &[&[], &[0], &[0], &[2], &[1, 3]],
        &[26, 25, 12, 9, 5],
    );
    // A dependency that is listed twice counts once.
    check(&[1, 1], &[&[], &[0, 0]], &[2, 1]);
    check(&[u64::MAX, 1], &[&[], &[0]], &[u64::MAX, 1]);
}

#[test]
fn tasks_stand_in_any_order() {
    check(&[3, 5], &[&[1], &[]], &[3, 8]);
    check(&[1, 2, 4], &[&[1], &[2], &[]], &[1, 3, 7]);
    check(&[1, 2, 4, 8], &[&[3], &[0], &[0, 1], &[]], &[7, 6, 4, 15]);
}

#[test]
fn what_is_on_a_cycle_counts_by_itself() {
    check(&[1, 2, 4], &[&[1], &[0], &[0]], &[5, 2, 4]);
    check(&[1, 2], &[&[], &[0, 1]], &[1, 2]);
}
