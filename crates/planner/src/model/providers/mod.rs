//! Real models over HTTP, through `genai`, which knows what each provider wants to hear.
//!
//! What is ours: which failures get another attempt and when, how long anything may take, what is counted, what an answer
//! that broke off looks like, and that a key shows up nowhere.
//!
//! The modules are listed in the order in which a question passes through them.

/// Which provider, and what of it has to be known.
mod provider_name;

/// What a provider is opened with.
mod settings;

/// The connection to it.
mod connection;

/// One question after the other.
mod provider;

/// Questions as `genai` takes them.
mod question;

/// The form of an answer, within the rules of each provider.
mod answer_form;

/// One attempt at an answer.
mod attempt;

/// Answers as `genai` gives them.
mod answer;

/// The parts of an answer that `genai` does not read.
mod omitted;

/// What was thought before tools were called.
mod thoughts;

/// What went wrong with an attempt.
mod failure;

/// What a provider says about its failure.
mod explanation;

/// How long a provider asks to be left alone.
mod pause;

/// What is left out of a question because the model takes no such thing.
mod refused_part;

/// When another attempt is made.
mod retry;

pub use provider::Provider;
pub use provider_name::{key_variable, names};
pub use settings::{Key, Prices, ProviderSettings};

use super::ModelError;

/// Opens a model. Nothing is sent yet.
///
/// # Errors
///
/// Where there is no such provider, or it needs something that `settings` do not say.
pub fn open(settings: ProviderSettings) -> Result<Provider, ModelError> {
    Provider::open(settings)
}
