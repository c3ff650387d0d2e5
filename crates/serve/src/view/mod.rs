//! The page of runs as a view in clients that show views, and its tokens.

mod page;
mod tokens;

pub(crate) use page::{DECIDE_CALL, READ_VIEW, decide_call, read_run_view, with_view};
pub(crate) use tokens::ViewTokens;
pub use tokens::{PageRequest, RunPage};
