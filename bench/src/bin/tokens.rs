//! Prints the number of tokens that models read and write: for prompts, and with real servers for lists of tools, and for whole tasks
//! with direct calls, search and plans.
//!
//! ```console
//! $ cargo build -p planwright && cargo xtask servers
//! $ cargo run -p planwright-bench --bin tokens [PLANWRIGHT]
//! ```
//!
//! The gateway is the program `planwright` beside this one, unless another is named. No model is involved: the calls and plans are
//! written down as a model without mistakes would write them, and executed. Tokens are those of `o200k_base`.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use planwright_bench::tokens::{
    AccessMethod, Call, Conversation, SERVERS, Session, Task, TaskFixture, TokenCounts, tasks,
    tokens,
};
use planwright_bench::{program, search};
use planwright_core::{Catalog, Tool};
use planwright_dialects::native::PlanDialect;
use planwright_planner::create::CreateSettings;
use planwright_planner::prompt::{PlanTask, TimeContext};
use planwright_planner::tools::signatures::listing;
use serde_json::{Value, json};

fn main() {
    prompts();
    println!();
    let planwright = program::planwright();
    lists(&planwright);
    println!("\nwith all four servers");
    bills(&planwright, |_| SERVERS.to_vec());
    println!("\nwith the servers alone that a task needs");
    bills(&planwright, |task| task.servers.clone());
}

/// The tokens of a list of tools in the gateway's descriptions.
const LISTING_TOKENS: usize = 1000;

/// Prints the tokens of prompts for a plan with 5, 50 and 500 tools, which are those of the sample of BFCL.
fn prompts() {
    println!(
        "{:<38} {:>6} {:>8} {:>8}",
        "prompt for a plan", "tools", "system", "message"
    );
    let tools = search::sample().tools;
    // The sample has 300 tools, so a second server offers them again.
    let again = tools.iter().map(|tool| {
        let mut tool = Tool::clone(tool);
        tool.server = "again".into();
        Arc::new(tool)
    });
    let all: Vec<Arc<Tool>> = tools.iter().cloned().chain(again).collect();
    for count in [5, 50, 500] {
        let catalog: Catalog = all[..count].iter().map(|tool| Tool::clone(tool)).collect();
        let task = PlanTask {
            goal: "Which alarms are set, and what is the weather in Hamburg next week?",
            moment: TimeContext {
                today: "2025-10-12 (Sunday), Europe/Berlin",
                times: &[],
            },
            catalog: &catalog,
            memory: None,
            state: None,
        };
        for dialect in [PlanDialect::Json, PlanDialect::Lines] {
            let settings = CreateSettings::default();
            let prompt = task.prompt(settings.tool_tokens, settings.memory_tokens, dialect);
            let (system, message) = (tokens(&prompt.system), tokens(&prompt.text));
            let name = format!("in {}", dialect.as_str());
            println!("{name:<38} {count:>6} {system:>8} {message:>8}");
        }
    }
    println!(
        "\n{:<38} {:>6} {:>8} {:>8}",
        "list in `execute_plan`", "tools", "tokens", "typed"
    );
    for count in [12, 24, 48, 96, 300] {
        let text = listing(&tools[..count], LISTING_TOKENS).text;
        let typed = text
            .lines()
            .filter(|line| line.contains(": ") && line.contains('('))
            .count();
        println!(
            "{:<38} {count:>6} {:>8} {typed:>8}",
            "signatures",
            tokens(&text)
        );
    }
}

/// Prints the cost of each task with each method, with the servers that `servers` selects.
fn bills(planwright: &Path, servers: impl Fn(&Task) -> Vec<&'static str>) {
    println!(
        "{:<38} {:<8} {:>6} {:>8} {:>8} {:>8}",
        "task", "method", "turns", "written", "context", "read"
    );
    for (index, sketch) in tasks(".").iter().enumerate() {
        for method in AccessMethod::ALL {
            let fixture = TaskFixture::with(&servers(sketch));
            let task = tasks(fixture.folder()).swap_remove(index);
            let bill = ToolSession::open(method, &fixture, planwright).bill(&task);
            let TokenCounts {
                turns,
                written,
                context,
                read,
            } = bill;
            let (name, method) = (task.name, method.name());
            println!("{name:<38} {method:<8} {turns:>6} {written:>8} {context:>8} {read:>8}");
        }
    }
}

