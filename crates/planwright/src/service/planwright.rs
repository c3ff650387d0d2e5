//! Tools that are open, with the rules for plans that call them.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::FutureExt;
#[cfg(feature = "store")]
use futures::TryFutureExt;
use futures::future::BoxFuture;
use planwright_core::check::{CheckContext, Library, Policy, check};
use planwright_core::{Catalog, CheckedPlan, Object, Value};
use planwright_dialects::native::Native;
use planwright_dialects::{ParseResult, ReadOptions};
use planwright_engine::approval::Always;
use planwright_engine::run::{Estimate, estimate};
use planwright_engine::{
    Approver, Decision, Durations, Engine, ErrorKind, RunId, RunOptions, ToolBackend, ToolCall,
    ToolError, ToolOutput,
};
#[cfg(feature = "mcp")]
use planwright_mcp::{Connections, ServerFailure};
#[cfg(feature = "store")]
use planwright_store::Store;

use super::Error;
use super::observer::RunObserver;
#[cfg(feature = "store")]
use super::store::AnswerRecord;
use crate::loaded_plan::LoadedPlan;

/// Reads a plan in Planwright's own dialect. Problems of the text are reported when the plan is [checked](Planwright::check), with all
/// others.
///
/// [`dialects::parse`](planwright_dialects::parse()) recognises all dialects, or reads a given one, and has further options;
/// [`dialects::parse_as`](planwright_dialects::parse_as()) reads dialects of your own.
pub fn parse(text: impl AsRef<[u8]>) -> ParseResult {
    let options = ReadOptions::new("plan");
    planwright_dialects::parse_as(&Native, text.as_ref(), &options)
}

/// Tools that are open, and the policy for plans that call them.
pub struct Tools {
    /// The tools by name, as plans are checked against them.
    pub catalog: Arc<Catalog>,
    /// The backends that carry out their calls.
    pub backend: Arc<dyn ToolBackend>,
    /// The policy.
    pub policy: Policy,
}

/// Tools that are open, and the rules for plans that call them. Cloning it is cheap.
///
/// It runs in the caller's tokio runtime, of any kind. Dropping the last clone, and the runs made from
/// it, kills the servers that were started; [`close`](Self::close) lets them end by themselves.
#[derive(Clone)]
pub struct Planwright(Arc<Inner>);

struct Inner {
    open: Open,
    engine: Engine,
}

#[derive(Clone)]
pub(super) struct Open {
    pub(super) catalog: Arc<Catalog>,
    pub(super) backend: Arc<dyn ToolBackend>,
    pub(super) library: Library,
    pub(super) policy: Policy,
    pub(super) active: ActiveRuns,
    pub(super) approver: Arc<dyn Approver>,
    pub(super) options: RunOptions,
    #[cfg(feature = "mcp")]
    pub(super) connections: Option<Arc<Connections>>,
    pub(super) warnings: Vec<String>,
    pub(super) observers: Vec<Arc<dyn RunObserver>>,
    #[cfg(feature = "store")]
    pub(super) store: Option<Store>,
    /// True if the configuration requires a passphrase for decisions, even if the store has none.
    #[cfg(feature = "store")]
    pub(super) requires_passphrase: bool,
    /// True if the store records durations and the structure of answers of runs.
    #[cfg(feature = "store")]
    pub(super) learns: bool,
}

impl Open {
    /// Creates the state of open tools, with defaults for everything else.
    pub(super) fn of(tools: Tools) -> Self {
        Self {
            catalog: tools.catalog,
            backend: tools.backend,
            policy: tools.policy,
            library: Library::new(),
            active: ActiveRuns::default(),
            approver: Arc::new(Always(Decision::Later)),
            options: RunOptions::default(),
            #[cfg(feature = "mcp")]
            connections: None,
            warnings: Vec::new(),
            observers: Vec::new(),
            #[cfg(feature = "store")]
            store: None,
            #[cfg(feature = "store")]
            requires_passphrase: false,
            #[cfg(feature = "store")]
            learns: true,
        }
    }

    /// The backends, as runs may call them.
    pub(super) fn bound_backend(&self) -> BoundBackend {
        BoundBackend {
            backend: Arc::clone(&self.backend),
            catalog: Arc::clone(&self.catalog),
            policy: self.policy.clone(),
            #[cfg(feature = "store")]
            answers: None,
        }
    }
}

