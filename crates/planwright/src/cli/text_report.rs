//! stub
use super::printer::Printer;
use planwright::engine::RunSummary;
use planwright::engine::run::StepPreview;
pub(crate) fn text(s: &RunSummary, _: Printer) -> String {
    format!("{}\n", serde_json::to_string_pretty(&s.output).unwrap())
}
pub(crate) fn dry_run(s: &[StepPreview]) -> String {
    format!("{s:?}\n")
}
