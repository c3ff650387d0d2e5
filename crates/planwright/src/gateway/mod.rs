//! The gateway: one MCP server in front of many, which a model hands its plans to.

/// Which tools a few words are about.
pub mod search;

/// Tools in few words, as a model reads them.
pub mod signatures;

/// Which tools there are now, and where one can go from here.
pub mod stages;
