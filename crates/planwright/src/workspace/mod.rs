//! The built-in server `workspace`: files of one folder, and of no other.

mod confine;
mod count_lines;
mod list_files;
mod read_file;
mod search_text;
mod server;
mod tool;
mod walk;
mod write_file;

pub use server::Workspace;

#[cfg(test)]
mod tests;