/// Prints the tokens of the lists of tools: of each server, of all together, and of the gateway in each mode.
fn lists(planwright: &Path) {
    println!("{:<38} {:>6} {:>8}", "list of tools", "tools", "tokens");
    let row = |name: &str, tools: &[Value]| {
        let sum: usize = tools.iter().map(|tool| tokens(&tool.to_string())).sum();
        println!("{name:<38} {:>6} {sum:>8}", tools.len());
    };
    let fixture = TaskFixture::with(&SERVERS);
    let mut all = Vec::new();
    for (name, command, args) in fixture.servers() {
        let tools = Session::start(Command::new(command).args(args)).tools();
        row(name, &tools);
        all.extend(tools);
    }
    row("all, direct", &all);
    for mode in ["plain", "search", "plan"] {
        let tools = gateway(planwright, mode, &fixture, all.len()).tools();
        row(&format!("all, through `--mode {mode}`"), &tools);
    }
}

/// Starts the gateway, and waits until all of its servers are ready: in the plain mode, until it lists `own` tools.
fn gateway(planwright: &Path, mode: &str, fixture: &TaskFixture, own: usize) -> Session {
    let settings = fixture.settings();
    let mut command = Command::new(planwright);
    command
        .args(["serve", "--no-store", "--mode", mode, "--servers"])
        .arg(settings.join("mcp.json"))
        .env("XDG_CONFIG_HOME", settings)
        .current_dir(fixture.folder());
    let mut session = Session::start(&mut command);
    let servers = fixture.servers();
    let is_complete = |tools: &[Value]| {
        let text = Value::from(tools).to_string();
        let is_there = |name: &str| {
            [".", "__", " ("]
                .iter()
                .any(|sign| text.contains(&format!("{name}{sign}")))
        };
        if mode == "plain" {
            return tools.len() >= own;
        }
        servers.iter().all(|(name, ..)| is_there(name))
    };
    while !is_complete(&session.tools()) {
        std::thread::sleep(Duration::from_millis(200));
    }
    session
}

/// Servers, or the gateway in front of them, with the tools that a model sees.
struct ToolSession {
    method: AccessMethod,
    servers: BTreeMap<String, Session>,
    tools: Vec<Value>,
}

impl ToolSession {
    fn open(method: AccessMethod, fixture: &TaskFixture, planwright: &Path) -> Self {
        let mut servers: BTreeMap<String, Session> = match method {
            AccessMethod::Direct => {
                let started = fixture.servers().into_iter();
                started
                    .map(|(name, command, args)| {
                        (
                            name.to_owned(),
                            Session::start(Command::new(command).args(args)),
                        )
                    })
                    .collect()
            }
            AccessMethod::Search | AccessMethod::Plan => [(
                "gateway".to_owned(),
                gateway(planwright, method.name(), fixture, 0),
            )]
            .into(),
        };
        let tools = servers.values_mut().flat_map(Session::tools).collect();
        Self {
            method,
            servers,
            tools,
        }
    }

    fn bill(mut self, task: &Task) -> TokenCounts {
        let mut conversation = Conversation::new(&self.tools, &task.request);
        if self.method == AccessMethod::Plan {
            let plan = json!({"plan": task.plan});
            conversation.turn(&[self.make("gateway", "execute_plan", &plan)]);
            return conversation.end();
        }
        if self.method == AccessMethod::Search {
            let queries = task
                .queries
                .iter()
                .map(|query| json!({"query": query, "limit": 3}));
            let found: Vec<_> = queries
                .map(|query| self.make("gateway", "search_tools", &query))
                .collect();
            conversation.turn(&found);
        }
        let mut found = Vec::new();
        for turn in &task.turns {
            let calls: Vec<_> = turn(&found).iter().map(|call| self.call(call)).collect();
            found.extend(calls.iter().map(|(_, answer)| answer.clone()));
            conversation.turn(&calls);
        }
        conversation.end()
    }

    fn call(&mut self, call: &Call) -> (String, String) {
        if self.method == AccessMethod::Direct {
            return self.make(call.server, call.tool, &call.arguments);
        }
        let tool = format!("{}.{}", call.server, call.tool);
        let arguments = json!({"tool": tool, "arguments": call.arguments});
        self.make("gateway", "call_tool", &arguments)
    }

    /// Records the tokens that the model writes, and those of the result.
    fn make(&mut self, server: &str, tool: &str, arguments: &Value) -> (String, String) {
        let session = self.servers.get_mut(server).expect("it was started");
        let answer = session.call(tool, arguments);
        (
            json!({"name": tool, "input": arguments}).to_string(),
            answer,
        )
    }
}
