//! A run that begins before its plan is whole, in the journal: as if it had been known where to keep it from the start.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use planwright_core::{CheckContext, CheckedPlan, StepId, Value, check};
use planwright_engine::journal::{Entry, Record};
use planwright_engine::options::{Arrival, RunOptions};
use planwright_engine::run::{Opening, replay};
use planwright_engine::{JournalError, MemoryJournal};
use planwright_planner::create::CreatedPlan;
use planwright_planner::stream::{Keeper, Kept};

use super::scene::{Played, Scene, catalog};
use super::{TWO_LEVELS, UNSOUND};

/// With which plan a process began, with how many of its steps, and what was forgotten.
type Began = (CheckedPlan, Option<usize>, Vec<StepId>);

/// Keeps runs in memory, with all that is needed to replay them.
#[derive(Default)]
struct Memory {
    journal: MemoryJournal,
    openings: Mutex<Vec<Began>>,
    is_full: bool,
}

impl Keeper for Memory {
    fn begin(&self, plan: &CreatedPlan, beginning: Option<usize>) -> Result<Kept, JournalError> {
        if self.is_full {
            return Err(JournalError::new("there is no room"));
        }
        let mut openings = self.openings.lock().unwrap();
        openings.push((plan.checked.clone(), beginning, Vec::new()));
        Ok(Kept {
            journal: Arc::new(self.journal.clone()),
            header: Value::from("first"),
        })
    }

    fn abandon(&self, plan: &CreatedPlan, beginning: usize) -> Result<Kept, JournalError> {
        let kept = self.begin(plan, Some(beginning))?;
        Ok(Kept {
            header: Value::from("abandoned"),
            ..kept
        })
    }

    fn go_on(&self, plan: &CreatedPlan, forgotten: &[StepId]) -> Result<Value, JournalError> {
        let mut openings = self.openings.lock().unwrap();
        openings.push((plan.checked.clone(), None, forgotten.to_vec()));
        Ok(Value::from("second"))
    }
}

impl Memory {
    /// Drives the run again from what was kept: it must decide the same.
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
        let replayed = replay(&Arc::from("run"), &entries, |_, _| {
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
                options.arrival = Arrival::Tentative;
                first = as_far_as(plan, *steps, "");
            }
            Ok::<_, String>(Opening {
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
    let (beginning, findings) = check(plan.plan().beginning(steps), &CheckContext::new(&catalog));
    beginning.unwrap_or_else(|| panic!("{findings:#?}"))
}

async fn play(memory: &Memory, answers: &[&str]) -> Played {
    let scene = Scene {
        keeper: Some(memory),
        ..Scene::new(answers)
    };
    scene.play().await
}

#[tokio::test(start_paused = true)]
async fn what_ran_early_is_kept_with_the_rest() {
    let memory = Memory::default();
    let played = play(&memory, &[TWO_LEVELS]).await;
    assert_eq!(played.called().len(), 8);
    memory.check(&["first"]);
    let entries = memory.journal.entries();
    let count = |is: fn(&Record) -> bool| entries.iter().filter(|entry| is(&entry.record)).count();
    assert_eq!(count(|record| matches!(record, Record::Sent { .. })), 8);
    assert_eq!(count(|record| matches!(record, Record::Closed)), 1);
    assert!(count(|record| matches!(record, Record::Extended { .. })) > 3);
}

#[tokio::test(start_paused = true)]
async fn what_was_to_run_early_is_kept_where_the_whole_plan_is_there_at_once() {
    let memory = Memory::default();
    let scene = Scene {
        keeper: Some(&memory),
        pace: None,
        ..Scene::new(&[TWO_LEVELS])
    };
    let played = scene.play().await;
    assert_eq!(played.called().len(), 8);
    memory.check(&["first"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_begins_again_is_kept_as_one() {
    let mended = r#"{"steps": [
        {"id": "a", "tool": "search", "args": {"q": "alpha"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first}"}}], "output": ["tell"]}"#;
    let memory = Memory::default();
    let played = play(&memory, &[UNSOUND, mended]).await;
    assert_eq!(played.called(), ["a", "b", "c", "c", "tell"]);
    memory.check(&["abandoned", "second"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_came_to_no_plan_is_kept() {
    let memory = Memory::default();
    let played = play(&memory, &[UNSOUND, "No.", "No."]).await;
    assert!(played.streamed.summary.is_none());
    memory.check(&["abandoned"]);
}

#[tokio::test(start_paused = true)]
async fn a_run_of_which_nothing_was_early_is_kept_as_any() {
    let memory = Memory::default();
    let answer = r#"{"steps": [{"id": "a", "tool": "send", "args": {"text": "x"}}]}"#;
    play(&memory, &[answer]).await;
    memory.check(&["first"]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_kept_changes_nothing() {
    let answer = r#"{"steps": [
        {"id": "a", "tool": "search", "args": {"q": "alpha"}},
        {"id": "tell", "tool": "send", "args": {"text": "${a.first}"}}]}"#;
    for answers in [[answer].as_slice(), &[UNSOUND, answer]] {
        let memory = Memory {
            is_full: true,
            ..Memory::default()
        };
        let played = play(&memory, answers).await;
        assert!(played.streamed.summary.is_none());
        assert!(!played.called().contains(&"tell"));
        let error = played.streamed.unkept.as_ref().unwrap();
        assert_eq!(error.to_string(), "there is no room");
    }
}
