//! Plan creation: requests a plan, extracts it from the reply, applies safe repairs, checks it, and asks again with all errors.

mod conversation;
mod evaluate;
mod extract;
mod repair;
mod request;

pub use conversation::create;
pub(crate) use conversation::{PlanConversation, assistant_text, prose_error};
pub(crate) use evaluate::check_beginning;
pub use extract::extract;
pub(crate) use extract::parse_decline;
pub use repair::PlanRepair;
pub use request::{
    CreateSettings, CreatedPlan, PlanAttempt, PlanOrigin, PlanRequest, PlanResponse,
};
