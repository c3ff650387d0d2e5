//! The conversion of a plan into another dialect, `planwright.conversion/1`.

use planwright_core::Diagnostic;
use serde::Serialize;

/// The schema's name and version.
pub const CONVERSION_SCHEMA: &str = "planwright.conversion/1";

/// A plan in another dialect, or why there is none.
#[derive(Clone, Debug, Serialize)]
pub struct ConversionV1 {
    /// [`CONVERSION_SCHEMA`].
    pub schema: &'static str,
    /// True if the plan was converted.
    pub ok: bool,
    /// The dialect that the plan was read in, as far as it is known.
    pub from: Option<String>,
    /// The dialect that the plan was to be written in.
    pub dialect: String,
    /// The text of the converted plan; none where something could not be said.
    pub plan: Option<String>,
    /// The diagnostics of the plan, and of everything that the dialect cannot express. Places are those of the plan as it was read.
    pub diagnostics: Vec<Diagnostic>,
}

impl ConversionV1 {
    /// The conversion of a plan `from` one dialect `to` another, with what was found on the way.
    pub fn new(
        from: Option<&str>,
        to: &str,
        plan: Option<&str>,
        diagnostics: impl IntoIterator<Item = Diagnostic>,
    ) -> Self {
        Self {
            schema: CONVERSION_SCHEMA,
            ok: plan.is_some(),
            from: from.map(str::to_owned),
            dialect: to.to_owned(),
            plan: plan.map(str::to_owned),
            diagnostics: diagnostics.into_iter().collect(),
        }
    }
}
