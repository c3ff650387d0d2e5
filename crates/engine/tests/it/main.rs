//! Tests of whole runs, driven by hand in any order and by tokio.

mod calls;
mod computing;
mod consent;
mod draining;
mod drive;
mod driver;
mod durations;
mod flow;
mod guards;
mod handing_over;
mod large;
mod loops;
mod properties;
mod provisional;
mod questions;
mod resume;
mod simulation;
