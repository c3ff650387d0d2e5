//! Inputs for the target `mcp-cli`.
#![no_main]

planwright_fuzz_targets::target!("mcp-cli");
