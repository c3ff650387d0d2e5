//! Tests of the expression language: tables of texts with their forms, values and costs.

mod computing;
mod cost;
mod foreign;
mod functions;
mod reading;
mod round_trip;
mod typing;
