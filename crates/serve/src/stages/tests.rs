//! Moves between stages, and the tools of each stage.

use planwright::config::{Config, ConfigSource, Origin};
use planwright_core::check::Policy;
use planwright_core::{Catalog, CheckContext, Tool, Value, check};

use super::Stages;

const SHOP: &str = r#"
[stages.browse]
tools = ["shop.list", "find_*"]
next = ["checkout"]
[stages.checkout]
tools = ["shop.pay"]
needs = ["cart", "address"]
next = ["browse", "done"]
[stages.done]
tools = []
"#;

fn stages(text: &str) -> Option<Stages> {
    let source = ConfigSource::read(Origin::User, "planwright.toml", text).unwrap();
    Stages::new(Config::of([&source]).stages())
}

fn shop() -> Stages {
    stages(SHOP).unwrap()
}

fn catalog() -> Catalog {
    let tools = [
        ("shop", "list"),
        ("shop", "pay"),
        ("mail", "find_letter"),
        ("mail", "send"),
    ];
    tools
        .into_iter()
        .map(|(server, name)| Tool::new(server, name))
        .collect()
}

/// The names of the tools that are there.
fn tools(stages: &Stages) -> Vec<String> {
    let catalog = stages.tools(&catalog());
    catalog.tools().map(|tool| tool.qualified_name()).collect()
}

/// Returns the error of a move, with its help.
fn refused(stages: &mut Stages, to: &str) -> String {
    let before = stages.current().name.clone();
    let asked = stages.may_move(to).unwrap_err();
    let error = stages.move_to(to).unwrap_err();
    assert_eq!((asked, &before), (error.clone(), &stages.current().name));
    format!("{error} ({})", error.help())
}

#[test]
fn each_stage_has_its_tools() {
    let mut stages = shop();
    assert_eq!(tools(&stages), ["shop.list", "mail.find_letter"]);
    stages.tell("cart", Value::from(7));
    stages.tell("address", Value::from("Oslo"));
    stages.move_to("checkout").unwrap();
    assert_eq!(tools(&stages), ["shop.pay"]);
    stages.move_to("done").unwrap();
    assert_eq!(tools(&stages), [""; 0]);
    stages.restart();
    assert_eq!(
        (&*stages.current().name, stages.known().len()),
        ("browse", 0)
    );
    assert!(self::stages("").is_none());
}

#[test]
fn moves_that_are_refused() {
    let mut stages = shop();
    assert!(stages.move_to("browse").is_ok());
    assert_eq!(
        refused(&mut stages, "chekout"),
        "there is no stage `chekout` (did you mean `checkout`?)"
    );
    assert_eq!(
        refused(&mut stages, "x"),
        "there is no stage `x` (from here you can move to `checkout`)"
    );
    assert_eq!(
        refused(&mut stages, "done"),
        "no way leads from the stage `browse` to `done` (from here you can move to `checkout`)"
    );
    assert_eq!(
        refused(&mut stages, "checkout"),
        "the stage `checkout` needs `cart` and `address` (give `cart` and `address` a value, then move)"
    );
    stages.tell("address", Value::from("Oslo"));
    stages.tell("cart", Value::from(true));
    stages.tell("address", Value::Null);
    assert_eq!(
        refused(&mut stages, "checkout"),
        "the stage `checkout` needs `address` (give `address` a value, then move)"
    );
    stages.tell("address", Value::from(""));
    stages.move_to("checkout").unwrap();
    stages.move_to("done").unwrap();
    assert_eq!(
        refused(&mut stages, "browse"),
        "no way leads from the stage `done` to `browse` (this stage is the last one: stay in it)"
    );
}

#[test]
fn calls_that_are_refused() {
    let refused = |name: &str| {
        let error = shop().may_call(&Tool::new("shop", name)).unwrap_err();
        format!("{error} ({})", error.help())
    };
    assert!(shop().may_call(&Tool::new("shop", "list")).is_ok());
    assert_eq!(
        refused("pay"),
        "the stage `browse` does not have the tool `shop.pay` (move to the stage `checkout` first)"
    );
    assert_eq!(
        refused("send"),
        "the stage `browse` does not have the tool `shop.send` (no stage has it: do without the tool)"
    );
}

#[test]
fn plans_are_confined_as_calls_are() {
    let plan = planwright::parse(
        r#"{"steps": [{"id": "a", "tool": "list"}, {"id": "b", "tool": "pay"}]}"#,
    );
    let catalog = catalog();
    let policy = shop().restrict(Policy::new());
    let (checked, findings) = check(
        plan.plan.unwrap(),
        &CheckContext::new(&catalog).with_policy(&policy),
    );
    assert!(checked.is_none());
    let texts: Vec<String> = findings
        .iter()
        .map(|finding| format!("{} {}", finding.code, finding.message))
        .collect();
    assert_eq!(
        texts,
        ["PW0602 the stage `browse` does not have the tool `pay`"]
    );
}
