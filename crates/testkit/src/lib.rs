//! What tests share: a fake MCP server, golden files, scripted tools.
