//! The parts that all printers share: values with references, and the report of what a dialect cannot express.

mod features;
mod writer;

pub(crate) use features::{
    Feature, dependencies, follows_without_reading, report_chain, report_order, report_unsupported,
    result_variable,
};
pub(crate) use writer::{LossReport, ObjectBuilder, WriteReferences, report_nested, write_node};
