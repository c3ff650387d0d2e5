//! Our side of the comparison with other systems: the shapes, and one measured run.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use planwright_core::check::{CheckContext, CheckedPlan, check};
use planwright_core::{Catalog, Plan, Schema, Value};
use planwright_dialects::{ReadOptions, parse};
use planwright_engine::backend::{Function, Functions, ToolOutput};
use planwright_engine::{Backends, Engine, RunOptions, RunStatus, RunSummary};
use planwright_store::Store;
use serde_json::{Map, json};

use crate::durable;
use crate::shape::Shape;

/// A plan that all systems run, each in its own dialect.
#[derive(Clone, Debug)]
pub struct Workload {
    /// The name.
    pub name: &'static str,
    /// The steps, in the order in which every dialect lists them.
    pub steps: Vec<Step>,
    /// The number of runs in one turn.
    pub runs: usize,
}

/// A call of the only tool.
#[derive(Clone, Debug)]
pub struct Step {
    /// The steps whose results it receives.
    pub reads: Vec<u32>,
    /// The time that it sleeps, in milliseconds.
    pub pause: u64,
}

/// The pauses in the chains of the sleeping shape, in milliseconds.
const PAUSES: [u64; 2] = [40, 10];
const SLEEPERS_IN_A_CHAIN: u32 = 10;

impl Workload {
    /// Returns all workloads.
    pub fn all() -> [Self; 4] {
        [
            Self::quick("chain of 200", Shape::Chain, 200, 5),
            Self::quick("1000 independent", Shape::Wide, 1000, 3),
            Self::quick("10 × 100 layered", Shape::Layered, 1000, 3),
            Self::sleeping(),
        ]
    }

    fn quick(name: &'static str, shape: Shape, steps: u32, runs: usize) -> Self {
        let step = |reads| Step { reads, pause: 0 };
        Self {
            name,
            steps: shape.waits(steps).into_iter().map(step).collect(),
            runs,
        }
    }

    /// Two parallel chains with alternating long and short pauses: one sleeps long while the other sleeps short. A system that runs level by
    /// level waits for the longer one each time.
    fn sleeping() -> Self {
        let steps = (0..SLEEPERS_IN_A_CHAIN)
            .flat_map(|level| [(level, 0), (level, 1)])
            .map(|(level, chain)| Step {
                reads: (level > 0)
                    .then(|| 2 * (level - 1) + chain)
                    .into_iter()
                    .collect(),
                pause: PAUSES[((level + chain) % 2) as usize],
            })
            .collect();
        Self {
            name: "2 sleeping chains",
            steps,
            runs: 1,
        }
    }

    /// Returns the result of each step: the maximum of its arguments plus one.
    pub fn outputs(&self) -> Vec<u64> {
        self.along_the_graph(|_| 1)
    }

    /// Returns the duration if only sleeping took time.
    pub fn ideal(&self) -> Duration {
        let ends = self.along_the_graph(|step| step.pause);
        Duration::from_millis(ends.into_iter().max().unwrap_or(0))
    }

    fn along_the_graph(&self, own: impl Fn(&Step) -> u64) -> Vec<u64> {
        let mut totals: Vec<u64> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            let before = step.reads.iter().map(|read| totals[*read as usize]).max();
            totals.push(before.unwrap_or(0) + own(step));
        }
        totals
    }

    /// Returns the description from which the other systems create their plans.
    pub fn description(&self) -> serde_json::Value {
        let steps: Vec<serde_json::Value> = self
            .steps
            .iter()
            .zip(self.outputs())
            .map(|(step, gives)| json!({"reads": step.reads, "ms": step.pause, "gives": gives}))
            .collect();
        json!({
            "name": self.name,
            "runs": self.runs,
            "ideal": self.ideal().as_secs_f64(),
            "at_once": concurrent_calls(),
            "steps": steps,
        })
    }

    /// Returns the text of a native plan.
    pub fn text(&self) -> String {
        let steps: Vec<serde_json::Value> = self
            .steps
            .iter()
            .enumerate()
            .map(|(number, step)| {
                let mut args: Map<String, serde_json::Value> = ["a", "b"]
                    .into_iter()
                    .zip(&step.reads)
                    .map(|(name, read)| (name.to_owned(), json!(format!("${{s{read}}}"))))
                    .collect();
                if step.pause > 0 {
                    args.insert("ms".to_owned(), json!(step.pause));
                }
                json!({"id": format!("s{number}"), "tool": "step", "args": args})
            })
            .collect();
        let last = format!("s{}", self.steps.len() - 1);
        json!({"steps": steps, "output": [last]}).to_string()
    }

    /// Checks the result of a run.
    ///
    /// # Panics
    ///
    /// If it did not.
    pub fn verify(&self, summary: &RunSummary) {
        assert_eq!(summary.status, RunStatus::Succeeded);
        let actual: Vec<Option<u64>> = summary
            .steps
            .iter()
            .map(|step| step.output.as_ref().and_then(Value::as_u64))
            .collect();
        let expected: Vec<Option<u64>> = self.outputs().into_iter().map(Some).collect();
        assert_eq!(actual, expected);
    }
}