impl Planwright {
    /// A service over tools that the caller has opened. Its runs have the default options unless their [specification](super::RunSpec) has others.
    pub fn over(tools: Tools) -> Self {
        Self::with_open(Open::of(tools))
    }

    /// The same service over other tools: observers and the ids in progress are shared.
    #[must_use]
    pub fn with_tools(&self, tools: Tools) -> Self {
        let open = self.open();
        Self::with_open(Open {
            active: open.active.clone(),
            library: open.library.clone(),
            approver: Arc::clone(&open.approver),
            options: open.options.clone(),
            observers: open.observers.clone(),
            #[cfg(feature = "store")]
            store: open.store.clone(),
            ..Open::of(tools)
        })
    }

    /// The same service with a further observer of its runs.
    #[must_use]
    pub fn observed_by(&self, observer: Arc<dyn RunObserver>) -> Self {
        let mut observers = self.open().observers.clone();
        observers.push(observer);
        Self::with_open(Open {
            observers,
            ..self.open().clone()
        })
    }

    /// Checks a plan against the tools and the rules: what [`parse`] read, or a [`Plan`](crate::Plan) that a program built.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every diagnostic. The warnings of a sound plan are in [`CheckedPlan::warnings`].
    pub fn check(&self, plan: impl Into<ParseResult>) -> Result<CheckedPlan, Error> {
        self.checked(plan.into(), &Object::default())
    }

    /// Checks a plan that is given `inputs`.
    ///
    /// # Errors
    ///
    /// [`Error::Rejected`] with every diagnostic.
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

    /// Checks a loaded plan against the tools and the policy. The diagnostics are in the loaded plan that it returns.
    pub fn check_loaded(&self, loaded: LoadedPlan) -> (Option<CheckedPlan>, LoadedPlan) {
        loaded.check(&self.0.open.catalog, &self.0.open.policy)
    }

    /// Returns the expected duration of a run of `plan`, by the `durations` of earlier
    /// [summaries](planwright_engine::RunSummary::durations) and the [options](Self::options). Nothing is called.
    pub fn estimate(&self, plan: &CheckedPlan, durations: &Durations) -> Estimate {
        let options = &self.0.open.options;
        estimate(plan, durations, &options.limits, &options.evaluation)
    }

    /// The tools that plans may call.
    pub fn catalog(&self) -> &Catalog {
        &self.0.open.catalog
    }

    /// The options of runs that have none of their own, with the secrets of the servers.
    pub fn options(&self) -> &RunOptions {
        &self.0.open.options
    }

    /// The context of checks: the tools, the library, the policy. For [`check`](planwright_core::check::check()) itself, and for other code
    /// that checks plans, such as a planner.
    pub fn check_context(&self) -> CheckContext<'_> {
        CheckContext::new(&self.0.open.catalog)
            .with_library(&self.0.open.library)
            .with_policy(&self.0.open.policy)
    }

    /// The engine that runs plans, with the [options](Self::options) and the approver, for programs that start runs themselves.
    /// Learned durations are not shared.
    ///
    /// It is the lower level: it does not compare ids with those in progress, histories with plans, or plans with the tools
    /// before they start. Call [`verify`](Self::verify) first. A call is refused if its tool differs from the one that the plan
    /// was checked with, so that no call is made without the consent that it needs here: its step fails with the kind `policy`.
    pub fn engine(&self) -> Engine {
        self.0
            .engine
            .clone()
            .with_options(self.0.open.options.clone())
            .with_approver(Arc::clone(&self.0.open.approver))
    }

    /// The backends of the tools, for programs that make the calls of a run themselves. A call is refused if its tool differs from the one that the
    /// plan was checked with, or if the policy does not allow it.
    pub fn backend(&self) -> impl ToolBackend + use<> {
        self.0.open.bound_backend()
    }

    /// Returns the servers that did not start, if that is [allowed](super::Builder::without_missing_servers).
    #[cfg(feature = "mcp")]
    pub fn missing_servers(&self) -> &[ServerFailure] {
        self.0
            .open
            .connections
            .as_ref()
            .map_or(&[], |connections| connections.failures())
    }

    /// Warnings about the servers and their configuration.
    pub fn warnings(&self) -> &[String] {
        &self.0.open.warnings
    }

    /// Shuts the MCP servers down gracefully. Later calls to them fail; functions and other backends of the program still work.
    #[cfg(feature = "mcp")]
    pub async fn close(&self) {
        if let Some(connections) = &self.0.open.connections {
            connections.shutdown().await;
        }
    }

    pub(super) fn open(&self) -> &Open {
        &self.0.open
    }

    /// Claims the id of a run that is about to start.
    pub(super) fn claim(&self, id: &RunId) -> Result<Claim, Error> {
        let claim = self.open().active.claim(id);
        claim.ok_or_else(|| Error::InProgress(id.clone()))
    }

    /// The engine without options and approver.
    pub(super) fn plain_engine(&self) -> Engine {
        self.0.engine.clone()
    }

    /// The same engine, which records the answers of its tools in `answers`.
    #[cfg(feature = "store")]
    pub(super) fn recording_engine(&self, answers: Option<Arc<AnswerRecord>>) -> Engine {
        match answers {
            Some(answers) => Engine::new(self.open().bound_backend().recording(answers)),
            None => self.plain_engine(),
        }
    }

    pub(super) fn with_open(open: Open) -> Self {
        let engine = Engine::new(open.bound_backend());
        Self(Arc::new(Inner { open, engine }))
    }

    pub(super) fn context<'a>(&'a self, inputs: &'a Object) -> CheckContext<'a> {
        self.check_context().with_inputs(inputs)
    }

    fn checked(&self, read: ParseResult, inputs: &Object) -> Result<CheckedPlan, Error> {
        let ParseResult {
            plan, diagnostics, ..
        } = read;
        sound(diagnostics, |found| {
            let (checked, more) = check(plan?, &self.context(inputs));
            found.extend(more);
            checked
        })
    }
}

