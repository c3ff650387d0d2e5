//! From a sentence to a sound plan: asked for, found in the answer, mended where that is safe, checked, and asked for again with
//! everything that was wrong.

mod attempt;
mod extract;
mod meta;
mod reading;
mod repair;
mod slots;
mod written;

pub use attempt::{Attempt, CreateSettings, Created, CreatedPlan, Creation, create};
pub(crate) use attempt::{Dialogue, only_words, said};
pub(crate) use extract::declined;
pub use extract::extract;
pub use meta::Origin;
pub(crate) use reading::beginning;
pub use repair::Repair;
