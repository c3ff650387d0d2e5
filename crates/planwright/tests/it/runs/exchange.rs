//! Runs leave the store and come into it.

use std::process::Output;

use super::support::Shop;
use crate::program::{stderr, stdout};

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
    assert!(stderr(&again).contains("`run.jsonl` is there already"));
    done(&shop.command(&["export", &run, "-o", "run.jsonl", "--force"]));
    let import = [&["import", "run.jsonl"], &elsewhere[..]].concat();
    assert_eq!(done(&shop.command(&import)).trim_end(), run);
    let twice = shop.command(&import);
    assert!(stderr(&twice).contains("was there already"), "{twice:?}");
    for command in ["logs", "show"] {
        let here = done(&shop.command(&[command, &run]));
        assert_eq!(
            done(&shop.command(&[&[command, &run], &elsewhere[..]].concat())),
            here
        );
    }
    done(&shop.command(&[&["replay", &run], &elsewhere[..]].concat()));
    done(&shop.command(&[&["resume", &run, "--approve", "all"], &elsewhere[..]].concat()));
    let listed = done(&shop.command(&[&["runs"], &elsewhere[..]].concat()));
    assert!(listed.contains("succeeded"), "{listed}");
    assert!(done(&shop.command(&["runs"])).contains("waiting"));
}

#[test]
fn what_is_no_run_is_refused() {
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
    let kept = |wanted: &[&String]| {
        let listed = stdout(&shop.command(&["runs"]));
        let ids: Vec<&str> = listed.lines().skip(1).map(|line| &line[..8]).collect();
        let wanted: Vec<&str> = wanted.iter().map(|id| &id[..8]).collect();
        assert_eq!(ids, wanted);
    };
    assert_eq!(done(&shop.command(&["prune"])), "");
    let only = shop.command(&["prune", "--keep", "1", "--dry-run"]);
    assert_eq!(done(&only).trim_end(), old);
    assert!(
        stderr(&only).starts_with("1 run would be forgotten"),
        "{only:?}"
    );
    kept(&[&new, &old, &waiting]);
    done(&shop.command(&["prune", "--keep", "1"]));
    kept(&[&new, &waiting]);
    done(&shop.command(&["prune", "--older-than", "0s"]));
    kept(&[&waiting]);
    done(&shop.command(&["prune", "--older-than", "0s", "--unfinished"]));
    kept(&[]);
}
