//! Images of graphs, timelines of runs, and the page that has both.

mod fenwick_tree;
pub(super) mod geometry;
pub(super) mod graph_layout;
mod grid;
pub(super) mod layers;
mod markup;
mod page;
mod placed;
pub(super) mod run_parts;
pub(super) mod run_record;
pub(super) mod svg;
mod timeline;
