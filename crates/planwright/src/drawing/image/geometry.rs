//! The sizes and points of images, in pixels.

/// The size of a step's box, in pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::drawing) struct BoxSize {
    pub(in crate::drawing) width: f64,
    pub(in crate::drawing) height: f64,
}

/// A point, in pixels from the upper left corner.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::drawing) struct Point {
    pub(in crate::drawing) x: f64,
    pub(in crate::drawing) y: f64,
}

/// A count, as a length.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of nodes and lines are small"
)]
pub(super) fn real(count: usize) -> f64 {
    count as f64
}
