//! Tests of the clear-ai dialect.
