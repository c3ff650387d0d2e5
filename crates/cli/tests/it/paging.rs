//! Long output on a terminal goes through a pager, and nowhere else.

use std::fs;

use serde_json::{Value, json};

use crate::program::{planwright, stdout};
use crate::prompts::screen_in;

/// A pager that shows the second line alone.
const PAGER: &str = "PLANWRIGHT_PAGER='sed -n 2p'";

fn scene(steps: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let steps: Vec<Value> = (1..=steps)
        .map(|index| json!({"id": format!("s{index}"), "tool": "say"}))
        .collect();
    let plan = json!({"steps": steps, "output": ["s1"]});
    fs::write(folder.path().join("plan.json"), plan.to_string()).unwrap();
    folder
}

#[test]
fn a_pager_shows_what_is_longer_than_the_terminal() {
    let folder = scene(40);
    let show = |environment: &str, arguments: &str| {
        let arguments = format!("show plan.json --as list {arguments}");
        screen_in(folder.path(), environment, &arguments, &[])
    };
    assert_eq!(show(PAGER, ""), "● 2. s2 [say]  ∥");
    assert!(show(PAGER, "--no-pager").ends_with("● 40. s40 [say]  ∥"));
    // `cat` pages nothing, and a pager that does not exist is none.
    for pager in ["PAGER=cat", "PLANWRIGHT_PAGER=/no/such/pager"] {
        let shown = show(pager, "");
        assert!(shown.ends_with("● 40. s40 [say]  ∥"), "{pager}: {shown}");
    }
}

#[test]
fn short_output_and_other_programs_have_no_pager() {
    let folder = scene(3);
    let shown = screen_in(folder.path(), PAGER, "show plan.json --as list", &[]);
    assert!(shown.contains("● 1. s1 [say]"), "{shown}");
    let folder = scene(40);
    let output = planwright(folder.path())
        .env("PLANWRIGHT_PAGER", "sed -n 2p")
        .args(["show", "plan.json", "--as", "list"])
        .output()
        .unwrap();
    assert_eq!(stdout(&output).lines().count(), 40);
}
