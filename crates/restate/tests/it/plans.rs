//! Random plans in all dialects.

use planwright::dialects::{self, ParseResult, ReadOptions};
use planwright_testkit::chance::Chance;
use serde_json::{Value, json};

/// A plan as a text that can be read.
pub(crate) trait PlanText {
    /// Reads the plan.
    fn read(&self) -> ParseResult;
}

impl PlanText for Value {
    fn read(&self) -> ParseResult {
        planwright::parse(self.to_string())
    }
}

/// A text in a dialect.
pub(crate) struct DialectText {
    pub(crate) dialect: &'static str,
    pub(crate) text: String,
}

impl PlanText for DialectText {
    fn read(&self) -> ParseResult {
        let options = ReadOptions::new("plan").in_dialect(self.dialect);
        dialects::parse(self.text.as_bytes(), &options)
    }
}

/// Returns a random plan: every other one in the native dialect, with all that it can express, the others in each dialect in turn.
pub(crate) fn plan(seed: u64, chance: &mut Chance) -> DialectText {
    let whole = whole_plan(chance);
    let all = dialects::dialects();
    let turn = usize::try_from(seed / 2).unwrap() % all.len();
    let dialect = if seed.is_multiple_of(2) {
        "native"
    } else {
        all[turn].name()
    };
    let calls = calls(chance);
    let text = match dialect {
        "native" => whole.to_string(),
        "openai" | "anthropic" | "llm-compiler" | "rewoo" | "nestful" => write(dialect, &calls),
        _ => [whole, native(&calls)]
            .iter()
            .find_map(|plan| all[turn].print(&plan.read().plan?).0)
            .unwrap(),
    };
    DialectText { dialect, text }
}

/// A random plan: calls of all kinds, failures, loops, conditions, retries, time limits, calls that need consent, inner plans.
fn whole_plan(chance: &mut Chance) -> Value {
    let count = 1 + chance.below(8);
    let steps: Vec<Value> = (0..count).map(|index| step(index, chance)).collect();
    let mut plan = json!({"steps": steps});
    if chance.happens(10) {
        plan["ordering"] = json!("listed");
    }
    plan
}

fn step(index: u64, chance: &mut Chance) -> Value {
    let tool = ["read", "slow", "write", "pay", "fail", "slower", "away"]
        [usize::try_from(chance.below(7)).unwrap()];
    let mut args = json!({"n": index});
    for _ in 0..chance.below(3) {
        if 0 < index {
            let on = chance.below(index);
            args[format!("s{on}")] = json!(format!("${{s{on} ?? \"none\"}}"));
        }
    }
    if chance.happens(8) {
        let limit = if tool == "slower" { "60ms" } else { "20s" };
        let inner = json!({
            "inputs": {"n": {}},
            "steps": [
                {"id": "inner", "tool": tool, "args": {"n": "${inputs.n}"}, "timeout": limit},
                {"id": "beside", "tool": "read", "args": {"n": "${inner.n ?? 3}"}},
            ],
            "output": "${beside.n}",
        });
        return json!({"id": format!("s{index}"), "plan": inner, "args": {"n": index}});
    }
    let mut step = json!({"id": format!("s{index}"), "tool": tool});
    match chance.below(10) {
        0 | 1 => {
            let items: Vec<u64> = (0..=chance.below(4)).collect();
            step["for_each"] = json!(items);
            args["item"] = json!("${item}");
        }
        2 => {
            step["repeat"] = json!({"until": "${index >= 1}", "max": 3});
            args["round"] = json!("${index}");
        }
        3 if 0 < index => {
            step["when"] = json!(format!("${{s{}.n > {}}}", index - 1, chance.below(6)));
        }
        _ => {}
    }
    if tool == "slower" {
        step["timeout"] = json!("60ms");
    } else if chance.happens(15) {
        step["timeout"] = json!("20s");
    }
    if chance.happens(20) {
        step["retry"] = json!({"attempts": 2, "delay": "5ms"});
    }
    match chance.below(4) {
        0 => step["on_error"] = json!("continue"),
        1 => step["on_error"] = json!({"output": {"n": 7}}),
        _ => {}
    }
    step["args"] = args;
    step
}

/// A call of a plan that each dialect can express.
struct Call {
    tool: &'static str,
    /// The earlier call whose result it gets.
    on: Option<usize>,
}

fn calls(chance: &mut Chance) -> Vec<Call> {
    let count = 1 + usize::try_from(chance.below(6)).unwrap();
    let calls = (0..count).map(|index| Call {
        tool: ["read", "slow", "write", "pay", "fail"][usize::try_from(chance.below(5)).unwrap()],
        on: (0 < index && chance.happens(60))
            .then(|| usize::try_from(chance.below(index as u64)).unwrap()),
    });
    calls.collect()
}

fn native(calls: &[Call]) -> Value {
    let steps = calls.iter().enumerate().map(|(index, call)| {
        let mut args = json!({"n": index});
        if let Some(on) = call.on {
            args["from"] = json!(format!("${{s{on}.n}}"));
        }
        json!({"id": format!("s{index}"), "tool": call.tool, "args": args})
    });
    json!({"steps": steps.collect::<Vec<_>>()})
}

/// Writes calls in a dialect that has no printer.
fn write(dialect: &str, calls: &[Call]) -> String {
    let lines = |line: &dyn Fn(usize, &Call) -> String| {
        let lines = calls.iter().enumerate();
        let lines: Vec<String> = lines.map(|(index, call)| line(index, call)).collect();
        lines.join("\n")
    };
    let list = |item: &dyn Fn(usize, &Call) -> Value| -> Vec<Value> {
        let items = calls.iter().enumerate();
        items.map(|(index, call)| item(index, call)).collect()
    };
    match dialect {
        "openai" => {
            let calls = list(&|index, call| {
                let arguments = json!({"n": index}).to_string();
                json!({"id": format!("c{index}"), "type": "function",
                       "function": {"name": call.tool, "arguments": arguments}})
            });
            json!({"role": "assistant", "content": null, "tool_calls": calls}).to_string()
        }
        "anthropic" => {
            let calls = list(&|index, call| {
                json!({"type": "tool_use", "id": format!("c{index}"), "name": call.tool,
                       "input": {"n": index}})
            });
            json!({"role": "assistant", "content": calls, "stop_reason": "tool_use"}).to_string()
        }
        "nestful" => {
            let calls = list(&|index, call| {
                let mut arguments = json!({"n": index});
                if let Some(on) = call.on {
                    arguments["from"] = json!(format!("$v{on}.n$"));
                }
                json!({"name": call.tool, "label": format!("$v{index}"), "arguments": arguments})
            });
            Value::from(calls).to_string()
        }
        "llm-compiler" => lines(&|index, call| {
            let from = call.on.map(|on| format!(", from_=${}", on + 1));
            let (tool, number) = (call.tool, index + 1);
            format!("{number}. {tool}(n={index}{})", from.unwrap_or_default())
        }),
        _ => lines(&|index, call| {
            let mut arguments = json!({"n": index});
            if let Some(on) = call.on {
                arguments["from"] = json!(format!("#E{}", on + 1));
            }
            format!("#E{} = {}[{arguments}]", index + 1, call.tool)
        }),
    }
}
