//! Tests of the agentle dialect.
