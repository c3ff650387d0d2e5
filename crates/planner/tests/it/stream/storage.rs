//! Storage of runs that start before their plan is complete: the journal replays like that of any other run.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use planwright_core::{CheckContext, CheckedPlan, StepId, Value, check};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::options::{PlanState, RunOptions};
use planwright_engine::run::{ReplayHeader, replay};
use planwright_engine::{JournalError, MemoryJournal};
use planwright_planner::create::CreatedPlan;
use planwright_planner::stream::{EarlyRunStorage, RunJournal};

use super::scene::{Scene, SceneOutcome, catalog};
use super::{TWO_LEVELS, UNSOUND};

/// The plan of a process, the number of steps it started with, and the steps that were discarded.
type ProcessStart = (CheckedPlan, Option<usize>, Vec<StepId>);

/// Stores runs in memory, with everything that a replay needs.
#[derive(Default)]
struct MemoryStore {
    journal: MemoryJournal,
    openings: Mutex<Vec<ProcessStart>>,
    is_full: bool,
}

impl EarlyRunStorage for MemoryStore {
    fn begin(
        &self,
        plan: &CreatedPlan,
        beginning: Option<usize>,
    ) -> Result<RunJournal, JournalError> {
        if self.is_full {
            return Err(JournalError::new("there is no room"));
        }
        let mut openings = self.openings.lock().unwrap();
        openings.push((plan.checked.clone(), beginning, Vec::new()));
        Ok(RunJournal {
            journal: Arc::new(self.journal.clone()),
            header: Value::from("first"),
        })
    }

    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<RunJournal, JournalError> {
        let stored = self.begin(plan, Some(beginning))?;
        Ok(RunJournal {
            header: Value::from("abandoned"),
            ..stored
        })
    }

    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError> {
        let mut openings = self.openings.lock().unwrap();
        openings.push((plan.checked.clone(), None, forgotten.to_vec()));
        Ok(Value::from("second"))
    }
}

impl MemoryStore {
    /// Replays the stored run, which must make the same decisions.
    fn check(&self, headers: &[&str]) {
        let entries = self.journal.entries();
        let opened: Vec<&str> = entries
            .iter()
            .filter_map(|entry| match &entry.record {
                Record::Opened { header, .. } => header.as_text(),
                _ => None,
            })
            .collect();
        assert_eq!(opened, headers);
        let openings = self.openings.lock().unwrap();
        let mut openings = openings.iter();
        let mut rest = entries.as_slice();
        let replayed = replay(&"run".parse().unwrap(), &entries, |_, _| {
            let (plan, beginning, forgotten) = openings.next().unwrap();
            let (process, behind) = one_process(rest);
            rest = behind;
            let extensions = process.iter().filter_map(|entry| match &entry.record {
                Record::Extended { steps, digest } => Some(as_far_as(plan, *steps, digest)),
                _ => None,
            });
            let extensions: VecDeque<CheckedPlan> = extensions.collect();
            let mut options = RunOptions::default();
            let mut first = plan.clone();
            if let Some(steps) = beginning {
                options.plan_state = PlanState::Provisional;
                first = as_far_as(plan, *steps, "");
            }
            Ok::<_, String>(ReplayHeader {
                plan: first,
                options,
                choices: Vec::new(),
                forgotten: forgotten.clone(),
                idle: Some(std::time::Duration::ZERO),
                revokes_consent: false,
                extensions,
            })
        });
        let replayed = replayed.unwrap_or_else(|error| panic!("{error:?}\n{entries:#?}"));
        assert!(replayed.decisions > 0);
        assert_eq!(replayed.processes, headers.len());
    }
}

fn one_process(entries: &[Entry]) -> (&[Entry], &[Entry]) {
    let is_opening = |entry: &Entry| matches!(entry.record, Record::Opened { .. });
    let length = entries.iter().skip(1).position(is_opening);
    entries.split_at(length.map_or(entries.len(), |length| length + 1))
}

fn as_far_as(plan: &CheckedPlan, steps: usize, digest: &str) -> CheckedPlan {
    if plan.digest() == digest {
        return plan.clone();
    }
    let catalog = catalog();
    let (beginning, diagnostics) =
        check(plan.plan().beginning(steps), &CheckContext::new(&catalog));
    beginning.unwrap_or_else(|| panic!("{diagnostics:#?}"))
}

async fn play(store: &MemoryStore, answers: &[&str]) -> SceneOutcome {
    let scene = Scene {
        storage: Some(store),
        ..Scene::new(answers)
    };
    scene.play().await
}

#[tokio::test(start_paused = true)]
async fn early_calls_are_stored_with_the_rest() {
    let store = MemoryStore::default();
    let played = play(&store, &[TWO_LEVELS]).await;
    assert_eq!(played.called().len(), 8);
    store.check(&["first"]);
    let entries = store.journal.entries();
    let count = |is: fn(&Record) -> bool| entries.iter().filter(|entry| is(&entry.record)).count();
    assert_eq!(count(|record| matches!(record, Record::Sent { .. })), 8);
    assert_eq!(count(|record| matches!(record, Record::Closed)), 1);
    assert!(count(|record| matches!(record, Record::Extended { .. })) > 3);
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_arrives_at_once_is_stored() {
    let store = MemoryStore::default();
    let scene = Scene {
        storage: Some(&store),
        pace: None,
        ..Scene::new(&[TWO_LEVELS])
    };
    let played = scene.play().await;
    assert_eq!(played.called().len(), 8);
    store.check(&["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_restarted_run_is_stored_as_one() {
    let mended = r#"{"steps": [
        {"id": "a", "tool": "search", "args": {"q": "alpha"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first}"}}], "output": ["tell"]}"#;
    let store = MemoryStore::default();
    let played = play(&store, &[UNSOUND, mended]).await;
    assert_eq!(played.called(), ["a", "b", "c", "c", "tell"]);
    store.check(&["abandoned", "second"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_a_plan_is_stored() {
    let store = MemoryStore::default();
    let played = play(&store, &[UNSOUND, "No.", "No."]).await;
    assert!(played.streamed.summary.is_none());
    store.check(&["abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_without_early_calls_is_stored() {
    let store = MemoryStore::default();
    let answer = r#"{"steps": [{"id": "a", "tool": "send", "args": {"text": "x"}}]}"#;
    play(&store, &[answer]).await;
    store.check(&["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_cannot_be_stored_has_no_effects() {
    let answer = r#"{"steps": [
        {"id": "a", "tool": "search", "args": {"q": "alpha"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first}"}}]}"#;
    for answers in [[answer].as_slice(), &[UNSOUND, answer]] {
        let store = MemoryStore {
            is_full: true,
            ..MemoryStore::default()
        };
        let played = play(&store, answers).await;
        assert!(played.streamed.summary.is_none());
        assert!(!played.called().contains(&"tell"));
        let error = played.streamed.error.as_ref().unwrap();
        assert_eq!(error.to_string(), "there is no room");
    }
}
