//! Checks and runs plans of tool calls: each call starts as soon as the results that it refers to are available.
//!
//! - [A plan of five lines](#a-plan-of-five-lines)
//! - [Tools of your own](#tools-of-your-own): Rust functions, errors, effects, `Sharable`
//! - [MCP servers](#mcp-servers)
//! - [Diagnostics](#diagnostics)
//! - [Events](#events), [durations](#durations), [bounds](#bounds), [approvals](#approvals), [cancellation](#cancellation)
//! - [Runs that grow](#runs-that-grow), [durable runs](#durable-runs),
//!   [plans that models write](#plans-that-models-write)
//! - [A backend of your own](#a-backend-of-your-own), [a dialect of your own](#a-dialect-of-your-own),
//!   [plans without text](#plans-without-text)
//! - [Features](#features)
//!
//! The language of plans is described in [the guide](https://github.com/planwright/planwright/tree/main/docs).
//!
//! # A plan of five lines
//!
//! A plan says what to call and which results go where. The first two calls depend on nothing and run side by side:
//!
//! ```json
//! {"steps": [
//!   {"id": "oslo", "tool": "weather", "args": {"city": "Oslo"}},
//!   {"id": "rome", "tool": "weather", "args": {"city": "Rome"}},
//!   {"id": "tell", "tool": "tell", "args": {"text": "Oslo ${oslo}°, Rome ${rome}°"}}
//! ]}
//! ```
//!
//! Five lines open the tools, read the plan, check it, run it, and read its output:
//!
//! ```
//! use planwright::{Planwright, parse};
//! # use planwright::{Error, Function, Functions, ToolError, schemars::{self, JsonSchema}};
//! # const PLAN: &str = r#"{"steps": [
//! #   {"id": "oslo", "tool": "weather", "args": {"city": "Oslo"}},
//! #   {"id": "rome", "tool": "weather", "args": {"city": "Rome"}},
//! #   {"id": "tell", "tool": "tell", "args": {"text": "Oslo ${oslo}°, Rome ${rome}°"}}
//! # ]}"#;
//! # #[derive(serde::Deserialize, JsonSchema)]
//! # struct Weather { city: String }
//! # #[derive(serde::Deserialize, JsonSchema)]
//! # struct Tell { text: String }
//! # async fn weather(args: Weather) -> Result<usize, ToolError> { Ok(args.city.len()) }
//! # async fn tell(args: Tell) -> Result<String, ToolError> { Ok(args.text) }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let functions = Functions::new()
//! #     .with(Function::new("weather", weather))
//! #     .with(Function::new("tell", tell));
//! let planwright = Planwright::builder().functions(functions).open().await?;
//! let plan = planwright.check(parse(PLAN))?;
//! let summary = planwright.run(plan).await?;
//! println!("{}: {}", summary.status, summary.output);
//! # assert_eq!(summary.output.get("tell").unwrap().as_text(), Some("Oslo 4°, Rome 4°"));
//! # Ok(())
//! # }
//! ```
//!
//! Everything runs in your tokio runtime, of any kind; it needs its clock, and its input and output
//! for MCP servers ([`enable_all`](https://docs.rs/tokio/latest/tokio/runtime/struct.Builder.html#method.enable_all)).
//!
//! An [`Error`] means that nothing was called: the plan is not sound, or was [checked with other tools](Planwright::verify) than those that it
//! is to run with, or a run with its id is in progress. A failed tool call is not an error: the [`RunSummary`] has the outcome of each step, and `summary.status` that of
//! the whole. [`summary.into_output::<T>()`](RunSummary::into_output) reads the output into a type of your own, or names the step that failed.
//!
//! # Tools of your own
//!
//! A [`Function`] is an `async fn` whose parameters are the fields of one type. That type derives `Deserialize`
//! and `JsonSchema`, the result `Serialize` and `JsonSchema`; so plans are checked against your types before anything runs.
//! Add the crates `serde` (with its feature `derive`) and `schemars` (1) to your own; or write
//! `use planwright::schemars::{self, JsonSchema}`.
//!
//! ```
//! use planwright::{Error, Function, Functions, Planwright, Sharable, Value, parse};
//! use schemars::JsonSchema;
//! use serde::{Deserialize, Serialize};
//! # use planwright::schemars;
//!
//! /// Sends a letter.
//! #[derive(Deserialize, JsonSchema)]
//! struct Letter {
//!     /// An address, such as `ada@example.com`.
//!     to: String,
//!     text: Sharable<String>,
//!     copies: Option<u32>,
//! }
//!
//! #[derive(Serialize, JsonSchema)]
//! struct Receipt {
//!     pages: u32,
//! }
//!
//! async fn send(letter: Letter) -> Result<Receipt, std::io::Error> {
//!     if !letter.to.contains('@') {
//!         return Err(std::io::Error::other("that is not an address"));
//!     }
//!     Ok(Receipt { pages: letter.copies.unwrap_or(1) })
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let office = Functions::named("office").with(Function::new("send", send).title("Send a letter"));
//! let planwright = Planwright::builder().functions(office).open().await?;
//!
//! let plan = parse(r#"{"steps": [
//!     {"id": "sent", "tool": "send", "args": {"to": "ada@example.com", "text": "Dear Ada", "copies": 2}}
//! ], "output": "${sent.pages}"}"#);
//! let summary = planwright.run(planwright.check(plan)?).await?;
//! assert_eq!(summary.output, Value::from(2));
//! # Ok(())
//! # }
//! ```
//!
//! - Plans call it `send`, or `office.send` if several servers have a `send`.
//! - It may fail with any error or text; its message becomes the error of the step. A [`ToolError`] says more: a code,
//!   data, whether another attempt may help.
//! - No effects are assumed: declare [`read_only`](Function::read_only), [`idempotent`](Function::idempotent)
//!   or [`needs_approval`](Function::needs_approval) if they apply.
//! - [`Sharable`] marks a parameter that may receive data of other steps, for the dialects in which only such
//!   parameters may.
//! - [`Function::raw`] takes and returns [`Value`]s.
//! - What functions share, such as a pool of connections, is cloned into each call, so that a call owns what it needs:
//!   `move |letter: Letter| { let pool = pool.clone(); async move { pool.send(letter).await } }`.
//! - A function that needs to know its run uses [`Function::with_context`]: the [`CallContext`] has the run's id, the step, the attempt, the
//!   idempotency key, and the [data](service::RunBuilder::data) that the caller gave this run, such as the tenant.
//! - A call runs in its own task: a `task_local!` of the task that started the run is not visible to it. What a call needs is an argument, or
//!   cloned into the function.
//! - A function must not block its thread, as any `async fn` must not: work that takes long belongs into
//!   [`spawn_blocking`](https://docs.rs/tokio/latest/tokio/task/fn.spawn_blocking.html). One attempt has a
//!   [minute](service::RunBuilder::attempt_timeout), and 16 [run in parallel](service::RunBuilder::max_parallel) by default.
//!
//! # MCP servers
//!
//! Servers are named in the `mcp.json` that other clients use, as a file or as text, or one by one. They are started in parallel,
//! each as a child process, and restarted if they crash; those with a `url` are reached over HTTP.
//!
//! ```no_run
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let planwright = Planwright::builder()
//!     .servers_file("mcp.json")
//!     .server("time", "uvx", ["mcp-server-time", "--local-timezone", "UTC"])
//!     .open()
//!     .await?;
//! for tool in planwright.catalog().tools() {
//!     println!("{}", tool.qualified_name());
//! }
//! let plan = planwright.check(parse(r#"{"steps": [
//!     {"id": "now", "tool": "time.get_current_time", "args": {"timezone": "Europe/Oslo"}}
//! ]}"#))?;
//! let summary = planwright.run(plan).await?;
//! planwright.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! [`close`](Planwright::close) shuts them down gracefully, while functions keep working; a [`Planwright`] that is dropped kills them, with all that they
//! started. [`service::Builder`] has the rest: what happens if a server does not start, `${NAME}` variables, timeouts.
//!
//! For a server over HTTP, [`ServerConfig::http`](mcp::ServerConfig::http) has the address and the headers; a header that is secret belongs
//! into `secrets` as well, which an `mcp.json` does by itself. Tokens of a login are in the
//! [`ConnectOptions::tokens`](mcp::ConnectOptions::tokens): in memory by default, or [in a file](mcp::Tokens::in_file), such as
//! the one of `planwright login`.
//!
//! A tool that its server declares destructive, such as one that overwrites files, needs [approval](#approvals).
//!
//! # Diagnostics
//!
//! A check reports all problems at once: syntax errors, unknown tools and steps, arguments and references that do not
//! fit the schemas, cycles, limits. A diagnostic has a code with [a page](https://github.com/planwright/planwright/tree/main/docs/codes),
//! a place, and usually a hint; its text is suitable as feedback for a model.
//!
//! ```
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let planwright = Planwright::builder().open().await?;
//! let text = r#"{"steps": [{"id": "a", "value": "${b.city}"}, {"id": "c", "value": "${d.city}"}]}"#;
//! let error = planwright.check(parse(text)).unwrap_err();
//! for diagnostic in error.diagnostics().unwrap().iter() {
//!     println!("{diagnostic}");
//! }
//! # assert_eq!(error.diagnostics().unwrap().len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! Plans that are given inputs are [checked with them](Planwright::check_with). What plans may do, and how much, is a
//! [policy](service::Builder::policy).
//!
//! # Events
//!
//! A run that is [started](Planwright::start) runs in the background and emits events. Options are set before it starts:
//!
//! ```
//! use std::time::Duration;
//! use planwright::RunEvent;
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let planwright = Planwright::builder().open().await?;
//! # let plan = planwright.check(parse(r#"{"steps": [{"id": "a", "value": 1}]}"#))?;
//!
//! let mut run = planwright
//!     .run(plan)
//!     .attempt_timeout(Duration::from_secs(5))
//!     .fail_fast()
//!     .start()?;
//! while let Some(stamped) = run.next_event().await {
//!     if let RunEvent::StepEnded { at, status, .. } = stamped.event {
//!         println!("{:?} {at} {status}", stamped.at);
//!     }
//! }
//! let summary = run.await;
//! # assert_eq!(summary.steps.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! [`mod@format`] has versioned counterparts of events and summaries for other programs, as JSON with a version.
//!
//! # Durations
//!
//! A run that knows how long calls take starts the steps on the critical path first. Each summary has what was known and what was
//! learned; handed to the next run, or stored as [`format::DurationsV1`], they make that run faster and allow an estimate:
//!
//! ```
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let planwright = Planwright::builder().open().await?;
//! # let plan = planwright.check(parse(r#"{"steps": [{"id": "a", "value": 1}]}"#))?;
//! let first = planwright.run(plan.clone()).await?;
//! println!("{:?}", planwright.estimate(&plan, &first.durations).expected);
//! let second = planwright.run(plan).durations(first.durations).await?;
//! # assert_eq!(second.steps.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # Bounds
//!
//! [`Guards`](engine::Guards) limit the resources of a run. Each attempt is counted before it is made, so concurrent calls cannot exceed
//! a budget; the step of a refused call fails with the kind `budget`. A run that computes for long yields
//! the thread every 20 ms or after one expression, and the costliest expression takes well under a
//! second.
//!
//! ```
//! use std::time::Duration;
//! use planwright::engine::Guards;
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let planwright = Planwright::builder().open().await?;
//! # let plan = planwright.check(parse(r#"{"steps": [{"id": "a", "value": 1}]}"#))?;
//!
//! let guards = Guards::new()
//!     .calls(500)
//!     .calls_of("mail.*", 5)
//!     .failures_in_a_row(3)
//!     .wall_time(Duration::from_secs(600));
//! let summary = planwright.run(plan).guards(guards).await?;
//! # assert_eq!(summary.steps.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! With the feature `config`, [`config`] reads such bounds, and rules about tools, from a `planwright.toml`.
//!
//! # Runs that grow
//!
//! A plan may arrive in parts, as from a model that is still writing. New steps may refer to all before them, and are
//! checked before they join.
//!
//! ```
//! # use planwright::{Error, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # let planwright = Planwright::builder().open().await?;
//! let plan = planwright.check(parse(r#"{"steps": [{"id": "a", "value": 1}]}"#))?;
//! let mut run = planwright.run(plan).growing().start()?;
//! run.extend(r#"{"steps": [{"id": "b", "value": "${a + 1}"}]}"#)?;
//! let summary = run.finish().await;
//! # assert_eq!(summary.output.get("b").unwrap().as_u64(), Some(2));
//! # Ok(())
//! # }
//! ```
//!
//! # Approvals
//!
//! An [`Approver`](engine::Approver) is a person, a rule, a queue: a closure, or a type of your own. A call waits for it if the function
//! [needs approval](Function::needs_approval), if the MCP server declares the tool destructive, or if the step has
//! `"approval": true`. Without one such calls are not made: the run does what it can without them and ends as
//! [`Waiting`](engine::RunStatus::Waiting). [`Always`](engine::approval::Always) gives the same decision for all calls.
//!
//! ```
//! use planwright::engine::approval::ApprovalRequest;
//! use planwright::engine::Decision;
//! # use planwright::{Error, Planwright, parse};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let only_small = async |request: ApprovalRequest| {
//!     match request.args.get("amount").and_then(|amount| amount.as_f64()) {
//!         Some(amount) if amount < 100.0 => Decision::Approve { args: None },
//!         _ => Decision::Reject { because: Some("that is too much".to_owned()) },
//!     }
//! };
//! let planwright = Planwright::builder().approver(only_small).open().await?;
//! # Ok(())
//! # }
//! ```
//!
//! # Cancellation
//!
//! [`Run::drain`] lets in-flight calls end and starts nothing new; [`Run::cancel`] ends a run. The summary contains the results so far. Dropping a [`Run`], or a future of this crate, is safe
//! at any time: in-flight calls are cancelled, and no process, thread or task is left behind. So
//! `tokio::time::timeout(limit, planwright.run(plan))` limits a run, although [bounds](#bounds) also return the results so far. When
//! a summary is returned, nothing is in flight any more, except for a function that blocks its thread: it cannot be interrupted, so
//! the run waits for it for a second and then detaches it.
//!
//! # Durable runs
//!
//! With the feature `store`, a run is stored in a file as it goes, and resumed after a failure, a decision, or the death of its process.
//! Steps that succeeded are not run again; a call whose outcome is unknown is made again only if its tool is
//! [idempotent](Function::idempotent), or if you [request it](service::Resume::retry).
//!
//! ```
//! use planwright::engine::Decision;
//! use planwright::stored::{Decider, open_questions};
//! use planwright::store::Store;
//! # use std::time::SystemTime;
//! # use planwright::{Function, Functions, Planwright, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let file = folder.path().join("runs.db");
//! # let pay = Function::new("pay", async |()| Ok::<_, planwright::ToolError>("paid"));
//! # let functions = Functions::new().with(pay.needs_approval());
//! # let planwright = Planwright::builder().functions(functions).open().await?;
//! # let plan = planwright.check(parse(r#"{"steps": [{"id": "paid", "tool": "pay"}]}"#))?;
//! # let now = SystemTime::UNIX_EPOCH;
//! let store = Store::open(&file)?;
//! let summary = planwright.run(plan).stored_in(&store, "order-1".parse()?).await?;
//! # assert_eq!(summary.status.as_str(), "waiting");
//!
//! // Another process decides:
//! let ada = Decider::new(Some("ada".to_owned()));
//! for question in open_questions(&store, "order-1")? {
//!     println!("{} {}", question.subject.qualified_name(), question.subject.args);
//!     question.decide(&store, Decision::Approve { args: None }, &ada, now)?;
//! }
//!
//! // This one or another resumes the run:
//! let summary = planwright.resume(&store, "order-1".parse()?).await?;
//! # assert_eq!(summary.status.as_str(), "succeeded");
//! # Ok(())
//! # }
//! ```
//!
//! - The plan is stored with the run, in Planwright's own dialect, whichever it was written in or built by. [`Resume`](service::Resume)
//!   may take [another plan](service::Resume::plan) in its place: the steps that it changes are run again, the others keep their results.
//! - A decision is about one exact call of one run, and counts once. [`wait_for_decisions`](service::RunBuilder::wait_for_decisions) waits for
//!   one instead of ending the run as waiting. `planwright approve` decides as well.
//! - Secret inputs are not stored: [give them again](service::Resume::input).
//! - An id is unique in a store, and one process at a time holds the lease of a run.
//! - Methods of a [`Store`](store::Store) wait for the disk where they are called, which takes milliseconds: in a server with much to do, call
//!   them in [`spawn_blocking`](https://docs.rs/tokio/latest/tokio/task/fn.spawn_blocking.html).
//!
//! The [example `durable_run`](https://github.com/planwright/planwright/blob/main/crates/planwright/examples/durable_run.rs) survives its
//! process. [`stored`] is the level below, for programs that store more along with their runs.
//!
//! Without a store, a [`Journal`](engine::Journal) of your own, or one in memory, records the inputs of a run. The same plan is resumed
//! with what was read from it, under the same id:
//!
//! ```
//! use planwright::engine::{History, MemoryJournal};
//! # use std::sync::atomic::{AtomicBool, Ordering};
//! # use planwright::{Error, Function, Functions, Planwright, Value, parse};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! # static TRIED: AtomicBool = AtomicBool::new(false);
//! # let functions = Functions::new().with(Function::new("print", async |()| match TRIED.swap(true, Ordering::Relaxed) {
//! #     false => Err("out of paper"),
//! #     true => Ok(1),
//! # }));
//! # let planwright = Planwright::builder().functions(functions).open().await?;
//! let plan = planwright.check(parse(r#"{"steps": [{"id": "printed", "tool": "print"}]}"#))?;
//! let journal = MemoryJournal::new();
//! let failed = planwright.run(plan.clone()).id("r1".parse()?).journal(journal.clone(), Value::Null).await?;
//!
//! let history = History::new(&journal.entries());
//! let summary = planwright.run(plan).journal(journal, Value::Null).after(history).await?;
//! # assert_eq!((failed.status.as_str(), summary.status.as_str()), ("failed", "succeeded"));
//! # Ok(())
//! # }
//! ```
//!
//! # Plans that models write
//!
//! With the feature `planner`, [`planner::create`](planner::create::create()) asks a [`Model`](planner::model::Model) for a plan, checks it against
//! the [catalog](Planwright::catalog), and asks again with all diagnostics; [`planner::stream`](planner::stream::stream()) runs the steps that
//! only read while the rest is being written. Both check with the [`check_context`](Planwright::check_context) of a [`Planwright`], and a
//! [`StreamedRunLauncher`](service::StreamedRunLauncher) starts the runs.
//!
//! The models of providers are behind the feature `providers`, in [`planner::model::providers`].
//!
//! # A backend of your own
//!
//! Tools of some other kind are a list of [`Tool`](core::Tool)s and a [`ToolBackend`](engine::ToolBackend) that calls them:
//!
//! ```
//! use planwright::core::{Schema, Tool};
//! use planwright::engine::backend::{BoxFuture, ToolOutput};
//! use planwright::engine::{ToolBackend, ToolCall};
//! use planwright::{Error, Planwright, ToolError};
//!
//! struct Echo;
//!
//! impl ToolBackend for Echo {
//!     fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
//!         Box::pin(async move { Ok(ToolOutput::value(call.args)) })
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let mut say = Tool::new("echo", "say");
//! say.input = Schema::from_value(serde_json::json!({"type": "object", "required": ["text"]}).into());
//! let planwright = Planwright::builder().backend("echo", [say], Echo).open().await?;
//! # assert_eq!(planwright.catalog().len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! # A dialect of your own
//!
//! [`parse`] reads Planwright's own dialect; [`dialects::parse`](dialects::parse()) recognises all built-in dialects. Another format
//! is a [`Dialect`](dialects::Dialect) of your own, and [`dialects::parse_as`](dialects::parse_as()) reads it. The
//! [example `own_dialect`](https://github.com/planwright/planwright/blob/main/crates/planwright/examples/own_dialect.rs)
//! is one.
//!
//! # Plans without text
//!
//! A program may also build a [`Plan`], and have it checked:
//!
//! ```
//! use planwright::Plan;
//! use planwright::core::plan::Node;
//! use planwright::core::{Place, Step, Value};
//! # use planwright::Planwright;
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), planwright::Error> {
//! # let planwright = Planwright::builder().open().await?;
//!
//! let args = Node::literal(Value::object([("city", Value::from("Oslo"))]), Place::NOWHERE);
//! let plan = Plan { steps: vec![Step::call("oslo", "weather", args)], ..Plan::default() };
//! let checked = planwright.check(plan);
//! # assert!(checked.is_err());
//! # Ok(())
//! # }
//! ```
//!
//! # Spans
//!
//! Each run is a [`tracing`](https://docs.rs/tracing) span `run`, and each attempt at a call a span `call` within it, with its step, tool
//! and attempt. What functions and backends log during a call belongs to its span. Spans have no arguments and no results.
//!
//! # Supported Rust versions
//!
//! The minimum supported version is the `rust-version` of the manifest, which every change is tested with. It is at least three stable
//! releases old when a new minor version of this crate raises it; a patch version never does.
//!
//! # Features
//!
//! A feature adds its parts to [`service::Builder`] as well, such as `workspace` and `config`.
//!
//! - `config`: reads `planwright.toml` ([`config`]).
//! - `mcp`: tools of MCP servers that are child processes, over stdio ([`mcp`]).
//! - `mcp-http`: tools of remote MCP servers as well, over HTTP. It is on by default; a program whose tools are functions alone compiles
//!   about half as much with `default-features = false`.
//! - `planner`: models that write plans, and the meaning of phrases of time ([`planner`]).
//! - `providers`: the models of providers, over HTTP; includes `planner`.
//! - `store`: a file in which runs are stored, so that they outlive their process ([`store`], [`stored`]).
//! - `telemetry`: reports runs to an OpenTelemetry collector ([`telemetry`]).
//! - `workspace`: the built-in tools for the files of one folder ([`workspace`]).
#![warn(missing_docs)]
#![cfg_attr(docsrs, feature(doc_cfg))]

/// The plan model, and the checks that prove a plan sound.
pub use planwright_core as core;

/// Readers and printers of plans, one for each dialect.
pub use planwright_dialects as dialects;

/// Execution of checked plans.
pub use planwright_engine as engine;

/// Documents for other programs: reports, events, stored runs.
pub use planwright_format as format;

/// MCP servers: their configuration, connections and tools.
#[cfg(feature = "mcp")]
pub use planwright_mcp as mcp;

/// Models that write plans: prompts, answers, the loop in which a plan adapts.
#[cfg(feature = "planner")]
pub use planwright_planner as planner;

/// Storage of plans and runs.
#[cfg(feature = "store")]
pub use planwright_store as store;

/// The derive macro and the types with which parameters of functions describe themselves.
pub use schemars;

/// The service that opens tools and starts runs.
pub mod service;

/// `planwright.toml`: which tools plans may call, and how much.
#[cfg(feature = "config")]
pub mod config;

/// The built-in server of file tools, confined to a folder.
#[cfg(feature = "workspace")]
pub mod workspace;

/// Calls as a person sees them who decides about them.
pub mod call_view;

/// The sources of the arguments of a call.
pub mod argument_sources;

/// Names of tools that look like others, or belong to another server.
#[cfg(feature = "mcp")]
pub mod names;

/// Tools whose definitions changed, and their acceptance by a person.
pub mod pins;

/// Text that comes from elsewhere, made fit for a terminal.
pub mod terminal_text;

/// Images, audio and resources that tools give.
pub mod media;

/// Pictures of plans: text, Mermaid, Graphviz, JSON.
pub mod drawing;

/// Loaded plans, with their text, dialect and diagnostics.
pub mod loaded_plan;

/// Texts of plans with the fixes of their diagnostics.
pub mod fixes;

/// Stored runs.
#[cfg(feature = "store")]
pub mod stored;

/// Runs as spans and metrics of OpenTelemetry.
#[cfg(feature = "telemetry")]
pub mod telemetry;

pub use planwright_core::{Catalog, CheckedPlan, Plan, Value};
pub use planwright_engine::backend::{CallContext, Function, Functions, Sharable, ToolError};
pub use planwright_engine::{RunEvent, RunSummary};
pub use service::{Error, Planwright, Run, parse};

/// The examples of the guide, which are compiled and run as those of the crate are.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/library.md")]
mod guide {}
