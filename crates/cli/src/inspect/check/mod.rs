//! `planwright check`: one plan or several, once or whenever they change, with fixes or without.

mod fix;
mod several;
mod single;
mod unproved;
mod watch;

pub(crate) use single::check;
pub(crate) use watch::watch;
pub(super) use watch::{FileStates, changed, states_of};