/// Returns the plan that `check` returns, with all diagnostics: those of the text first.
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

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tools")
            .field("tools", &self.catalog.len())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Planwright {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Planwright")
            .field("tools", &self.0.open.catalog.len())
            .field("options", &self.0.open.options)
            .finish_non_exhaustive()
    }
}

/// The ids of the runs in progress.
#[derive(Clone, Debug, Default)]
pub(super) struct ActiveRuns(Arc<Mutex<HashSet<RunId>>>);

impl ActiveRuns {
    /// Claims an id until the claim is dropped; `None` if a run with it is in progress.
    fn claim(&self, id: &RunId) -> Option<Claim> {
        let is_free = self.ids().insert(id.clone());
        is_free.then(|| Claim {
            runs: self.clone(),
            id: id.clone(),
        })
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<RunId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The claim of a run on its id.
#[derive(Debug)]
pub(super) struct Claim {
    runs: ActiveRuns,
    id: RunId,
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.runs.ids().remove(&self.id);
    }
}

/// The backends of open tools. Before a call is sent, they reject it if its tool differs from the open one, or if the policy does not
/// allow it, no matter how the plan reached the engine.
pub(super) struct BoundBackend {
    backend: Arc<dyn ToolBackend>,
    catalog: Arc<Catalog>,
    policy: Policy,
    /// The recorder of the answers of tools without an output schema, if they are stored.
    #[cfg(feature = "store")]
    answers: Option<Arc<AnswerRecord>>,
}

#[cfg(feature = "store")]
impl BoundBackend {
    /// The same backends, which record the answers of tools without an output schema.
    pub(super) fn recording(self, answers: Arc<AnswerRecord>) -> Self {
        Self {
            answers: Some(answers),
            ..self
        }
    }
}

impl ToolBackend for BoundBackend {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        let refusal = match self.catalog.difference(&call.tool) {
            Some(reason) => {
                let name = call.tool.qualified_name();
                Some(format!(
                    "the plan was checked with another tool `{name}`: {reason}"
                ))
            }
            None => self
                .policy
                .objection(&call.tool)
                .map(|(message, _)| message),
        };
        match refusal {
            #[cfg(feature = "store")]
            None if call.tool.seen.is_some()
                && let Some(answers) = &self.answers =>
            {
                let tool = Arc::clone(&call.tool);
                let answer = self.backend.call(call);
                answer
                    .inspect_ok(move |output| answers.add(&tool, output))
                    .boxed()
            }
            None => self.backend.call(call),
            Some(message) => {
                futures::future::ready(Err(ToolError::new(ErrorKind::Policy, message))).boxed()
            }
        }
    }
}

impl fmt::Debug for BoundBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundBackend").finish_non_exhaustive()
    }
}
