//! Documents of single commands.

mod answer;
mod flow;
mod plans;
mod setup;

pub use answer::{ANSWER_SCHEMA, AnswerV1, MissingV1};
pub use flow::{FLOW_SCHEMA, FLOW_TOOLS_SCHEMA, FlowToolV1, FlowToolsV1, FlowV1};
pub use plans::{
    AttemptV1, CONVERSION_SCHEMA, CREATED_SCHEMA, ConversionV1, CreatedV1, DeclinedV1, EarlyCallV1,
    ModelErrorV1, RepairV1, StreamedV1,
};
pub use setup::{
    CONFIG_SCHEMA, CarriedRuleV1, CarriedRulesV1, ConfigFileV1, ConfigV1, INIT_SCHEMA, InitV1,
    RenamedServerV1, SettingV1, StayingServerV1, WRAP_SCHEMA, WrapV1, WrappedFileV1,
};
