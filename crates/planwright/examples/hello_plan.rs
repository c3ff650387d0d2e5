//! A plan of five lines over two functions: parse, check, run, print.
#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

use planwright::schemars::{self, JsonSchema};
use planwright::{Error, Function, Functions, Planwright, ToolError, parse};
use serde::Deserialize;

const PLAN: &str = r#"{"steps": [
  {"id": "oslo", "tool": "weather", "args": {"city": "Oslo"}},
  {"id": "rome", "tool": "weather", "args": {"city": "Rome"}},
  {"id": "tell", "tool": "tell", "args": {"text": "Oslo ${oslo}°, Rome ${rome}°"}}
]}"#;

#[derive(Deserialize, JsonSchema)]
struct Weather {
    city: String,
}

#[derive(Deserialize, JsonSchema)]
struct Tell {
    text: String,
}

async fn weather(args: Weather) -> Result<u8, ToolError> {
    match args.city.as_str() {
        "Oslo" => Ok(7),
        "Rome" => Ok(19),
        city => Err(ToolError::tool(
            format!("there is no weather in {city}"),
            city.into(),
        )),
    }
}

async fn tell(args: Tell) -> Result<String, ToolError> {
    Ok(args.text)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let functions = Functions::new()
        .with(Function::new("weather", weather))
        .with(Function::new("tell", tell));

    let planwright = Planwright::builder().functions(functions).open().await?;
    let plan = planwright.check(parse(PLAN))?;
    let summary = planwright.run(plan).await?;
    println!("{}: {}", summary.status, summary.output);
    Ok(())
}
