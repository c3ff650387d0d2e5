//! The program as its users meet it.

mod approvals;
mod cases;
mod code_pages;
mod convert;
mod converted;
mod crashes;
mod decisions;
mod demo;
mod durations;
mod embedding;
mod examples;
mod exits;
mod findings;
mod guards;
mod guide;
mod inspect;
mod interrupts;
mod program;
mod real_servers;
mod reference;
mod resume;
mod runs;
mod secrets;
mod stored;
mod trust;
mod workflows;
