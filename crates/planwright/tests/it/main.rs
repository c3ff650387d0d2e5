//! The program as its users meet it.

mod cases;
mod program;
