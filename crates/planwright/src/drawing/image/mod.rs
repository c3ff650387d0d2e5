//! Images of graphs, timelines of runs, and the page that has both.

pub(super) mod layers;
mod markup;
pub(super) mod page;
pub(super) mod svg;
mod timeline;