/// Returns the maximum number of concurrent calls, for every system that supports more than one.
fn concurrent_calls() -> usize {
    RunOptions::default().limits.total.get()
}

/// Our system, with the tool that all systems have.
#[derive(Debug)]
pub struct Contestant {
    catalog: Catalog,
    engine: Engine,
    /// The store of the runs, if any.
    store: Option<Store>,
    runs: AtomicUsize,
}

impl Contestant {
    /// Creates the contestant, without a store.
    pub fn new() -> Self {
        Self {
            catalog: functions().tools().cloned().collect(),
            engine: Engine::new(Backends::new().with("here", functions())),
            store: None,
            runs: AtomicUsize::new(0),
        }
    }

    /// Stores each run durably in a store at `path`.
    ///
    /// # Panics
    ///
    /// If there can be no store.
    #[must_use]
    pub fn with_store(mut self, path: &Path) -> Self {
        self.store = Some(Store::open(path).expect("a store"));
        self
    }

    /// Reads, checks and runs the text of a plan.
    ///
    /// # Panics
    ///
    /// If the plan is not sound.
    pub async fn run(&self, text: &str) -> RunSummary {
        self.execute(self.check(Self::read(text))).await
    }

    /// Reads a plan, the first part of [`Self::run`].
    ///
    /// # Panics
    ///
    /// If it is not a plan.
    pub fn read(text: &str) -> Plan {
        let read = parse(text.as_bytes(), &ReadOptions::new("measured"));
        read.plan.expect("a plan")
    }

    /// Checks a plan, the second part.
    ///
    /// # Panics
    ///
    /// If the plan is not sound.
    pub fn check(&self, plan: Plan) -> CheckedPlan {
        let (checked, findings) = check(plan, &CheckContext::new(&self.catalog));
        checked.unwrap_or_else(|| panic!("{findings:#?}"))
    }

    /// Runs a plan, the third part.
    pub async fn execute(&self, plan: CheckedPlan) -> RunSummary {
        match &self.store {
            Some(store) => {
                let number = self.runs.fetch_add(1, Ordering::Relaxed);
                durable::run(&self.engine, store, &durable::run_id(number), plan).await
            }
            None => self.engine.run("run".parse().expect("an id"), plan).await,
        }
    }
}

impl Default for Contestant {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the tool `step`, which sleeps `ms` milliseconds, if given, and returns the maximum of `a` and `b` plus one.
fn functions() -> Functions {
    let number = json!({"type": "integer"});
    let input = Schema::from_value(Value::from(json!({
        "type": "object",
        "properties": {"a": number, "b": number, "ms": number},
        "additionalProperties": false,
    })));
    let output = Schema::from_value(Value::from(number));
    let step = Function::raw("step", |args: Value| async move {
        let number = |name: &str| args.get(name).and_then(Value::as_u64).unwrap_or(0);
        let pause = number("ms");
        if pause > 0 {
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        let actual = 1 + number("a").max(number("b"));
        Ok(ToolOutput::value(Value::from(json!(actual))))
    });
    Functions::named("here").with(step.input(input).output(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_run(workload: &Workload) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        let summary = runtime.block_on(Contestant::new().run(&workload.text()));
        workload.verify(&summary);
        // With tokio's paused clock, only sleeping takes time.
        assert_eq!(summary.duration, workload.ideal(), "{}", workload.name);
    }

    #[test]
    fn every_shape_runs_and_takes_its_ideal_time() {
        for workload in Workload::all() {
            check_run(&workload);
        }
    }

    #[test]
    fn shapes_are_what_their_names_say() {
        let shapes: Vec<(usize, u64, Duration)> = Workload::all()
            .iter()
            .map(|workload| {
                let highest = workload.outputs().into_iter().max().unwrap();
                (workload.steps.len(), highest, workload.ideal())
            })
            .collect();
        let quick = |steps, levels| (steps, levels, Duration::ZERO);
        assert_eq!(
            shapes,
            [
                quick(200, 200),
                quick(1000, 1),
                quick(1000, 100),
                (20, 10, Duration::from_millis(250)),
            ]
        );
    }
}
