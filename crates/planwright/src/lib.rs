//! Check and run declarative plans of tool calls over MCP servers: library and command line.
