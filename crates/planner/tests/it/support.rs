//! Golden cases, which are files with their snapshots beside them, and a scripted model that records its requests.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use futures::stream::BoxStream;
use planwright_core::Value;
use planwright_planner::model::{Model, ModelError, ModelRequest, ReplyChunk, ScriptedModel};
use serde_json::Value as Json;

/// Returns the cases in `tests/golden/NAME`, in order.
pub(crate) fn cases(name: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    let entries = std::fs::read_dir(&folder).unwrap();
    let files = entries.map(|entry| entry.unwrap().path());
    let is_case = |path: &PathBuf| {
        let is_json = path
            .extension()
            .is_some_and(|extension| extension == "json");
        is_json && !path.ends_with("tools.json")
    };
    let mut files: Vec<PathBuf> = files.filter(is_case).collect();
    files.sort();
    assert!(!files.is_empty());
    files
}

pub(crate) fn read(file: &Path) -> Json {
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

pub(crate) fn value(json: &Json) -> Value {
    Value::from(json.clone())
}

/// Compares `content` with the snapshot beside the case `file`.
pub(crate) fn assert_golden(file: &Path, content: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(file.parent().unwrap());
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        insta::assert_snapshot!(file.file_stem().unwrap().to_str().unwrap(), content);
    });
}

pub(crate) struct RecordedModel {
    script: ScriptedModel,
    requests: Mutex<Vec<ModelRequest>>,
}

impl RecordedModel {
    pub(crate) fn new(replies: &[Json]) -> Self {
        let script = Json::from(replies.to_vec()).to_string();
        Self {
            script: ScriptedModel::read("replay", &script).unwrap(),
            requests: Mutex::default(),
        }
    }

    pub(crate) fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    pub(crate) fn requests(&self) -> Vec<ModelRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl Model for RecordedModel {
    fn name(&self) -> &str {
        self.script.name()
    }

    fn ask(&self, request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        self.requests.lock().unwrap().push(request.clone());
        self.script.ask(request)
    }
}
