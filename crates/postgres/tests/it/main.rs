//! Tests of a store in a PostgreSQL server: those that every database passes, and those of leases and lost connections.

mod clients;
mod commits;
mod faults;
mod opening;
mod proxy;
mod scene;
#[path = "../../../store/tests/it/suite/mod.rs"]
mod suite;
