//! A plan runs with the tools that it was checked with, or not at all.

use planwright::config::{Config, ConfigSource, Origin};
use planwright::core::check::{AllowList, Policy, Release};
use planwright::core::plan::ExternalValue;
use planwright::engine::{ErrorKind, StepStatus};
use planwright::service::Builder;
use planwright::{Error, Function, Functions, Planwright, ToolError, parse};

use super::bank::{Bank, PAY};

/// The same payment in a plan inside of a plan inside of an item.
const INSIDE: &str = r#"{"steps": [{"id": "all", "for_each": [1], "plan": {"steps": [
    {"id": "inner", "plan": {"steps": [{"id": "pay", "tool": "pay", "args": {"to": "ada"}}]}}
]}}]}"#;

/// Checks plans where nothing is asked, and runs them where `change` has made something of the tools or rules.
async fn check(
    change: impl FnOnce(Builder) -> Builder,
    pay: impl Fn(Function) -> Function,
    reason: &str,
) {
    let bank = Bank::default();
    let lenient = bank.builder(bank.pay()).open().await.unwrap();
    let strict = change(bank.builder(pay(bank.pay()))).open().await.unwrap();
    for text in [PAY, INSIDE] {
        let plan = lenient.check(parse(text)).unwrap();
        let error = strict.run(plan.clone()).await.unwrap_err();
        assert!(matches!(error, Error::OtherTools(_)), "{error}");
        let expected = format!("the plan was checked with other tools: `bank.pay`: {reason}");
        assert_eq!(error.to_string(), expected);
        assert!(strict.start(plan.clone()).is_err());
        // The engine alone refuses the call.
        let summary = strict.engine().run("r".parse().unwrap(), plan).await;
        let call = summary
            .calls
            .iter()
            .find(|call| &*call.tool == "pay")
            .unwrap();
        assert_eq!(call.error.as_ref().unwrap().kind, ErrorKind::Policy);
    }
    assert_eq!(bank.paid(), [""; 0]);
}

fn same(builder: Builder) -> Builder {
    builder
}

#[tokio::test]
async fn consent_is_judged_where_the_plan_runs() {
    let reason = "it needs approval, and did not when the plan was checked";
    check(same, Function::needs_approval, reason).await;
    let text = "tools.ask = ['pay']";
    let source = ConfigSource::read(Origin::Project, "planwright.toml", text).unwrap();
    check(
        |builder| builder.config(Config::of([&source])),
        |pay| pay,
        reason,
    )
    .await;
}

#[tokio::test]
async fn other_tools_are_refused() {
    check(
        same,
        |pay| pay.description("Pays twice."),
        "its definition changed",
    )
    .await;
    check(same, Function::idempotent, "its effects changed").await;
    let denied = "the policy denies the tool `bank.pay`";
    check(
        |builder| builder.policy(Policy::new().deny("pay")),
        |pay| pay,
        denied,
    )
    .await;
    let listed = AllowList::from_iter(["bank.look"]);
    let not_allowed = "the policy does not allow the tool `bank.pay`";
    check(
        |builder| builder.policy(Policy::new().allow_only(listed)),
        |pay| pay,
        not_allowed,
    )
    .await;
}

#[tokio::test]
async fn a_tool_that_is_not_there_is_refused() {
    let bank = Bank::default();
    let here = bank.builder(bank.pay()).open().await.unwrap();
    let plan = here.check(parse(PAY)).unwrap();
    let nowhere = Planwright::builder().open().await.unwrap();
    let error = nowhere.run(plan).await.unwrap_err().to_string();
    assert!(
        error.ends_with("`bank.look`: there is no such tool; `bank.pay`: there is no such tool"),
        "{error}"
    );
}

#[tokio::test]
async fn the_same_tools_will_do() {
    let bank = Bank::default();
    let plan = bank.asking().await.check(parse(PAY)).unwrap();
    let summary = bank.asking().await.run(plan).await.unwrap();
    assert_eq!(summary.status.as_str(), "waiting");
    assert_eq!(summary.steps[0].status, StepStatus::Succeeded);
    assert_eq!(bank.paid(), [""; 0]);
}

