//! The database file: opening it, its identity, its migrations, and its permissions.

mod connect;
mod inode;
mod migrations;
mod permissions;

pub(crate) use connect::{OpenedFile, connect, open};
pub(crate) use inode::{InodeLease, StoreFile};
pub(crate) use permissions::{create_folder, private_file, writable_by_others};
