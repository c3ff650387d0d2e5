//! The parts that all printers share: values with references, and the report of what a dialect cannot express.

mod features;
mod loss_report;
mod values;

pub(crate) use features::{
    Feature, dependencies, follows_without_reading, report_chain, report_order, report_unsupported,
    result_variable,
};
pub(crate) use loss_report::LossReport;
pub(crate) use values::{ObjectBuilder, WriteReferences, report_nested, write_node};
