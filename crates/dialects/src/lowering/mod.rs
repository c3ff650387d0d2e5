//! Conversion of values with places to nodes of a plan: the parts that all dialects share.

pub(crate) mod call_arguments;
pub(crate) mod foreign_code;
pub(crate) mod guards;
pub(crate) mod lines;
pub(crate) mod nested_calls;
pub(crate) mod path;
pub(crate) mod prose;
pub(crate) mod python_arguments;
mod values;

pub use values::{ReferenceSyntax, lower};

pub(crate) use values::{
    Fragment, LowerResult, LoweringContext, MarkedText, NoReferences, call_id, lower_fields,
    lower_fragments, lower_template, object_or_json_text, parse_calls, parse_document,
    report_cut_off, text_or_number, tool_action, unreadable,
};
