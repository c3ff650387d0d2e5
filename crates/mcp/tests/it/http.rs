//! Servers that are reached over Streamable HTTP.

mod answers;
mod real;
mod scripted;
