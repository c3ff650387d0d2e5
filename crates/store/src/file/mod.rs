//! SQLite as the database of a store: opening the file, its identity, its migrations, its permissions, and the locks on it.

mod connect;
mod inode;
mod lease;
mod sqlite;

pub(crate) use inode::private_file;
pub(crate) use sqlite::SqliteDatabase;
