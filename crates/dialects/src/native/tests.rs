//! Tests of the native dialect.

mod printing;
mod reading;
