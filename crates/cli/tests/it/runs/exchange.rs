//! Runs leave the store and come into it.

use std::process::Output;

use serde_json::{Value, json};

use super::support::Shop;
use crate::program::{approve, stderr, stdout};

const PLAN: &str = r#"{"name": "shop", "steps": [
    {"id": "list", "tool": "list"},
    {"id": "pay", "tool": "pay", "args": {"sum": 7, "for": "${list.orders[0].id}"}}
]}"#;

#[track_caller]
fn done(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    stdout(output)
}

#[test]
fn another_store_can_replay_a_run_and_go_on_with_it() {
    let shop = Shop::new();
    let run = shop.run(PLAN, &[]);
    let elsewhere = ["--store", "elsewhere.db"];
    done(&shop.command(&["export", &run[..8], "-o", "run.jsonl"]));
    let again = shop.command(&["export", &run, "-o", "run.jsonl"]);
    assert_eq!(again.status.code(), Some(2));
    assert!(stderr(&again).contains("`run.jsonl` already exists"));
    done(&shop.command(&["export", &run, "-o", "run.jsonl", "--force"]));
    let import = [&["import", "run.jsonl"], &elsewhere[..]].concat();
    assert_eq!(done(&shop.command(&import)).trim_end(), run);
    let twice = shop.command(&import);
    assert!(
        stderr(&twice).contains("already exists, unchanged"),
        "{twice:?}"
    );
    for command in ["logs", "show"] {
        let here = done(&shop.command(&[command, &run]));
        let there = done(&shop.command(&[&[command, &run], &elsewhere[..]].concat()));
        // A question that was open there is none here: it is asked again.
        let (here, _) = here
            .split_once("\npay wants to call")
            .unwrap_or((&here, ""));
        assert_eq!(there.replacen(", imported", "", 1), here);
    }
    done(&shop.command(&[&["replay", &run], &elsewhere[..]].concat()));
    let resume = ["resume", &run, "--approve", "all"];
    let named = ["--simulate", "tools.json"];
    done(&shop.command(&[&resume, &named[..], &elsewhere[..]].concat()));
    done(&shop.command(&[&["replay", &run], &elsewhere[..]].concat()));
    let listed = done(&shop.command(&[&["runs"], &elsewhere[..]].concat()));
    assert!(listed.contains("succeeded, imported"), "{listed}");
    assert!(done(&shop.command(&["runs"])).contains("waiting"));
}

