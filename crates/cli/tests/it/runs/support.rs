//! A folder with plans, tools and a store of its own.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Output, Stdio};

use planwright::core::Value;

use crate::program::{planwright, stdout};

/// Tools of a shop.
const TOOLS: &str = r#"{"tools": {
    "list": {"returns": {"orders": [{"id": "o-1", "total": 3}, {"id": "o-2", "total": 4}]},
        "annotations": {"readOnlyHint": true}},
    "price": {"cases": [{"when": {"total": 3}, "returns": {"price": 30}},
        {"fails": {"code": "no_price", "message": "no price"}}]},
    "flaky": {"unavailable": "connection reset", "times": 1, "returns": "there"},
    "pay": {"approval": true, "echo": true},
    "wait": {"sleep_ms": 600000, "returns": "done"},
    "echo": {"echo": true}
}}"#;

/// A folder in which commands are given.
#[derive(Debug)]
pub(super) struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    pub(super) fn new() -> Self {
        let shop = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        shop.write("tools.json", TOOLS);
        shop
    }

    pub(super) fn write(&self, name: &str, text: &str) {
        fs::write(self.folder.path().join(name), text).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Gives a command.
    pub(super) fn command(&self, args: &[&str]) -> Output {
        planwright(self.folder.path())
            .args(args)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Runs `plan`, and gives the id of the run.
    pub(super) fn run(&self, plan: &str, args: &[&str]) -> String {
        self.write("plan.json", plan);
        let mut all = vec![
            "run",
            "plan.json",
            "--simulate",
            "tools.json",
            "--format",
            "json",
        ];
        all.extend(args);
        let report = json(&self.command(&all));
        let run = report.get("run").and_then(Value::as_text).unwrap();
        assert!(!run.is_empty(), "{report}");
        run.to_owned()
    }

    /// Starts a run of `plan`, and kills it while its first call is in flight.
    pub(super) fn begin(&self, plan: &str) -> Child {
        self.write("plan.json", plan);
        let mut child = planwright(self.folder.path())
            .args([
                "run",
                "plan.json",
                "--simulate",
                "tools.json",
                "--format",
                "events",
            ])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let events = BufReader::new(child.stdout.take().unwrap());
        let sent = events
            .lines()
            .map_while(Result::ok)
            .any(|line| line.contains("attempt_started"));
        assert!(sent, "nothing was called");
        // The event is reported while the call is being stored, and the call is sent after that.
        let is_stored = (0..1_000).any(|_| self.has_call_in_flight());
        assert!(is_stored, "the call was never kept");
        child
    }

    fn has_call_in_flight(&self) -> bool {
        let open = json(&self.command(&["runs", "--format", "json", "--status", "open"]));
        let run = open.get("runs").and_then(|runs| runs.as_list()?.first());
        let id = run.and_then(|run| run.get("id")?.as_text());
        id.is_some_and(|id| stdout(&self.command(&["logs", id])).contains("in flight"))
    }
}

/// Parses the standard output of a command as JSON.
pub(super) fn json(output: &Output) -> Value {
    let text = stdout(output);
    Value::from_json(&text).unwrap_or_else(|error| panic!("{error}: {text} {output:?}"))
}
