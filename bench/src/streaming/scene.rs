//! The questions: calls that depend on each other, in the dialects of all methods; and the model and tools that answer.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use planwright_core::{Annotations, Catalog, Tool, Value};
use planwright_dialects::native::lines::from_json;
use planwright_engine::{ToolBackend, ToolCall, ToolError, ToolOutput};
use planwright_planner::model::{
    Delivery, Model, ModelError, ModelRequest, ReplyChunk, ScriptedModel,
};
use serde_json::json;
use tokio::sync::Semaphore;

/// The speed of the model.
pub const TOKENS_PER_SECOND: u32 = 60;

/// The duration of each call.
pub const CALL_DURATION: Duration = Duration::from_millis(500);

/// The concurrency of a server without a limit.
const ANY: usize = Semaphore::MAX_PERMITS;

/// A question, as calls that depend on each other.
#[derive(Clone, Debug)]
pub struct Scene {
    /// The name.
    pub name: &'static str,
    /// The calls, in an order in which dependencies come first.
    pub calls: Vec<Call>,
    /// The maximum number of concurrent calls of the server.
    pub together: usize,
}

/// A call.
#[derive(Clone, Debug)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// The topic, as text.
    pub about: &'static str,
    /// The indices of the calls whose results it needs.
    pub needs: Vec<usize>,
}

fn call(tool: &'static str, about: &'static str, needs: &[usize]) -> Call {
    Call {
        tool,
        about,
        needs: needs.to_vec(),
    }
}

impl Scene {
    /// Returns eight steps on two levels, and the shapes of LLMCompiler's benchmarks: questions whose parts are computed with, eight
    /// independent searches, and two.
    pub fn all() -> Vec<Self> {
        let two_levels = vec![
            call("search", "population of Berlin", &[]),
            call("search", "population of Munich", &[]),
            call("search", "population of Hamburg", &[]),
            call("search", "population of Cologne", &[]),
            call("details", "by age, in ten groups", &[0]),
            call("details", "by age, in ten groups", &[1]),
            call("details", "by age, in ten groups", &[2]),
            call("details", "by age, in ten groups", &[3]),
        ];
        let brief = vec![
            call("search", "Berlin", &[]),
            call("search", "Munich", &[]),
            call("search", "Bonn", &[]),
            call("search", "Cologne", &[]),
            call("details", "age", &[0]),
            call("details", "age", &[1]),
            call("details", "age", &[2]),
            call("details", "age", &[3]),
        ];
        vec![
            Self {
                name: "two levels of 4",
                calls: two_levels.clone(),
                together: ANY,
            },
            Self {
                name: "two levels of 4, in few words",
                calls: brief,
                together: ANY,
            },
            Self {
                name: "two levels of 4, of a server that takes two calls together",
                calls: two_levels,
                together: 2,
            },
            Self {
                name: "dependent, as ParallelQA",
                together: ANY,
                calls: vec![
                    call("search", "height of Mount Everest", &[]),
                    call("search", "height of Mount Kilimanjaro", &[]),
                    call("search", "height of Mont Blanc", &[]),
                    call("search", "height of Mount Fuji", &[]),
                    call("compute", "sum", &[0, 1]),
                    call("compute", "sum", &[2, 3]),
                    call("compute", "difference", &[4, 5]),
                ],
            },
            Self {
                name: "eight alike, as Movie",
                together: ANY,
                calls: vec![
                    call("search", "Mission Impossible", &[]),
                    call("search", "The Silence of the Lambs", &[]),
                    call("search", "American Beauty", &[]),
                    call("search", "Star Wars Episode IV", &[]),
                    call("search", "Austin Powers", &[]),
                    call("search", "Alesha Popovich", &[]),
                    call("search", "In Cold Blood", &[]),
                    call("search", "Rosetta", &[]),
                ],
            },
            Self {
                name: "two alike, as HotpotQA",
                together: ANY,
                calls: vec![
                    call("search", "nationality of Scott Derrickson", &[]),
                    call("search", "nationality of Ed Wood", &[]),
                ],
            },
        ]
    }

    /// Returns the scene as a plan in the native dialect, as short as possible.
    pub fn plan(&self) -> String {
        let steps: Vec<serde_json::Value> = (0..self.calls.len())
            .map(|index| {
                json!({"id": id(index), "tool": self.calls[index].tool, "args": self.arguments(index)})
            })
            .collect();
        let last: Vec<String> = (0..self.calls.len())
            .filter(|index| !self.calls.iter().any(|call| call.needs.contains(index)))
            .map(id)
            .collect();
        json!({"steps": steps, "output": last}).to_string()
    }

