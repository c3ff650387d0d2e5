//! The file itself: who may read it, how it is opened, how its tables came to be.

mod connect;
mod inode;
mod layout;
mod private;

pub(crate) use connect::{Opened, connect, open};
pub(crate) use inode::{InodeLease, StoreFile};
pub(crate) use private::{create_folder, private_file, writable_by_others};
