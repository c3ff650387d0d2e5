//! Plans as the Acts' own texts show them, and what they read as.

use std::path::Path;

use super::{described, findings, parsed};

#[test]
fn plans_of_the_acts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/acts");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of golden cases")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    names.sort();
    assert!(names.len() >= 10, "golden cases are missing: {names:?}");
    for name in names {
        let text = std::fs::read_to_string(folder.join(format!("{name}.json"))).expect(&name);
        let result = parsed(&text);
        let plan = result.plan.as_ref().map(described).unwrap_or_default();
        let read = format!("{}{plan}", findings(&result));
        insta::with_settings!({
            snapshot_path => &folder,
            prepend_module_to_snapshot => false,
            omit_expression => true,
        }, {
            insta::assert_snapshot!(name, read);
        });
    }
}
