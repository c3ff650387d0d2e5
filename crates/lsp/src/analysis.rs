//! The analysis of a text: the plan in it, its diagnostics, types and labels.

use std::ops::Range;

use planwright::core::check::{PlanInspection, StepTypes};
use planwright::core::{Place, Plan, PointerSegment, Sources};
use planwright::dialects::{ParseResult, ReadOptions, parse};
use planwright::loaded_plan::LoadedPlan;

use crate::occurrences::{StepOccurrence, occurrences};
use crate::server::PlanTools;

/// A text as it was read and checked.
#[derive(Debug)]
pub(crate) struct TextAnalysis {
    pub(crate) loaded: LoadedPlan,
    /// The plan, if the text is one.
    pub(crate) plan: Option<AnalyzedPlan>,
}

/// A plan and what is known about it.
#[derive(Debug)]
pub(crate) struct AnalyzedPlan {
    pub(crate) plan: Plan,
    pub(crate) inspection: PlanInspection,
    /// The places at which the text names steps.
    pub(crate) occurrences: Vec<StepOccurrence>,
}

impl TextAnalysis {
    /// Reads and checks `text`, which diagnostics call `name`.
    pub(crate) fn new(name: &str, text: &str, tools: &PlanTools) -> Self {
        let result = read(name, text);
        let plan = result.plan.clone();
        let (loaded, inspection) =
            LoadedPlan::new(name, result).inspect(&tools.catalog, &tools.policy);
        let plan = plan.zip(inspection).map(|(plan, inspection)| AnalyzedPlan {
            occurrences: occurrences(&plan, text),
            plan,
            inspection,
        });
        Self { loaded, plan }
    }
}

/// Reads a text in any dialect.
pub(crate) fn read(name: &str, text: &str) -> ParseResult {
    parse(text.as_bytes(), &ReadOptions::new(name))
}

impl AnalyzedPlan {
    /// The types of the step with this id.
    pub(crate) fn types(&self, id: &str) -> Option<&StepTypes> {
        let mut steps = self.inspection.steps.iter();
        steps.find(|step| step.id.as_str() == id)
    }
}

/// The span of the part of `place` at `path`, if the text has it.
pub(crate) fn part(plan: &Plan, place: Place, path: &[PointerSegment]) -> Option<Range<usize>> {
    let found = plan.sources.descend(place, path);
    // `descend` returns the nearest ancestor of a part that does not exist.
    let below = plan.sources.pointer(found)?.len() > plan.sources.pointer(place)?.len();
    below.then(|| span(&plan.sources, found)).flatten()
}

/// The span of `place`.
pub(crate) fn span(sources: &Sources, place: Place) -> Option<Range<usize>> {
    sources.span(place).map(|span| span.start..span.end)
}

/// Returns true if `offset` is in `span` or right behind it, where an editor shows the cursor after a word.
pub(crate) fn contains(span: &Range<usize>, offset: usize) -> bool {
    span.start <= offset && offset <= span.end
}
