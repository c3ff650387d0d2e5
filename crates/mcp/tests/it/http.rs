//! Servers that are reached over Streamable HTTP.

mod real;
