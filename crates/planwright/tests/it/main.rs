//! The program as its users meet it.

mod cases;
mod demo;
mod exits;
mod interrupts;
mod program;
mod real_servers;
mod trust;
