//! The data model of a plan, the same for all dialects.
//!
//! See [the design](https://github.com/planwright/planwright/blob/main/docs/design/plans.md#every-dialect-becomes-the-same-plan).

mod definition;
mod keyword;
mod node;
pub(crate) mod reference;
mod retry;
mod step;

/// The id of the step that represents the results of earlier runs. Its place is [`Place::NOWHERE`](crate::Place::NOWHERE): it is
/// not written in the plan.
pub const RECALLED_STEP: &str = "runs";

pub use definition::{InitialValues, Input, InputKind, Output, Plan, SlotSchema};
pub use keyword::{Keyword, Method, Mode, OnFailure, Ordering, Sharing, SlotKind};
pub use node::{Field, Node, NodeKind, TextPart};
pub use reference::{
    Alternative, ExternalValue, Form, Missing, Path, Read, Reference, Segment, SlotPath, Source,
    Targets, Writes,
};
pub use retry::{RETRY_FIELDS, Retry, RetryAccess, RetryField, RetryFieldKind, RetryPolicy};
pub(crate) use step::SelfReference;
pub use step::{
    Action, Approval, Concurrency, ForEach, Idempotency, Name, OnError, PlanCall, PlanTarget,
    Repeat, Step, Undo,
};
