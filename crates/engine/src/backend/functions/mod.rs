//! Tools that are Rust functions of the program itself.

mod function;
mod schemas;
mod server;
mod sharable;

pub use function::Function;
pub use server::Functions;
pub use sharable::Sharable;

#[cfg(test)]
mod tests;
