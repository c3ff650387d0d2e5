//! Plan creation: requests a plan, extracts it from the reply, applies safe repairs, checks it, and asks again with all errors.
//!
//! Design: [A model gets every diagnostic, and its own reply](https://github.com/planwright/planwright/blob/main/docs/design/planning.md#a-model-gets-every-diagnostic-and-its-own-reply).

mod conversation;
mod evaluate;
mod repair;

pub use conversation::{
    CreateSettings, CreatedPlan, PlanAttempt, PlanOrigin, PlanRequest, PlanResponse, create,
};
pub(crate) use conversation::{PlanConversation, assistant_text, prose_error};
pub(crate) use evaluate::check_beginning;
pub(crate) use repair::parse_decline;
pub use repair::{PlanRepair, extract};
