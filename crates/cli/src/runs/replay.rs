//! `planwright replay RUN`: replays a run from its journal, and verifies that all decisions are the same.

use std::fmt::Write as _;

use planwright::engine::RunId;
use planwright::engine::run::{ReplayError, ReplayReport};
use planwright::format::{RecordV1, ReplayV1};
use planwright::stored::{StoredRun, StoredRunError};
use planwright::terminal_text;

use super::selector::find_run;
use super::store;
use crate::args::{Format, ReplayArguments, RunFormat};
use crate::error::{CommandError, Exit};
use crate::view::output;
use crate::view::printer::{BAD, GOOD, Printer, counted, styled};

/// The maximum width of a printed decision, in columns.
const MAX_DECISION_WIDTH: usize = 400;

/// `planwright replay RUN`
pub(crate) fn replay(arguments: &ReplayArguments, printer: Printer) -> Result<Exit, CommandError> {
    let store = store::open(&arguments.store, printer)?;
    let id = find_run(&store, arguments.run.as_deref())?.id;
    let stored = StoredRun::read(&store, id.as_str())?;
    let result = stored.replayed(&id);
    let replay = ReplayV1::new(id.clone(), &result);
    match arguments.format {
        Format::Json => output::json(&replay, RunFormat::Json, printer)?,
        Format::Text => printer.pages(&text(&id, &replay, &result)),
    }
    Ok(if replay.same {
        Exit::Success
    } else {
        Exit::Failed
    })
}

fn text(
    id: &RunId,
    replay: &ReplayV1,
    result: &Result<ReplayReport, ReplayError<StoredRunError>>,
) -> String {
    let run = store::short_id(id);
    let error = match result {
        Ok(replayed) => {
            return format!(
                "{} run {run} replays identically: {} of {} compared\n",
                styled(GOOD, "✓"),
                counted(replayed.decisions, "decision"),
                processes(replayed.processes)
            );
        }
        Err(error) => error.to_string(),
    };
    let error = terminal_text::one_line(&error);
    let mut text = format!("{} run {run}: {error}\n", styled(BAD, "✗"));
    if let Some(divergence) = &replay.divergence {
        let now = divergence.now.as_ref();
        let now = now.map_or_else(|| "nothing".to_owned(), decision);
        let _ = writeln!(
            text,
            "  recorded: {}\n  replayed: {now}",
            decision(&divergence.written)
        );
    }
    text
}

fn processes(count: usize) -> String {
    if count == 1 {
        "1 process".to_owned()
    } else {
        format!("{count} processes")
    }
}

fn decision(record: &RecordV1) -> String {
    let json = serde_json::to_string(record).unwrap_or_default();
    terminal_text::shortened(&terminal_text::one_line(&json), MAX_DECISION_WIDTH, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use planwright::core::{StepId, Value};
    use planwright::engine::RunStatus;
    use planwright::engine::event::Address;
    use planwright::engine::journal::Record;

    use super::*;

    #[test]
    fn both_decisions_are_named() {
        let at = Address {
            inside: None,
            instance: None,
            step: StepId::new("pay"),
            item: None,
            round: None,
        };
        let written = Record::Sent {
            at: Arc::new(at),
            server: "bank".into(),
            tool: Arc::from("pay"),
            attempt: 1,
            args: Value::from("\u{1b}"),
            consent: None,
        };
        let now = Record::Ended {
            status: RunStatus::Failed,
        };
        let result = Err(ReplayError::Diverged {
            turn: 7,
            written: Box::new(written),
            now: Some(Box::new(now)),
        });
        let replay = ReplayV1::new("0123456789abcdef".parse().unwrap(), &result);
        let text = text(&replay.run, &replay, &result);
        let text = anstream::adapter::strip_str(&text).to_string();
        insta::assert_snapshot!(text, @r#"
        ✗ run 01234567: the replay diverges at turn 7
          recorded: {"what":"sent","address":"pay","server":"bank","tool":"pay","attempt":1,"args":"\u001b"}
          replayed: {"what":"ended","status":"failed"}
        "#);
        assert!(!replay.same);
    }
}
