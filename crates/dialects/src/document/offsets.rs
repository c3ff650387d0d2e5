//! A map from the bytes of a text value to the bytes of the text around it, with escapes taken into account.

use std::ops::Range;

use planwright_core::{Place, PointerSegment, Source, Span};

use super::string_literal;

/// The map from the bytes of a text value to the place where each was written.
#[derive(Debug)]
pub struct Offsets {
    whole: Span,
    runs: Option<Vec<OffsetRun>>,
}

/// A run of bytes over which both sides advance byte by byte, up to the next run.
#[derive(Clone, Copy, Debug)]
pub(super) struct OffsetRun {
    pub(super) inner: usize,
    pub(super) outer: usize,
}

impl Offsets {
    /// The offsets of the text value at `place`. If they cannot be known (a text inside of a text inside of a text),
    /// every byte maps to the whole value.
    pub fn of(source: &Source, place: Place) -> Self {
        let whole = source.span(place).unwrap_or_default();
        let runs = source
            .text()
            .get(whole.start..whole.end)
            .filter(|written| written.starts_with('"'))
            .map(|_| string_literal::offset_runs(source.text(), whole.start + 1));
        Self { whole, runs }
    }

    /// The offsets of a text without escapes that is `length` bytes long and begins at byte `start` of the text around
    /// it.
    pub(crate) fn plain(start: usize, length: usize) -> Self {
        Self {
            whole: (start..start + length).into(),
            runs: Some(vec![OffsetRun {
                inner: 0,
                outer: start,
            }]),
        }
    }

    /// Adds a run: byte `inner` of the value is byte `outer` of the text around it.
    pub(crate) fn push_run(&mut self, inner: usize, outer: usize) {
        if let Some(runs) = &mut self.runs {
            runs.push(OffsetRun { inner, outer });
        }
    }

    /// The span of `range` of the value.
    pub fn span(&self, range: Range<usize>) -> Span {
        match &self.runs {
            Some(runs) => {
                let start = locate(runs, range.start);
                let end = locate(runs, range.end);
                Span {
                    start,
                    end: end.max(start),
                }
            }
            None => self.whole,
        }
    }

    /// Adds a place to `source` for `range` of the value at `place`; its pointer is that of the value.
    pub fn place(&self, source: &mut Source, place: Place, range: Range<usize>) -> Place {
        source.add(place, PointerSegment::Root, self.span(range))
    }
}

fn locate(runs: &[OffsetRun], inner: usize) -> usize {
    // Runs are sorted, so the last one that begins at or before the byte applies.
    let after = runs.partition_point(|push_run| push_run.inner <= inner);
    match runs[..after].last() {
        Some(push_run) => push_run.outer + (inner - push_run.inner),
        None => inner,
    }
}
