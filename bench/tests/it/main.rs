//! Workflows with known durations: how long all takes in our order, beside what no order can beat.

mod command;
mod makespan;
mod shapes;
