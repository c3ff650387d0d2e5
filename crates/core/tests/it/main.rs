//! Tests of the public API.

mod cel;
