//! Ranks: the longest remaining path of each task, the longest first.

/// The estimate for an unknown task. Ranks are sums of estimates, in microseconds.
pub const UNIT: u64 = 1_000_000;

/// The longest remaining path from the start of each task, including its own estimate.
///
/// `weights` are the estimates of the tasks; `waits` lists the tasks that each one waits for. The graph must be
/// acyclic (a task on a cycle counts as if nothing followed it). Linear in tasks and waits.
pub fn ranks(weights: &[u64], waits: &[Vec<u32>]) -> Vec<u64> {
    if is_in_order(waits) {
        return ranks_in_order(weights, waits);
    }
    let mut ranks = weights.to_vec();
    let mut open: Vec<u32> = vec![0; weights.len()];
    for list in waits {
        for &on in list {
            if let Some(count) = open.get_mut(on as usize) {
                *count += 1;
            }
        }
    }
    let mut done: Vec<usize> = open
        .iter()
        .enumerate()
        .filter(|(_, count)| **count == 0)
        .map(|(task, _)| task)
        .collect();
    while let Some(task) = done.pop() {
        let behind = ranks.get(task).copied().unwrap_or(0);
        for &on in waits.get(task).into_iter().flatten() {
            let on = on as usize;
            let own = weights.get(on).copied().unwrap_or(0);
            if let Some(rank) = ranks.get_mut(on) {
                *rank = (*rank).max(own.saturating_add(behind));
            }
            if let Some(count) = open.get_mut(on) {
                *count -= 1;
                if *count == 0 {
                    done.push(on);
                }
            }
        }
    }
    ranks
}

/// Returns true if each task waits only for earlier ones.
fn is_in_order(waits: &[Vec<u32>]) -> bool {
    (0..)
        .zip(waits)
        .all(|(task, on): (u32, _)| on.iter().all(|on| *on < task))
}

/// The ranks for tasks that wait only for earlier ones, as in most plans: backwards, each task comes before those that
/// it waits for.
fn ranks_in_order(weights: &[u64], waits: &[Vec<u32>]) -> Vec<u64> {
    // Before its turn, the entry of a task is the longest path after it.
    let mut ranks = vec![0_u64; weights.len()];
    for (task, weight) in weights.iter().enumerate().rev() {
        let Some(rank) = ranks.get_mut(task) else {
            continue;
        };
        *rank = rank.saturating_add(*weight);
        let rank = *rank;
        for on in waits.get(task).into_iter().flatten() {
            if let Some(behind) = ranks.get_mut(*on as usize) {
                *behind = (*behind).max(rank);
            }
        }
    }
    ranks
}
