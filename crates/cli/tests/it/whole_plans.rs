//! Approvals of whole plans, as they are shown.

use std::path::Path;

use serde_json::json;

use crate::decisions::{resumed, run, waiting};
use crate::program::{stderr, stdout};

#[test]
fn a_whole_plan_is_approved_as_it_was_shown() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    let shown = run(folder.path(), &["approve", &id, "--plan", "--show"]);
    let text = stdout(&shown);
    for part in [
        "final: look (after pay)",
        "simulated.pay   ",
        "pay wants to call simulated.pay",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let digest = text.trim_end().rsplit("digest: ").next().unwrap();
    let blind = run(folder.path(), &["approve", &id, "--plan"]);
    assert_eq!(blind.status.code(), Some(2));
    let short = &id[..8];
    assert!(
        stderr(&blind).ends_with(&format!(
            "error: there is no terminal to approve the plan on\n  hint: look at the plan with \
             `planwright approve {short} --plan --show`, then approve it with `--digest DIGEST`\n"
        )),
        "{}",
        stderr(&blind)
    );
    let wrong = ["approve", &id, "--plan", "--digest", "0123456789abcdef"];
    assert_eq!(run(folder.path(), &wrong).status.code(), Some(2));
    assert_eq!(resumed(folder.path(), &[&id]).0, Some(4));
    let approved = run(
        folder.path(),
        &["approve", &id, "--plan", "--digest", digest],
    );
    assert_eq!(approved.status.code(), Some(0), "{}", stderr(&approved));
    assert_eq!(resumed(folder.path(), &[&id]), (Some(0), json!(3)));
}

#[test]
fn a_value_that_was_set_is_shown_with_the_plan_and_ends_its_approval() {
    let folder = tempfile::tempdir().unwrap();
    let id = waiting(folder.path(), &[]);
    run(folder.path(), &["reject", &id, "pay"]);
    assert_eq!(resumed(folder.path(), &[&id]).0, Some(1));
    let digest = |folder: &Path| {
        let shown = stdout(&run(folder, &["approve", &id, "--plan", "--show"]));
        let digest = shown.trim_end().rsplit("digest: ").next().unwrap();
        (digest.to_owned(), shown)
    };
    let (before, _) = digest(folder.path());
    let set = ["--set", r#"pay={"amount":9}"#];
    assert_eq!(
        resumed(folder.path(), &[&[&*id], &set[..]].concat()),
        (Some(0), json!(9))
    );
    let (after, shown) = digest(folder.path());
    assert_ne!(before, after);
    assert!(
        shown.contains(r#"`pay` was set to {"amount":9}"#),
        "{shown}"
    );
}
