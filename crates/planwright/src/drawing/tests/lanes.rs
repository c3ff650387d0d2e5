//! Agreement of the lanes with the edges, for any graph.

use proptest::prelude::*;

use super::{plan, step};
use crate::drawing::Symbols;
use crate::drawing::graph::Graph;
use crate::drawing::lanes::{RowOrder, StepRow, rows};

/// Returns the predecessors of the step in row `row` of the picture: the steps at whose symbols the lanes end that join above it.
fn leads_to(rows: &[StepRow], row: usize) -> Vec<usize> {
    let column = |row: &StepRow| row.left.chars().count() / 2;
    let at = |line: &str, column: usize| line.chars().nth(column * 2).unwrap_or(' ');
    let target = column(&rows[row]);
    let has_up = |character: char| "│┊├┤┼╯╰┴".contains(character);
    let line_above = |row: usize| {
        let above = &rows[row - 1];
        format!("{}● {}", above.left, above.right)
    };
    let columns: Vec<usize> = match &rows[row].joint {
        Some(joint) => (0..=joint.chars().count() / 2)
            .filter(|column| {
                let character = at(joint, *column);
                let is_crossed = "│┊".contains(character) && *column != target;
                has_up(character) && !is_crossed
            })
            .collect(),
        None if row > 0 && "│┊".contains(at(&line_above(row), target)) => vec![target],
        None => Vec::new(),
    };
    let mut found: Vec<usize> = columns
        .into_iter()
        .map(|lane| {
            let mut above = row - 1;
            while column(&rows[above]) != lane {
                assert!(
                    "│┊".contains(at(&line_above(above + 1), lane)),
                    "a lane is broken"
                );
                let joint = rows[above].joint.as_deref();
                assert!(
                    joint.is_none_or(|joint| "│┊├┤┼".contains(at(joint, lane))),
                    "a lane is broken"
                );
                above -= 1;
            }
            rows[above].step
        })
        .collect();
    found.sort_unstable();
    found
}

proptest! {
    /// Every edge of any graph is a lane or a name, there are no others, and lanes stay within bounds.
    #[test]
    fn lanes_are_the_edges(graph in prop::collection::vec(prop::collection::vec(0_usize..60, 0..4), 1..60)) {
        let ids: Vec<String> = (0..graph.len()).map(|number| format!("s{number}")).collect();
        let mut wanted = Vec::new();
        let steps = graph.iter().enumerate().map(|(number, reads)| {
            let mut reads: Vec<usize> = reads.iter().filter(|read| **read < number).copied().collect();
            reads.sort_unstable();
            reads.dedup();
            let names: Vec<&str> = reads.iter().map(|read| ids[*read].as_str()).collect();
            wanted.push(reads);
            step(&ids[number], "work", &names)
        });
        let graph = Graph::of_unchecked(&plan(steps.collect()), "");
        let rows = rows(&graph, &RowOrder::of(&graph), Symbols::Unicode);
        for (number, row) in rows.iter().enumerate() {
            let mut found = leads_to(&rows, number);
            found.extend(&row.named);
            found.sort_unstable();
            prop_assert_eq!(&found, &wanted[row.step]);
            prop_assert!(row.left.chars().count() + 2 + row.right.chars().count() <= 26);
        }
    }
}
