//! The file itself: who may read it, how it is opened, how its tables came to be.

mod connect;
mod layout;
mod private;

pub(crate) use connect::{connect, open};
pub(crate) use private::private_file;