#[tokio::test]
async fn values_from_outside_need_a_release_where_the_plan_runs() {
    let bank = Bank::default();
    let release = Release {
        what: ExternalValue::Secrets,
        name: "KEY".into(),
        tools: vec![AllowList::from_iter(["bank.pay"])],
    };
    let open = Policy::new().release(release);
    let lenient = bank.builder(bank.pay()).policy(open).open().await.unwrap();
    let text = r#"{"steps": [{"id": "pay", "tool": "pay", "args": {"to": "${secrets.KEY}"}}]}"#;
    let plan = lenient.check(parse(text)).unwrap();
    let strict = bank.builder(bank.pay()).open().await.unwrap();
    let error = strict
        .run(plan)
        .outside(ExternalValue::Secrets, "KEY", "hunter2hunter2");
    let error = error.await.unwrap_err().to_string();
    assert!(
        error.ends_with("`bank.pay`: it may not be given `secrets.KEY`"),
        "{error}"
    );
    assert_eq!(bank.paid(), [""; 0]);
}

/// Returns the error of opening a service with `functions`.
async fn refusal(functions: Functions) -> String {
    let error = Planwright::builder().functions(functions).open().await;
    error.unwrap_err().to_string()
}

#[tokio::test]
async fn tools_that_plans_could_not_name_are_refused() {
    let nothing = |name: &str| Function::new(name, async |()| Ok::<_, ToolError>(1));
    let twice = Functions::new()
        .with(nothing("f"))
        .with(nothing("g"))
        .with(nothing("f"));
    assert_eq!(refusal(twice).await, "two tools are called `functions.f`");
    for name in ["", "a b.c", "a\nb", "a\u{200b}", &"x".repeat(129)] {
        let error = refusal(Functions::new().with(nothing(name))).await;
        let expected = format!("`{name}` cannot be the name of a tool");
        assert!(error.starts_with(&expected), "{error}");
    }
    for name in ["", "a b", "a.b"] {
        let error = refusal(Functions::named(name).with(nothing("f"))).await;
        let expected = format!("`{name}` cannot be the name of a server");
        assert!(error.starts_with(&expected), "{error}");
    }
    let number = Function::new("num", async |n: u32| Ok::<_, ToolError>(n));
    let error = refusal(Functions::new().with(number)).await;
    assert_eq!(
        error,
        "the parameters of `functions.num` are not the fields of an object"
    );
    let list = Function::new("list", async |n: Vec<u32>| Ok::<_, ToolError>(n));
    let error = refusal(Functions::new().with(list)).await;
    assert!(
        error.starts_with("the parameters of `functions.list`"),
        "{error}"
    );
    let tool = planwright::core::Tool::new("own", "a");
    let backend = Planwright::builder().backend("own", [tool.clone(), tool], Functions::new());
    let error = backend.open().await.unwrap_err().to_string();
    assert_eq!(error, "two tools are called `own.a`");
    let server = Planwright::builder().server::<&str>("", "planwright-no-such-program", []);
    let error = server.open().await.unwrap_err().to_string();
    assert!(
        error.starts_with("`` cannot be the name of a server"),
        "{error}"
    );
}

#[tokio::test]
async fn names_that_plans_can_write_are_names() {
    #[derive(serde::Deserialize, planwright::schemars::JsonSchema)]
    #[serde(untagged)]
    #[expect(dead_code, reason = "only its schema matters")]
    enum Either {
        Number(u32),
        Named { n: u32 },
    }

    let nothing = |name: &str| Function::new(name, async |()| Ok::<_, ToolError>(1));
    let either = Function::new("either", async |_: Either| Ok::<_, ToolError>(1));
    let functions = Functions::named("größe-1")
        .with(nothing("a.b/c-d_1"))
        .with(nothing("é"))
        .with(either);
    let planwright = Planwright::builder().functions(functions).open().await;
    assert_eq!(planwright.unwrap().catalog().len(), 3);
}
