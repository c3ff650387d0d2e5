//! The one meaning of a plan, whichever dialect it was written in.

mod ids;
mod node;
pub(crate) mod reference;
mod slot;
mod step;
mod whole;

pub use ids::StepId;
pub use node::{Field, Node, NodeKind, TextPart};
pub use reference::{Alternative, Form, Missing, Outside, Path, Read, Reference, Segment, Source};
pub use slot::{Method, SlotKind, SlotPath, Targets, Writes};
pub use step::{
    Action, Approval, Company, ForEach, Idempotency, Name, OnError, PlanCall, PlanTarget, Repeat,
    Retry, Step,
};
pub use whole::{
    Content, Input, InputKind, Mode, OnFailure, Ordering, Output, Plan, Sharing, SlotSchema,
};
