//! Tools that are Rust functions of the program itself.

mod function;
mod server;

pub use function::Function;
pub use server::{Functions, Sharable};

#[cfg(test)]
mod tests;
