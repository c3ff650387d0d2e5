//! From results to an answer: what was computed and the results themselves are told to a model, which says what they come to.

mod cited;
mod evidence;
mod summarise;

pub use cited::cited;
pub use evidence::{Evidence, Given, Missing};
pub use summarise::{Answer, AnswerSettings, summarise};
