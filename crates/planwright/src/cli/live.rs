//! stub
use super::args::RunFormat;
use super::printer::Printer;
use planwright::core::check::CheckedPlan;
use planwright::engine::{RunSummary, StampedEvent};
pub(crate) struct Live;
impl Live {
    pub(crate) fn new(_: &CheckedPlan, _: RunFormat, _: Printer) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self)
    }
    pub(crate) fn event(&self, _: &StampedEvent) {}
    pub(crate) fn suspend<T>(&self, f: impl FnOnce() -> T) -> T {
        f()
    }
    pub(crate) fn finish(&self) {}
    pub(crate) fn summary(&self, _: &RunSummary) {}
}
