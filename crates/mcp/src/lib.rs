//! How Planwright speaks the Model Context Protocol.
