//! SQLite as the database of a store: opening the file, its identity, its migrations, its permissions, and the locks on it.

mod connect;
mod inode;
mod lease;
mod sqlite;

pub use inode::create_own_folder;
pub(crate) use inode::{private_file, private_file_in_folder};
pub(crate) use sqlite::SqliteDatabase;
