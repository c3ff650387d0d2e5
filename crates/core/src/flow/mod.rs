//! Flow analysis: proves, field by field and before the first call, where the arguments of every call come from.
//!
//! [`analyze`](crate::flow::analyze) walks a checked plan once. It labels each value as trusted or untrusted and as public or private, follows
//! the labels through references, expressions, loops, slots and inner plans, and reports each guarded or leaving
//! parameter with the origins of its value. The policy says which tool outputs are untrusted or private, and which
//! parameters are guarded or leave.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/flow.md). The analysis never underestimates: a value that it cannot follow gets the labels of everything it may contain.

mod analysis;
mod coverage;
mod expression;
mod graph;
mod labels;
mod outputs;
mod parameters;
mod policy;
mod report;
mod report_builder;
mod traces;

pub(crate) use analysis::FlowAnalysis;
pub use analysis::{
    FlowContext, RecalledLabels, StepLabels, analyze, argument_labels, step_labels,
};
pub use coverage::uncovered_rules;
pub use outputs::{OutputField, may_be_untrusted, may_expose, output_fields};
pub use parameters::{ParameterRule, guarded_arguments, parameter_rules};
pub use policy::{
    FlowPattern, FlowPatternError, FlowPolicy, FlowRule, Guard, OnViolation, PlannerLabel,
};
pub use report::{
    Confidentiality, FlowEdge, FlowHop, FlowOrigin, FlowParameter, FlowPath, FlowReport,
    FlowSources, FlowVerdict, Integrity, ValueLabels,
};

#[cfg(test)]
mod tests;
