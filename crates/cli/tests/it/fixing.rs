//! `planwright check --fix`: safe fixes, written into the files.

use std::fs;
use std::path::Path;
use std::process::Output;

use crate::program::{planwright, stderr, stdout};

const GUESSED: &str = "// What a model wrote.
{
  'steps': [
    {\"id\": \"a\", \"tool\": \"say\"},
    {\"id\": \"b\", \"tool\": \"say\", \"depends_on\": [\"a\"]} // after it
  ]
}
";

const FIXED: &str = "// What a model wrote.
{
  \"steps\": [
    {\"id\": \"a\", \"tool\": \"say\"},
    {\"id\": \"b\", \"tool\": \"say\", \"after\": [\"a\"]} // after it
  ]
}
";

fn scene() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("plan.json"), GUESSED).unwrap();
    fs::write(
        folder.path().join("tools.json"),
        "{\"tools\": {\"say\": {}}}",
    )
    .unwrap();
    folder
}

fn check(folder: &Path, arguments: &[&str]) -> Output {
    planwright(folder)
        .args(["check", "--simulate", "tools.json"])
        .args(arguments)
        .output()
        .unwrap()
}

fn plan(folder: &Path) -> String {
    fs::read_to_string(folder.join("plan.json")).unwrap()
}

#[test]
fn a_plan_is_fixed_in_place() {
    let folder = scene();
    let output = check(folder.path(), &["--fix", "plan.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(plan(folder.path()), FIXED);
    insta::assert_snapshot!(stdout(&output), @r#"
    --- plan.json
    +++ plan.json
    @@ -1,7 +1,7 @@
     // What a model wrote.
     {
    -  'steps': [
    +  "steps": [
         {"id": "a", "tool": "say"},
    -    {"id": "b", "tool": "say", "depends_on": ["a"]} // after it
    +    {"id": "b", "tool": "say", "after": ["a"]} // after it
       ]
     }
    "#);
    insta::assert_snapshot!(stderr(&output), @r"
    fixed 2 problems in plan.json
    the plan is sound: 2 steps
    ");
    // There is nothing left to do.
    let output = check(folder.path(), &["--fix", "plan.json"]);
    assert_eq!(stdout(&output), "");
    assert_eq!(stderr(&output), "the plan is sound: 2 steps\n");
}

#[test]
fn a_dry_run_writes_nothing() {
    let folder = scene();
    let output = check(folder.path(), &["--fix", "--dry-run", "plan.json"]);
    // The plan is checked as it is.
    assert_eq!(output.status.code(), Some(3));
    assert!(stdout(&output).contains("+  \"steps\": ["));
    let said = stderr(&output);
    assert!(said.contains("would fix 2 problems in plan.json"), "{said}");
    assert!(said.contains("error PW0105"), "{said}");
    assert_eq!(plan(folder.path()), GUESSED);
}

#[test]
fn diagnostics_have_their_fixes_as_data() {
    let folder = scene();
    let output = check(folder.path(), &["--format", "json", "plan.json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    let found = document["diagnostics"].as_array().unwrap();
    let unknown = found
        .iter()
        .find(|found| found["code"] == "PW0105")
        .unwrap();
    let edit = &unknown["fixes"][0];
    let part = |name: &str| usize::try_from(edit["span"][name].as_u64().unwrap()).unwrap();
    assert_eq!(&GUESSED[part("start")..part("end")], "\"depends_on\"");
    assert_eq!(edit["replacement"], "\"after\"");
    // Without `--fix`, the text says that there are some.
    let said = stderr(&check(folder.path(), &["plan.json"]));
    assert!(
        said.contains("hint: `planwright check --fix` fixes all of them"),
        "{said}"
    );
}

#[test]
fn with_json_the_diff_is_no_part_of_the_document() {
    let folder = scene();
    let output = check(folder.path(), &["--fix", "--format", "json", "plan.json"]);
    let document: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(document["ok"], true);
    assert!(stderr(&output).contains("+++ plan.json"));
    assert_eq!(plan(folder.path()), FIXED);
}

#[test]
fn a_plan_in_another_format_is_rewritten_without_its_comments() {
    for (name, text) in [
        (
            "plan.toml",
            "# The night shift.\n[[steps]]\nid = \"a\" # first\ntool = \"say\"\n",
        ),
        (
            "plan.xml",
            "<!-- The night shift. -->\n<plan><step id=\"a\" tool=\"say\"/></plan>\n",
        ),
    ] {
        let folder = scene();
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let output = check(folder.path(), &["--fix", name]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{said}");
        let note = "note: the whole text is rewritten as JSON, without comments\n";
        assert!(said.contains(note), "{said}");
        let fixed = fs::read_to_string(&path).unwrap();
        assert_eq!(
            fixed,
            "{\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"tool\": \"say\"\n    }\n  ]\n}\n"
        );
        let said = stderr(&check(folder.path(), &["--fix", name]));
        assert_eq!(said, "the plan is sound: 1 step\n");
    }
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = scene();
    let file = folder.path().join("plan.json");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("plan.json", folder.path().join("link.json")).unwrap();
    let output = check(folder.path(), &["--fix", "link.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(plan(folder.path()), FIXED);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    let link = fs::symlink_metadata(folder.path().join("link.json")).unwrap();
    assert!(link.is_symlink());
}

#[test]
fn only_files_are_fixed() {
    let folder = scene();
    let output = check(folder.path(), &["--fix", "-"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("not on standard input"));
    fs::write(folder.path().join("good.json"), FIXED).unwrap();
    let saved = planwright(folder.path())
        .args(["save", "good.json", "--name", "good"])
        .output()
        .unwrap();
    assert_eq!(saved.status.code(), Some(0), "{}", stderr(&saved));
    let output = check(folder.path(), &["--fix", "good"]);
    assert_eq!(output.status.code(), Some(2));
    insta::assert_snapshot!(stderr(&output), @r"
    error: `--fix` needs a plan in a file; `good` is stored
      hint: `planwright show good --as source > FILE` writes it to one, `planwright save FILE` stores it again
    ");
}

/// The diff that is printed makes the fixed text of the one before, also if the first line is left out.
#[cfg(unix)]
#[test]
fn the_diff_is_a_patch() {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    let folder = scene();
    let tools = "{\"tools\": {\"get_current_time\": {}, \"echo\": {}}}";
    fs::write(folder.path().join("tools.json"), tools).unwrap();
    let file = folder.path().join("plan.py");
    fs::write(
        &file,
        "import asyncio


async def main(session):
    tokyo, lima = await asyncio.gather(
        session.call_tool(\"get_current_time\", {\"timezone\": \"Asia/Tokyo\"}),
        session.call_tool(\"get_current_time\", {\"timezone\": \"America/Lima\"}),
    )
    result = await session.call_tool(
        \"echo\", {\"message\": f\"Tokyo {tokyo['datetime']} / Lima {lima['datetime']}\"}
    )
    return result
",
    )
    .unwrap();
    let printed = check(folder.path(), &["--fix", "--dry-run", "plan.py"]);
    let mut patch = Command::new("patch")
        .args(["--output", "patched.py", "plan.py"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    patch
        .stdin
        .take()
        .unwrap()
        .write_all(&printed.stdout)
        .unwrap();
    assert!(patch.wait().unwrap().success(), "{}", stdout(&printed));
    check(folder.path(), &["--fix", "plan.py"]);
    let patched = fs::read_to_string(folder.path().join("patched.py")).unwrap();
    assert_eq!(patched, fs::read_to_string(file).unwrap());
    assert!(patched.contains("return ${result}"), "{patched}");
}

/// A reference to the id of a step in other letters is to that step; the same letters elsewhere stay.
#[test]
fn ids_in_other_letters_are_fixed() {
    let folder = scene();
    let plan = |id: &str| {
        format!(
            "{{\"steps\": [{{\"id\": \"people_now\", \"tool\": \"say\"}}, {{\"id\": \"b\", \"tool\": \"say\", \"args\": {{\"x\": \"PeopleNow: ${{{id}.x}}\"}}}}]}}\n"
        )
    };
    let file = folder.path().join("plan.json");
    fs::write(&file, plan("PeopleNow")).unwrap();
    let output = check(folder.path(), &["--fix", "plan.json"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(file).unwrap(), plan("people_now"));
}

/// A fix that would lead to another problem is left out with a hint, and the others are written.
#[test]
fn fixes_that_lead_to_other_problems_are_left_out() {
    let folder = scene();
    let file = folder.path().join("plan.json");
    let plan = |size: &str| {
        format!(
            "{{\"steps\": [{{\"id\": \"o\", \"value\": {{\"nums\": [1]}}}}, {{\"id\": \"a\", \"value\": \"${{{size}}}\"}}, {{\"id\": \"b\", \"value\": \"${{o.nums.strip()}}\"}}]}}\n"
        )
    };
    fs::write(&file, plan("len(o.nums)")).unwrap();
    let output = check(folder.path(), &["--fix", "plan.json"]);
    assert_eq!(output.status.code(), Some(3));
    assert_eq!(fs::read_to_string(file).unwrap(), plan("size(o.nums)"));
    let said = stderr(&output);
    assert!(said.contains("fixed 1 problem in plan.json"), "{said}");
    let hint = "hint: one fix was left out: it would lead to another problem";
    assert!(said.contains(hint), "{said}");
}
