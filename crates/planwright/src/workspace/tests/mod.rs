//! Tests of the tools on real folders, with calls as the engine makes them.

mod escape;
mod read;
mod write;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use planwright_core::{StepId, Tool, Value};
use planwright_engine::backend::{CallClock, CallContext};
use planwright_engine::{ToolBackend, ToolCall, ToolError};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use super::Workspace;

/// A workspace in a temporary folder, and a folder beside it that is not accessible.
struct Fixture {
    home: TempDir,
    workspace: Workspace,
}

impl Fixture {
    /// A workspace with `files`: paths and contents.
    fn new(files: &[(&str, &[u8])]) -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("inside")).unwrap();
        fs::create_dir_all(home.path().join("outside")).unwrap();
        fs::write(home.path().join("outside/secret.txt"), "secret").unwrap();
        for (path, content) in files {
            let path = home.path().join("inside").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        let workspace = Workspace::open(&home.path().join("inside")).unwrap();
        Self { home, workspace }
    }

    fn inside(&self, path: &str) -> std::path::PathBuf {
        self.home.path().join("inside").join(path)
    }

    fn outside(&self, path: &str) -> std::path::PathBuf {
        self.home.path().join("outside").join(path)
    }

    /// Calls a tool, and checks its arguments and output against its schemas.
    async fn call(&self, tool: &str, args: Json) -> Result<Json, ToolError> {
        let tool = self.tool(tool);
        let args = Value::from(args);
        let violations = tool.input.validate(&args);
        assert!(
            violations.is_empty(),
            "{}: {args}: {violations:?}",
            tool.name
        );
        let call = ToolCall {
            tool: Arc::clone(&tool),
            args,
            context: CallContext::new(StepId::new("a"), "key"),
            clock: CallClock::default(),
        };
        let output = self.workspace.call(call).await?.value;
        let violations = tool.output.validate(&output);
        assert!(
            violations.is_empty(),
            "{}: {output}: {violations:?}",
            tool.name
        );
        Ok(output.into())
    }

    fn tool(&self, name: &str) -> Arc<Tool> {
        let mut tools = self.workspace.tools().into_iter();
        Arc::new(tools.find(|tool| &*tool.name == name).unwrap())
    }

    /// Checks that a call succeeds and that its output contains the fields of `expected`.
    async fn gives(&self, tool: &str, args: Json, expected: Json) {
        let output = self.call(tool, args.clone()).await;
        let output = output.unwrap_or_else(|error| panic!("{tool} {args}: {error}"));
        for (key, value) in expected.as_object().unwrap() {
            assert_eq!(&output[key], value, "`{key}` of {tool} {args}: {output}");
        }
    }

    /// Checks that a call fails with this code and message.
    async fn fails(&self, tool: &str, args: Json, code: &str, message: &str) {
        match self.call(tool, args.clone()).await {
            Ok(output) => panic!("{tool} {args} gave {output}"),
            Err(error) => {
                assert_eq!(error.message, message, "{tool} {args}");
                let given = error.as_value();
                assert_eq!(given.get("code"), Some(&code.into()), "{tool} {args}");
            }
        }
    }
}

#[test]
fn annotations_and_schemas_of_tools() {
    let fixture = Fixture::new(&[]);
    for tool in fixture.workspace.tools() {
        let writes = &*tool.name == "write_file";
        assert_eq!(tool.annotations.read_only, !writes, "{}", tool.name);
        assert_eq!(tool.annotations.destructive, writes, "{}", tool.name);
        assert_eq!(tool.needs_approval(), writes, "{}", tool.name);
        assert!(tool.is_repeatable(), "{}", tool.name);
        assert!(tool.description.is_some(), "{}", tool.name);
        assert_eq!(tool.input.malformed(), None, "{}", tool.name);
        assert_eq!(tool.output.malformed(), None, "{}", tool.name);
    }
}

#[test]
fn missing_folders_and_files_are_not_opened() {
    let fixture = Fixture::new(&[("file", b"")]);
    for path in ["gone", "file"] {
        assert!(Workspace::open(&fixture.inside(path)).is_err(), "{path}");
    }
}

#[tokio::test]
async fn unknown_tools_and_arguments_are_refused() {
    let fixture = Fixture::new(&[]);
    let mut call = ToolCall {
        tool: Arc::new(Tool::new("workspace", "gone")),
        args: Value::empty_object(),
        context: CallContext::new(StepId::new("a"), "key"),
        clock: CallClock::default(),
    };
    let error = fixture.workspace.call(call.clone()).await.unwrap_err();
    assert_eq!(error.message, "there is no tool `gone`");

    call.tool = fixture.tool("read_file");
    call.args = json!({"path": "a", "from": 1}).into();
    let error = fixture.workspace.call(call).await.unwrap_err();
    assert_eq!(error.kind.as_str(), "arguments");
}

#[tokio::test]
async fn a_dropped_call_stops() {
    use tokio_util::sync::CancellationToken;

    let fixture = Fixture::new(&[("a", b"a"), ("b", b"b")]);
    let folder = super::confine::Folder::open(&fixture.inside("")).unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    for (tool, args) in [
        (&super::list_files::TOOL, json!({})),
        (&super::read_file::TOOL, json!({"path": "a"})),
        (&super::search_text::TOOL, json!({"query": "a"})),
        (&super::count_lines::TOOL, json!({"path": "a"})),
        (
            &super::write_file::TOOL,
            json!({"path": "a", "content": "new"}),
        ),
    ] {
        let error = (tool.run)(&folder, &args.into(), &stop).unwrap_err();
        assert_eq!(error.message, "the call was cancelled", "{}", tool.name);
    }
    assert_eq!(names(&fixture.inside("")), ["a", "b"]);
    assert_eq!(fs::read_to_string(fixture.inside("a")).unwrap(), "a");
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}
