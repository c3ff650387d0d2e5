//! The pages of the diagnostic codes say the truth: what is wrong on a page is found, and what is right is sound.
//!
//! An example is a fenced block that begins with three backticks, `json` or `text`, and `wrong` or `right`; then may
//! come the name of its dialect, or `any` where it is to be recognised, and `to` with a second one where the example
//! is about converting it, or `run` where it is run as well. In a `text`, `\xfc` is the byte of that number. Blocks called `tools`, `library`, `inputs` and `policy` say what both are checked against.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use planwright::core::{Code, Object, Value};
use planwright_testkit::pages::{Block, blocks};

use crate::inspect::Subject;

/// The dialect of examples that name none.
const DEFAULT_DIALECT: &str = "native";

#[test]
fn examples_do_what_their_page_says() {
    let mut problems = Vec::new();
    for code in Code::ALL {
        let page = fs::read_to_string(page(code.as_str())).unwrap();
        let examples = Examples::of(&page);
        let mut blame = |problem: String| problems.push(format!("{code}: {problem}"));
        if !page.starts_with(&format!("# {code}: {}\n", code.title())) {
            blame(format!("the heading is not `# {code}: {}`", code.title()));
        }
        if examples.wrong.is_empty() || examples.right.is_empty() {
            blame("there is no wrong or no right example".to_owned());
        }
        for wrong in &examples.wrong {
            let found = wrong.inspect();
            if !found.codes().contains(code) {
                blame(format!("the wrong one has {:#?}", found.findings));
            }
        }
        for right in &examples.right {
            let found = right.inspect();
            if !found.findings.is_empty() {
                blame(format!("the right one has {:#?}", found.findings));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_page_has_a_code() {
    let codes: BTreeSet<String> = Code::ALL.iter().map(|code| format!("{code}.md")).collect();
    let pages: BTreeSet<String> = fs::read_dir(page("README").parent().unwrap())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "README.md")
        .collect();
    assert_eq!(pages, codes);
}

fn page(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/codes")
        .join(format!("{name}.md"))
}

/// The examples of one page.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    /// Plans that get the diagnostic.
    pub(crate) wrong: Vec<Subject>,
    /// Plans that do not.
    pub(crate) right: Vec<Subject>,
}

impl Examples {
    /// Reads the examples of the page of `code`.
    pub(crate) fn of_code(code: Code) -> Self {
        Self::of(&fs::read_to_string(page(code.as_str())).unwrap())
    }

    fn of(page: &str) -> Self {
        let mut surroundings = Subject::default();
        let mut examples = Self::default();
        let mut policy_of_right = None;
        for Block { words, content, .. } in blocks(page) {
            match words.as_slice() {
                ["json", "wrong", rest @ ..] => {
                    examples.wrong.push(example(content.into(), rest));
                }
                ["text", "wrong", rest @ ..] => {
                    examples.wrong.push(example(with_bytes(content), rest));
                }
                ["text", "right", rest @ ..] => {
                    examples.right.push(example(with_bytes(content), rest));
                }
                ["json", "right", rest @ ..] => {
                    examples.right.push(example(content.into(), rest));
                }
                ["json", "tools"] => surroundings.tools = Some(value(content)),
                ["json", "library"] => surroundings.library = object(content),
                ["json", "given"] => surroundings.inputs = object(content),
                ["json", "policy"] => surroundings.policy = object(content),
                ["json", "policy", "right"] => policy_of_right = Some(object(content)),
                _ => panic!("a page has no block called {words:?}"),
            }
        }
        for example in examples.wrong.iter_mut().chain(&mut examples.right) {
            example.tools.clone_from(&surroundings.tools);
            example.library.clone_from(&surroundings.library);
            example.inputs.clone_from(&surroundings.inputs);
            example.policy.clone_from(&surroundings.policy);
        }
        if let Some(policy) = policy_of_right {
            for example in &mut examples.right {
                example.policy.clone_from(&policy);
            }
        }
        examples
    }
}

fn example(text: Vec<u8>, words: &[&str]) -> Subject {
    let (dialect, printed_in) = match words {
        [] | [_, "run"] => (words.first().copied().or(Some(DEFAULT_DIALECT)), None),
        ["any"] => (None, None),
        [dialect] => (Some(*dialect), None),
        [dialect, "to", other] => (Some(*dialect), Some(*other)),
        _ => panic!("an example is not marked with {words:?}"),
    };
    Subject {
        text,
        dialect: dialect.map(str::to_owned),
        printed_in: printed_in.map(str::to_owned),
        runs: words.contains(&"run"),
        ..Subject::default()
    }
}

/// `text` with the bytes that `\xfc` and the like stand for.
fn with_bytes(text: &str) -> Vec<u8> {
    let mut parts = text.split("\\x");
    let mut bytes: Vec<u8> = parts.next().unwrap_or_default().into();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        bytes.push(u8::from_str_radix(digits, 16).unwrap());
        bytes.extend(rest.as_bytes());
    }
    bytes
}

fn value(content: &str) -> Value {
    Value::from_json(content).unwrap_or_else(|error| panic!("{error} in {content}"))
}

fn object(content: &str) -> Object {
    value(content).as_object().unwrap().clone()
}
