//! Functions as tools: what they say about themselves, what they take from others, how they fail, who must agree.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::error::Error;

use planwright::engine::Decision;
use planwright::engine::approval::Always;
use planwright::engine::backend::ToolOutput;
use planwright::schemars::{self, JsonSchema};
use planwright::{Function, Functions, Planwright, Sharable, Value, parse};
use serde::{Deserialize, Serialize};

/// Looks up who has an account.
#[derive(Deserialize, JsonSchema)]
struct Lookup {
    /// The account, such as `a-1`.
    account: String,
}

#[derive(Serialize, JsonSchema)]
struct Person {
    name: String,
    email: Option<String>,
}

/// Sends a letter.
#[derive(Deserialize, JsonSchema)]
struct Letter {
    /// The recipient. Only the author of the plan may set it.
    to: String,
    /// Data of other steps may stand in it.
    text: Sharable<String>,
    copies: Option<u8>,
}

/// Any error will do: its words become the failure of the step.
async fn lookup(args: Lookup) -> Result<Person, Box<dyn Error + Send + Sync>> {
    let number: u32 = args.account.trim_start_matches("a-").parse()?;
    Ok(Person {
        name: format!("Person {number}"),
        email: None,
    })
}

async fn send(letter: Letter) -> Result<String, String> {
    if !letter.to.contains('@') {
        return Err(format!("`{}` is not an address", letter.to));
    }
    let copies = letter.copies.unwrap_or(1);
    Ok(format!("{copies} × {:?} to {}", *letter.text, letter.to))
}

const PLAN: &str = r#"{"steps": [
  {"id": "who", "tool": "lookup", "args": {"account": "a-7"}},
  {"id": "unlisted", "tool": "lookup", "args": {"account": "seven"}, "on_error": "continue"},
  {"id": "letter", "tool": "send", "args": {"to": "ada@example.com", "text": "Dear ${who.name}"}},
  {"id": "shout", "tool": "shout", "args": {"text": "${letter}"}}
]}"#;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), planwright::Error> {
    let functions = Functions::named("office")
        .with(Function::new("lookup", lookup).read_only())
        .with(
            Function::new("send", send)
                .title("Send a letter")
                .needs_approval(),
        )
        // On bare values, without any schema.
        .with(Function::raw("shout", |args: Value| async move {
            let text = args
                .get("text")
                .and_then(Value::as_text)
                .unwrap_or_default();
            Ok(ToolOutput::value(text.to_uppercase().into()))
        }));
    let planwright = Planwright::builder()
        .functions(functions)
        .approver(Always(Decision::Approve { args: None }))
        .open()
        .await?;
    for tool in planwright.catalog().tools() {
        println!("{}: {}", tool.qualified_name(), tool.input.as_value());
    }

    let plan = planwright.check(parse(PLAN))?;
    let summary = planwright.run(plan).await?;
    for step in &summary.steps {
        match (&step.output, &step.error) {
            (Some(output), _) => println!("{} gave {output}", step.at),
            (None, Some(error)) => println!("{} failed: {error}", step.at),
            (None, None) => println!("{} did not run", step.at),
        }
    }
    Ok(())
}