    /// Returns the same plan in native lines.
    pub fn plan_in_lines(&self) -> String {
        from_json(&Value::from_json(&self.plan()).expect("a plan in JSON"))
    }

    /// Returns the scene as the lines that LLMCompiler's planner writes.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        for (index, call) in self.calls.iter().enumerate() {
            let mut needs = String::new();
            for need in &call.needs {
                let _ = write!(needs, ", ${}", need + 1);
            }
            let (number, tool, about) = (index + 1, call.tool, call.about);
            let _ = writeln!(text, "{number}. {tool}(\"{about}\"{needs})");
        }
        let _ = writeln!(text, "{}. join()", self.calls.len() + 1);
        text
    }

    /// Returns a call as models write it in a request for tool calls.
    pub fn tool_call(&self, index: usize) -> String {
        json!({"name": self.calls[index].tool, "arguments": {"q": self.calls[index].about}})
            .to_string()
    }

    fn arguments(&self, index: usize) -> serde_json::Value {
        let call = &self.calls[index];
        if call.needs.is_empty() {
            return json!({"q": call.about});
        }
        let of: Vec<String> = call
            .needs
            .iter()
            .map(|need| format!("${{{}}}", id(*need)))
            .collect();
        json!({"q": call.about, "of": of})
    }

    /// Returns the calls in levels: each call depends on earlier levels only.
    pub fn levels(&self) -> Vec<Vec<usize>> {
        let mut level_of: Vec<usize> = Vec::new();
        for call in &self.calls {
            let behind = call.needs.iter().map(|need| level_of[*need] + 1);
            level_of.push(behind.max().unwrap_or(0));
        }
        let count = level_of.iter().max().map_or(0, |level| level + 1);
        let on = |level: usize| {
            let all = level_of.iter().enumerate();
            all.filter(move |(_, of)| **of == level)
                .map(|(index, _)| index)
        };
        (0..count).map(|level| on(level).collect()).collect()
    }
}

fn id(index: usize) -> String {
    format!("s{}", index + 1)
}

/// A model that writes these answers at its own speed, even if its output is not consumed.
pub(super) fn model<T: Into<String>>(answers: impl IntoIterator<Item = T>) -> Writer {
    let script: Vec<serde_json::Value> = answers
        .into_iter()
        .map(|text| json!({"text": text.into(), "tokens_per_second": TOKENS_PER_SECOND}))
        .collect();
    Writer(ScriptedModel::read("replay", &json!(script).to_string()).expect("a script"))
}

/// A scripted model that takes as long for a whole answer as for one in chunks; [`ScriptedModel`] returns a whole answer at once.
#[derive(Debug)]
pub(super) struct Writer(ScriptedModel);

impl Model for Writer {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn ask(&self, mut request: ModelRequest) -> BoxStream<'static, Result<ReplyChunk, ModelError>> {
        let delivery = std::mem::replace(&mut request.delivery, Delivery::Live);
        let chunks = self.0.ask(request);
        let is_wanted = move |chunk: &Result<ReplyChunk, ModelError>| {
            delivery == Delivery::Live || !matches!(chunk, Ok(ReplyChunk::Text(_)))
        };
        chunks
            .filter(move |chunk| std::future::ready(is_wanted(chunk)))
            .boxed()
    }
}

/// Returns the tools, which are all read-only.
pub(super) fn catalog() -> Catalog {
    let reads = Annotations {
        read_only: true,
        trusted: true,
        ..Annotations::default()
    };
    let tool = |name| Tool {
        annotations: reads,
        ..Tool::new("web", name)
    };
    ["search", "details", "compute"]
        .into_iter()
        .map(tool)
        .collect()
}

/// A server whose calls take time.
#[derive(Clone, Debug)]
pub(super) struct Server(Arc<Semaphore>);

impl Server {
    pub(super) fn of(scene: &Scene) -> Self {
        Self(Arc::new(Semaphore::new(scene.together)))
    }

    /// Makes one call.
    pub(super) async fn call(&self) {
        let place = self.0.acquire().await.expect("a place");
        tokio::time::sleep(CALL_DURATION).await;
        drop(place);
    }
}

impl ToolBackend for Server {
    fn call(&self, call: ToolCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            Self::call(self).await;
            Ok(ToolOutput::value(Value::from(call.context.step.as_str())))
        })
    }
}
