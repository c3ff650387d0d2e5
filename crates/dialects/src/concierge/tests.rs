//! Tests of the Concierge dialect.
