//! The built-in server `workspace`: access to the files of one folder only.

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
