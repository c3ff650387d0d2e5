//! Tests of servers over Streamable HTTP.

mod answers;
mod scripted;
