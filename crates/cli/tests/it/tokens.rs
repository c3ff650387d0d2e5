//! Tokens of clients, as the program gives them out.

use std::path::Path;
use std::process::Output;

use crate::program::{planwright, stderr, stdout};

fn token(folder: &Path, arguments: &[&str]) -> Output {
    planwright(folder)
        .arg("token")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn tokens_are_made_listed_and_taken_back() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = token(folder, &["create", "ada"]);
    assert!(made.status.success(), "{}", stderr(&made));
    let text = stdout(&made);
    let text = text.trim_end();
    assert!(text.starts_with("pwt_") && text.len() == 68, "{text}");
    assert_eq!(
        stderr(&made),
        "`ada` has a token; it cannot be shown again, since only its hash is stored\n"
    );

    let listed = stdout(&token(folder, &["list"]));
    assert!(listed.starts_with("ada  20"), "{listed}");
    let listed = stdout(&token(folder, &["list", "--format", "json"]));
    assert!(listed.contains("\"name\": \"ada\""), "{listed}");
    assert!(
        !listed.contains("pwt_") && !listed.contains("sha256"),
        "{listed}"
    );

    let again = token(folder, &["create", "ada"]);
    assert_eq!(again.status.code(), Some(2));
    assert_eq!(
        stderr(&again),
        "error: `ada` already has a token\n  hint: revoke it with `planwright token revoke ada`, or choose another name\n"
    );
    assert!(token(folder, &["revoke", "ada"]).status.success());
    let output = token(folder, &["list"]);
    assert_eq!(
        (stdout(&output), stderr(&output)),
        (String::new(), "no client has a token\n".to_owned())
    );
    assert_eq!(token(folder, &["revoke", "ada"]).status.code(), Some(2));
}
