//! Documents of single commands.

mod answer;
mod config;
mod conversion;
mod created;
mod setup;
mod streamed;

pub use answer::{ANSWER_SCHEMA, AnswerV1, MissingV1};
pub use config::{CONFIG_SCHEMA, ConfigFileV1, ConfigV1, SettingV1};
pub use conversion::{CONVERSION_SCHEMA, ConversionV1};
pub use created::{AttemptV1, CREATED_SCHEMA, CreatedV1, DeclinedV1, ModelErrorV1, RepairV1};
pub use setup::{
    CarriedRuleV1, CarriedRulesV1, INIT_SCHEMA, InitV1, RenamedServerV1, StayingServerV1,
    WRAP_SCHEMA, WrapV1, WrappedFileV1,
};
pub use streamed::{EarlyCallV1, StreamedV1};
