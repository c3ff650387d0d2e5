//! Tests of the mcp-cli dialect.
