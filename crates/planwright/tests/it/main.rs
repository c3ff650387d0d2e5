//! The program as its users meet it.

mod cases;
mod code_pages;
mod demo;
mod exits;
mod findings;
mod inspect;
mod interrupts;
mod program;
mod real_servers;
mod trust;
mod workflows;