#[test]
fn a_text_that_is_no_run_is_refused() {
    let shop = Shop::new();
    shop.write("run.jsonl", "{}");
    let output = shop.command(&["import", "run.jsonl"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("planwright export"), "{output:?}");
    assert_eq!(shop.command(&["import", "none"]).status.code(), Some(2));
    assert_eq!(shop.command(&["export", "none"]).status.code(), Some(2));
}

#[test]
fn runs_are_forgotten() {
    let shop = Shop::new();
    let waiting = shop.run(PLAN, &[]);
    let [old, new] = [(); 2].map(|()| shop.run(PLAN, &["--approve", "all"]));
    let check_stored = |wanted: &[&String]| {
        let listed = stdout(&shop.command(&["runs"]));
        let ids: Vec<&str> = listed.lines().skip(1).map(|line| &line[..8]).collect();
        let wanted: Vec<&str> = wanted.iter().map(|id| &id[..8]).collect();
        assert_eq!(ids, wanted);
    };
    assert_eq!(done(&shop.command(&["prune"])), "");
    let only = shop.command(&["prune", "--keep", "1", "--dry-run"]);
    assert_eq!(done(&only).trim_end(), old);
    assert!(
        stderr(&only).starts_with("1 run would be deleted"),
        "{only:?}"
    );
    check_stored(&[&new, &old, &waiting]);
    done(&shop.command(&["prune", "--keep", "1"]));
    check_stored(&[&new, &waiting]);
    done(&shop.command(&["prune", "--older-than", "0s"]));
    check_stored(&[&waiting]);
    done(&shop.command(&["prune", "--older-than", "0s", "--unfinished"]));
    check_stored(&[]);
}

/// A run of another store whose file is at hand.
struct Foreign {
    shop: Shop,
    run: String,
}

impl Foreign {
    /// Exports a run, lets `forge` change its lines, and imports it into another store.
    fn new(run: impl FnOnce(&Shop) -> String, forge: impl FnOnce(&mut Vec<Value>)) -> Self {
        let shop = Shop::new();
        let run = run(&shop);
        let text = done(&shop.command(&["export", &run]));
        let lines = text.lines().map(serde_json::from_str);
        let mut lines: Vec<Value> = lines.map(Result::unwrap).collect();
        lines.pop();
        forge(&mut lines);
        let count = |kind: &str| lines.iter().filter(|line| line.get(kind).is_some()).count();
        let end = json!({"end": {
            "values": count("value"), "entries": count("entry"), "decisions": count("decision"),
        }});
        lines.push(end);
        let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
        let text = lines.join("\n") + "\n";
        shop.write("run.jsonl", &text);
        Self { shop, run }
    }

    fn command(&self, args: &[&str]) -> Output {
        self.shop
            .command(&[args, &["--store", "there.db"]].concat())
    }

    fn import(&self) -> String {
        let imported = self.command(&["import", "run.jsonl"]);
        assert_eq!(done(&imported).trim_end(), self.run);
        stderr(&imported)
    }

    /// Resumes it with the tools of the shop, and gives the status and how `pay` ended.
    fn resume(&self, more: &[&str]) -> (Option<i32>, String) {
        let resume = ["resume", &self.run, "--simulate", "tools.json"];
        let output = self.command(&[&resume, more, &["--format", "json"]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        let steps = report["steps"].as_array().unwrap();
        let pay = steps.iter().find(|step| step["id"] == "pay").unwrap();
        let status = pay["status"].as_str().unwrap().to_owned();
        (output.status.code(), status)
    }
}

/// The position of the last entry of this kind.
fn last(lines: &[Value], kind: &str) -> usize {
    let is_of = |line: &Value| line["entry"]["kind"] == kind;
    lines.iter().rposition(is_of).unwrap()
}

/// An entry like the one at `like`, at the same time.
fn entry(lines: &[Value], like: usize, kind: &str, body: &Value) -> Value {
    let mut line = lines[like].clone();
    line["entry"]["kind"] = json!(kind);
    line["entry"]["body"] = body.clone();
    line
}

/// A call of `pay` that was sent, made of the question about it.
fn sent(lines: &[Value]) -> Value {
    let asked = last(lines, "asked");
    let mut sent = lines[asked]["entry"]["body"].clone();
    let fields = sent.as_object_mut().unwrap();
    fields.retain(|name, _| ["at", "server", "tool", "args"].contains(&&**name));
    sent["attempt"] = json!(1);
    entry(lines, asked, "sent", &sent)
}

#[test]
fn consent_that_comes_with_a_file_counts_for_nothing() {
    type Forge = fn(&mut Vec<Value>);
    let cases: [(&str, &[&str], &str, Forge); 4] = [
        ("an open question", &[], "waiting", |_| {}),
        ("a decision in the journal", &[], "waiting", |lines| {
            let asked = last(lines, "asked");
            let decided = json!({"at": [{"step": "pay"}], "approved": true});
            lines.insert(asked + 1, entry(lines, asked, "decided", &decided));
        }),
        ("a choice to call again", &[], "unknown", |lines| {
            let asked = last(lines, "asked");
            let chosen = json!({"at": [{"step": "pay"}], "choice": "retry"});
            let chosen = entry(lines, asked, "chosen", &chosen);
            lines.splice(asked..=asked, [sent(lines), chosen]);
        }),
        (
            "a choice made here",
            &["--retry", "pay"],
            "waiting",
            |lines| {
                let asked = last(lines, "asked");
                lines.insert(asked + 1, sent(lines));
            },
        ),
    ];
    for (case, more, expected, forge) in cases {
        let waiting = |shop: &Shop| {
            let run = shop.run(PLAN, &[]);
            done(&approve(shop.path(), &run, "pay", &[]));
            run
        };
        let foreign = Foreign::new(waiting, forge);
        let log = foreign.import();
        assert!(log.contains("1 stored decision"), "{case}: {log}");
        let early = foreign.command(&["approve", &foreign.run, "pay"]);
        assert_eq!(early.status.code(), Some(2), "{case}: {early:?}");
        assert!(stderr(&early).contains("was imported"), "{case}: {early:?}");
        let (code, pay) = foreign.resume(more);
        assert_ne!(code, Some(0), "{case}");
        assert_eq!(pay, expected, "{case}");
        if expected == "waiting" {
            // A decision that is made here, about what is asked here, counts.
            done(&approve(
                foreign.shop.path(),
                &foreign.run,
                "pay",
                &["--store", "there.db"],
            ));
            let resumed = foreign.resume(&[]);
            assert_eq!(resumed, (Some(0), "succeeded".to_owned()), "{case}");
        }
    }
}

#[test]
fn the_approval_of_a_plan_that_comes_with_a_file_counts_for_nothing() {
    const FAILS: &str = r#"{"name": "shop", "steps": [
        {"id": "price", "tool": "price", "args": {"total": 4}},
        {"id": "pay", "tool": "pay", "args": {"for": "${price}"}}
    ]}"#;
    let approved = |shop: &Shop| {
        shop.write("plan.json", FAILS);
        let run = ["run", "plan.json", "--simulate", "tools.json"];
        let refused =
            stderr(&shop.command(&[&run[..], &["--approve", "plan:000000000000"]].concat()));
        let digest = refused.split("its digest is `").nth(1).unwrap();
        let run = shop.run(FAILS, &["--approve", &format!("plan:{}", &digest[..16])]);
        let tools = r#"{"tools": {"price": {"returns": {"price": 30}}, "pay": {"approval": true, "echo": true}}}"#;
        shop.write("tools.json", tools);
        run
    };
    let foreign = Foreign::new(approved, |_| {});
    let log = foreign.import();
    assert!(log.contains("the approval of its plan"), "{log}");
    assert_eq!(foreign.resume(&[]), (Some(4), "waiting".to_owned()));
    let replayed = foreign.command(&["replay", &foreign.run]);
    assert_eq!(replayed.status.code(), Some(0), "{replayed:?}");
    // It still counts in the store in which the plan was approved.
    let resumed = foreign.shop.command(&["resume", &foreign.run]);
    assert_eq!(resumed.status.code(), Some(0), "{resumed:?}");
}

#[test]
fn tool_sources_that_come_with_a_file_are_not_used() {
    let foreign = Foreign::new(|shop| shop.run(PLAN, &[]), |_| {});
    foreign.shop.write(
        "mcp.json",
        r#"{"mcpServers": {"shop": {"command": "touch", "args": ["started"]}}}"#,
    );
    foreign.import();
    let listed = done(&foreign.command(&["runs"]));
    assert!(listed.contains("waiting, imported"), "{listed}");
    let output = foreign.command(&["resume", &foreign.run, "--approve", "all"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let log = stderr(&output);
    assert!(
        log.contains("was imported") && log.contains("--servers FILE"),
        "{log}"
    );
    // Tools that the command names do not bring along an untrusted `mcp.json` that it finds.
    let beside = [
        "resume",
        &foreign.run,
        "--workspace",
        ".",
        "--approve",
        "all",
    ];
    let output = foreign.command(&beside);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(
        stderr(&output).contains("`mcp.json` is not trusted"),
        "{output:?}"
    );
    assert!(!foreign.shop.path().join("started").exists());
}

#[test]
fn an_endless_file_is_no_run() {
    let output = Shop::new().command(&["import", "/dev/zero"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("does not begin with an object"),
        "{output:?}"
    );
}
