//! The library as others embed it: tools that are opened once, plans that are checked against them and run over them.

mod builder;
mod error;
mod planwright;
mod run;
mod run_builder;
mod sources;

pub use builder::Builder;
pub use error::Error;
pub use planwright::{Planwright, parse};
pub use run::Run;
pub use run_builder::RunBuilder;
#[cfg(feature = "gateway")]
pub(crate) use run_builder::random_id;
