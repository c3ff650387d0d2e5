//! Plan creation: requests a plan, extracts it from the reply, applies safe repairs, checks it, and asks again with all errors.
//!
//! Design: [A model gets every diagnostic, and its own reply](https://github.com/planwright/planwright/blob/main/docs/design/planning.md#a-model-gets-every-diagnostic-and-its-own-reply).

mod conversation;
mod evaluate;
mod repair;
mod request;

pub use conversation::{PlanAttempt, PlanResponse, create};
pub(crate) use conversation::{PlanConversation, assistant_text, prose_error};
pub(crate) use evaluate::check_beginning;
pub use repair::{PlanRepair, extract};
pub(crate) use repair::{json_values, parse_decline};
pub use request::{CreateSettings, CreatedPlan, PlanOrigin, PlanRequest};
