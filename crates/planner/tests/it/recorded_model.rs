//! A scripted model that records its requests.

use std::sync::Mutex;

use futures::stream::BoxStream;
use planwright_planner::model::{Model, ModelError, ModelRequest, ReplyChunk, ScriptedModel};
use serde_json::Value as Json;

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
