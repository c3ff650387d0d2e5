//! Tests of the check, by pass.

mod arguments;
mod cycles;
mod dependencies;
mod expressions;
mod external_values;
mod fixes;
mod fixture;
mod inputs;
mod large;
mod names;
mod plans;
mod policy;
mod positional;
mod positions;
mod properties;
mod references;
mod slots;
mod speculative;
