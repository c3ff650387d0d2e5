//! Tests of the native dialect.

mod reading;
