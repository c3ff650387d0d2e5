//! The features of an editor: what it shows and does with plans.

pub(crate) mod actions;
pub(crate) mod completion;
pub(crate) mod hover;
pub(crate) mod navigation;
pub(crate) mod paths;
pub(crate) mod shown_type;
