//! The database file: opening it, its identity, its migrations, and its permissions.

mod connect;
mod inode;

pub(crate) use connect::{OpenedFile, connect, open};
pub(crate) use inode::{InodeLease, StoreFile, create_folder, private_file, writable_by_others};
