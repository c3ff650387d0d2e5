//! Tools that are open, with the rules for plans that call them.

use std::fmt;
use std::sync::Arc;

use planwright_core::check::{CheckContext, Library, Policy, check};
use planwright_core::{Catalog, CheckedPlan, Object, Value};
use planwright_dialects::native::Native;
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::run::{Estimate, estimate};
use planwright_engine::{Approver, Durations, Engine, RunOptions};
use planwright_mcp::{Connections, ServerFailure};

use super::{Builder, Error, Run, RunBuilder};

/// Reads a plan in Planwright's own dialect. What is wrong with the text is said when the plan is
/// [checked](Planwright::check), together with all else.
///
/// [`dialects::parse`](planwright_dialects::parse()) recognises all dialects, or reads the one that it is told, and has
/// further options; [`dialects::parse_as`](planwright_dialects::parse_as()) reads dialects of your own.
pub fn parse(text: impl AsRef<[u8]>) -> ParseResult {
    let options = ReadOptions::new("plan");
    planwright_dialects::parse_as(&Native, text.as_ref(), &options)
}

/// Tools that are open, and the rules for plans that call them. Cloning it is cheap.
///
/// It lives in the caller's tokio runtime, whichever kind that is. Dropping the last clone, and the runs made from
/// it, kills the servers that were started; [`close`](Self::close) lets them end in peace.
#[derive(Clone)]
pub struct Planwright(Arc<Open>);

pub(super) struct Open {
    pub(super) catalog: Catalog,
    pub(super) library: Library,
    pub(super) policy: Policy,
    pub(super) engine: Engine,
    pub(super) approver: Arc<dyn Approver>,
    pub(super) options: RunOptions,
    pub(super) connections: Option<Connections>,
    pub(super) warnings: Vec<String>,
}

impl Planwright {
    /// Says which tools to open.
    pub fn builder() -> Builder {
        Builder::default()
    }

    pub(super) fn new(open: Open) -> Self {
        Self(Arc::new(open))
    }

    /// Checks a plan against the tools and the rules: what [`parse`] read, or a [`Plan`](crate::Plan) that a program built.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every finding. The warnings of a sound plan are in [`CheckedPlan::warnings`].
    pub fn check(&self, plan: impl Into<ParseResult>) -> Result<CheckedPlan, Error> {
        self.checked(plan.into(), &Object::default())
    }

    /// Checks a plan that is given `inputs`.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every finding.
    pub fn check_with<K, V>(
        &self,
        plan: impl Into<ParseResult>,
        inputs: impl IntoIterator<Item = (K, V)>,
    ) -> Result<CheckedPlan, Error>
    where
        K: Into<Arc<str>>,
        V: Into<Value>,
    {
        let inputs = inputs
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        self.checked(plan.into(), &inputs)
    }

    /// Runs a plan: await it for the summary, or say more first.
    ///
    /// The plan holds the verdict of who checked it: whether a call needs consent was decided then, by the tools and the policy of that
    /// [`Planwright`]. So check a plan with the one that is to run it.
    pub fn run(&self, plan: CheckedPlan) -> RunBuilder {
        RunBuilder::new(self.clone(), plan)
    }

    /// Starts a plan, to watch it or to add to it.
    pub fn start(&self, plan: CheckedPlan) -> Run {
        self.run(plan).start()
    }

    /// What a run of `plan` is expected to take, by the `durations` of earlier [summaries](planwright_engine::RunSummary::durations) and the
    /// [options](Self::options). Nothing is called.
    pub fn estimate(&self, plan: &CheckedPlan, durations: &Durations) -> Estimate {
        let options = &self.0.options;
        estimate(plan, durations, &options.limits, &options.evaluation)
    }

    /// The tools that plans may call.
    pub fn catalog(&self) -> &Catalog {
        &self.0.catalog
    }

    /// How runs go about their work where they do not say otherwise, with the secrets of the servers.
    pub fn options(&self) -> &RunOptions {
        &self.0.options
    }

    /// What plans are checked against: the tools, the library, the policy. For [`check`](planwright_core::check::check()) itself, and for whatever
    /// has plans checked, such as a planner.
    pub fn check_context(&self) -> CheckContext<'_> {
        CheckContext::new(&self.0.catalog)
            .with_library(&self.0.library)
            .with_policy(&self.0.policy)
    }

    /// The engine that runs plans, with the [options](Self::options) and the approver, for whatever runs plans itself.
    /// What it learns of durations is its own.
    pub fn engine(&self) -> Engine {
        self.0
            .engine
            .clone()
            .with_options(self.0.options.clone())
            .with_approver(Arc::clone(&self.0.approver))
    }

    /// The servers that did not start, where that is [allowed](Builder::without_missing_servers).
    pub fn missing_servers(&self) -> &[ServerFailure] {
        self.0
            .connections
            .as_ref()
            .map_or(&[], Connections::failures)
    }

    /// What was odd about the servers and their configuration.
    pub fn warnings(&self) -> &[String] {
        &self.0.warnings
    }

    /// Lets the servers end in peace. Calls from now on fail.
    pub async fn close(&self) {
        if let Some(connections) = &self.0.connections {
            connections.shutdown().await;
        }
    }

    pub(super) fn open(&self) -> &Open {
        &self.0
    }

    pub(super) fn context<'a>(&'a self, given: &'a Object) -> CheckContext<'a> {
        self.check_context().with_given(given)
    }

    fn checked(&self, read: ParseResult, given: &Object) -> Result<CheckedPlan, Error> {
        let ParseResult {
            plan, diagnostics, ..
        } = read;
        sound(diagnostics, |found| {
            let (checked, more) = check(plan?, &self.context(given));
            found.extend(more);
            checked
        })
    }
}

/// The plan that `check` gives, with all findings: those of the text first, then its own.
pub(super) fn sound(
    mut diagnostics: planwright_core::Diagnostics,
    check: impl FnOnce(&mut planwright_core::Diagnostics) -> Option<CheckedPlan>,
) -> Result<CheckedPlan, Error> {
    let plan = check(&mut diagnostics);
    diagnostics.sort();
    match plan {
        Some(plan) if !diagnostics.has_errors() => Ok(plan.with_warnings(diagnostics)),
        _ => Err(Error::Rejected(diagnostics)),
    }
}

impl fmt::Debug for Planwright {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planwright")
            .field("tools", &self.0.catalog.len())
            .field("connections", &self.0.connections)
            .field("options", &self.0.options)
            .finish_non_exhaustive()
    }
}
