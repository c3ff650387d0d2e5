//! Properties of the flow analysis: more rules never hide a violation, each rule stops its attack, and a plan has the same
//! violations in every dialect.

use std::fmt::Write;
use std::sync::LazyLock;

use planwright_core::check::{AllowList, Release};
use planwright_core::flow::{
    FlowPattern, FlowPolicy, FlowReport, FlowRule, FlowVerdict, Guard, PlannerLabel,
};
use planwright_core::plan::ExternalValue;
use planwright_core::{Catalog, CheckContext, Code, Policy, Tool, check};
use planwright_dialects::{ReadOptions, dialect, dialects, parse};
use proptest::prelude::*;

use crate::flow::{Attack, analyzed, attacks, report};

/// Rules for each list of a policy; several apply to the tools of the attacks.
const UNTRUSTED: &[&str] = &[
    "*",
    "inbox.*",
    "*:from",
    "inbox.list:messages.subject",
    "contacts.find:address",
    "any.keyed:parts.0",
];
const TRUSTED: &[&str] = &[
    "contacts.*",
    "*:*_id",
    "*:from",
    "inbox.read:message_id",
    "inbox.list:messages.*",
    "any.keyed:parts.ref",
    "*",
];
const GUARD: &[&str] = &[
    "builtin",
    "*:body",
    "mail.send",
    "any.*",
    "any.call:a.b",
    "*:cc",
    "mail.send_all:messages.to",
];
const PRIVATE: &[&str] = &["*:owner", "bank.*", "inbox.*:body", "*:from", "*"];
const LEAVES: &[&str] = &[
    "mail.*:body",
    "web.*",
    "mail.send",
    "any.*:a.b",
    "mail.send_all:messages.body",
    "*",
];
const DECIDES: &[&str] = &["bank.pay", "*:iban", "mail.*", "*"];

/// The number of lists of rules.
const LISTS: usize = 6;

fn pool(list: usize) -> &'static [&'static str] {
    match list {
        0 => UNTRUSTED,
        1 => TRUSTED,
        2 => GUARD,
        3 => PRIVATE,
        4 => LEAVES,
        _ => DECIDES,
    }
}

fn rule(text: &str) -> FlowRule {
    FlowPattern::parse(text).unwrap().into()
}

fn guard(text: &str) -> Guard {
    match text {
        "builtin" => Guard::Builtin,
        text => Guard::Rule(rule(text)),
    }
}

fn add(policy: &mut FlowPolicy, list: usize, text: &str) {
    match list {
        0 => policy.untrusted.push(rule(text)),
        1 => policy.trusted.push(rule(text)),
        2 => policy.guard.push(guard(text)),
        3 => policy.private.push(rule(text)),
        4 => policy.leaves.push(rule(text)),
        _ => policy.decides.push(rule(text)),
    }
}

fn without_rules() -> FlowPolicy {
    FlowPolicy {
        untrusted: Vec::new(),
        guard: Vec::new(),
        ..FlowPolicy::default()
    }
}

/// The violations of a plan: the step and the parameter of each.
fn violations(report: &FlowReport) -> Vec<(String, String)> {
    report
        .violations()
        .map(|found| (found.step.to_string(), found.parameter.to_string()))
        .collect()
}

/// Returns true if `parameter` is in `others`, or a part of one of them.
fn is_covered(parameter: &(String, String), others: &[(String, String)]) -> bool {
    let (step, path) = parameter;
    others.iter().any(|(other_step, other)| {
        let rest = path.strip_prefix(other.as_str());
        other_step == step
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.') || other.is_empty())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn more_rules_never_hide_a_violation(
        position in any::<prop::sample::Index>(),
        is_attack in any::<bool>(),
        chosen in prop::collection::vec((0..LISTS, any::<prop::sample::Index>()), 2..10),
        (list, more) in (0..LISTS, any::<prop::sample::Index>()),
    ) {
        static ATTACKS: LazyLock<(Vec<Attack>, Catalog, FlowPolicy)> = LazyLock::new(attacks);
        let (attacks, catalog, _) = &*ATTACKS;
        let Attack { hostile, twin, dialect, about, .. } = position.get(attacks);
        let (first, other) = if is_attack { (hostile, twin) } else { (twin, hostile) };
        let plan = first.as_ref().or(other.as_ref()).unwrap();
        let mut policy = without_rules();
        for (list, position) in chosen {
            let text = *position.get::<&str>(pool(list));
            add(&mut policy, list, text);
        }
        let mut wider = policy.clone();
        let added = *more.get::<&str>(pool(list));
        add(&mut wider, list, added);
        let before = violations(&report(plan, dialect, catalog, policy.clone()).unwrap());
        let after = violations(&report(plan, dialect, catalog, wider).unwrap());
        let (fewer, more) = match list {
            1 => (&after, &before),
            _ => (&before, &after),
        };
        for parameter in fewer {
            prop_assert!(
                is_covered(parameter, more),
                "{about}: {parameter:?} with {added} in {list}: {before:?} {after:?} {policy:#?}"
            );
        }
    }
}

/// A plan whose only violation needs one rule.
struct Needed {
    policy: FlowPolicy,
    without: FlowPolicy,
    plan: String,
    code: &'static str,
}

/// Reads a mail and calls `tool` with `args` under the further `fields`.
fn call(tool: &str, args: &str, fields: &str) -> String {
    format!(
        r#"{{"steps": [
            {{"id": "r", "tool": "inbox.read", "args": {{"message_id": "1"}}}},
            {{"id": "s", "tool": "{tool}", "args": {args}{fields}}}
        ]}}"#
    )
}

fn needed() -> Vec<Needed> {
    let mut all = Vec::new();
    let basic = || FlowPolicy {
        untrusted: vec![rule("inbox.*")],
        guard: vec![guard("mail.*:to")],
        private: vec![rule("*:body")],
        leaves: vec![rule("mail.*:subject")],
        decides: vec![rule("mail.*:to")],
        ..FlowPolicy::default()
    };
    let mut add = |remove: fn(&mut FlowPolicy), code, plan: String| {
        let policy = basic();
        let mut without = policy.clone();
        remove(&mut without);
        all.push(Needed {
            policy,
            without,
            plan,
            code,
        });
    };
    let to = || call("mail.send", r#"{"to": "${r.from}"}"#, "");
    let subject = || call("mail.send", r#"{"to": "a", "subject": "${r.body}"}"#, "");
    let when = || {
        call(
            "mail.send",
            r#"{"to": "a"}"#,
            r#", "when": "${r.from == 'x'}""#,
        )
    };
    add(|policy| policy.untrusted.clear(), "PW1001", to());
    add(|policy| policy.guard.clear(), "PW1001", to());
    add(|policy| policy.trusted.push(rule("*:from")), "PW1001", to());
    add(|policy| policy.private.clear(), "PW1002", subject());
    add(|policy| policy.leaves.clear(), "PW1002", subject());
    add(|policy| policy.decides.clear(), "PW1003", when());
    add(|policy| policy.guard.clear(), "PW1003", when());
    // Each built-in guard, and the label of the planner.
    for name in [
        "to",
        "recipient",
        "recipients",
        "cc",
        "bcc",
        "email",
        "user_email",
        "participants",
        "url",
        "uri",
        "host",
        "amount",
        "iban",
        "account",
        "password",
        "permission",
    ] {
        for args in [
            format!(r#"{{"{name}": "${{r.from}}"}}"#),
            format!(r#"{{"a": [{{"{name}": "${{r.from}}"}}]}}"#),
        ] {
            all.push(Needed {
                policy: FlowPolicy::default(),
                without: without_rules(),
                plan: call("any.call", &args, ""),
                code: "PW1001",
            });
        }
    }
    for tool in ["delete_x", "remove-x", "cancelX", "reserve_x", "Delete_x"] {
        all.push(Needed {
            policy: FlowPolicy::default(),
            without: without_rules(),
            plan: call(&format!("verbs.{tool}"), r#"{"x": "${r.from}"}"#, ""),
            code: "PW1001",
        });
    }
    all.push(Needed {
        policy: FlowPolicy {
            planner: PlannerLabel::Exposed,
            ..FlowPolicy::default()
        },
        without: FlowPolicy::default(),
        plan: call("mail.send", r#"{"to": "a"}"#, ""),
        code: "PW1001",
    });
    all
}

#[test]
fn each_rule_stops_its_attack() {
    let (_, mut catalog, _) = attacks();
    for name in ["delete_x", "remove-x", "cancelX", "reserve_x", "Delete_x"] {
        catalog.add(Tool::new("verbs", name));
    }
    for Needed {
        policy,
        without,
        plan,
        code,
    } in needed()
    {
        let found = report(&plan, "native", &catalog, policy).unwrap();
        let codes: Vec<_> = found
            .violations()
            .filter_map(|parameter| parameter.code)
            .map(Code::as_str)
            .collect();
        assert_eq!(codes, [code], "{plan}");
        let found = report(&plan, "native", &catalog, without).unwrap();
        assert_eq!(found.verdict(), FlowVerdict::Clean, "{plan}");
    }
}

/// The hint that a server reaches an open world makes its outputs untrusted without a rule.
#[test]
fn a_hint_of_the_server_stops_its_attack() {
    let plan = call("mail.send", r#"{"to": "${r.from}"}"#, "");
    for (open_world, expected) in [
        (Some(true), FlowVerdict::Asks),
        (Some(false), FlowVerdict::Clean),
        (None, FlowVerdict::Clean),
    ] {
        let mut catalog = Catalog::new();
        let mut reader = Tool::new("inbox", "read");
        reader.hints.open_world = open_world;
        catalog.add(reader);
        catalog.add(Tool::new("mail", "send"));
        let policy = FlowPolicy {
            untrusted: Vec::new(),
            ..FlowPolicy::default()
        };
        let found = report(&plan, "native", &catalog, policy).unwrap();
        assert_eq!(found.verdict(), expected, "{open_world:?}");
    }
}

#[test]
fn a_secret_leaves_only_through_the_tools_of_its_list() {
    let (_, catalog, _) = attacks();
    let plan = r#"{"steps": [
        {"id": "a", "tool": "web.post", "args": {"text": "${secrets.key}"}},
        {"id": "b", "tool": "web.post", "args": {"text": "key: ${secrets.key}"}},
        {"id": "c", "tool": "mail.send", "args": {"to": "x", "subject": "${secrets.key}"}}
    ]}"#;
    let read = parse(plan.as_bytes(), &ReadOptions::new("test"));
    let flow = FlowPolicy {
        leaves: vec![rule("web.post")],
        ..FlowPolicy::default()
    };
    let release = Release {
        what: ExternalValue::Secrets,
        name: "key".into(),
        tools: vec![AllowList::from_iter(["web.post", "mail.*"])],
    };
    let asking = |policy: Policy| {
        let policy = policy.with_flow(flow.clone());
        let context = CheckContext::new(&catalog).with_policy(&policy);
        let (checked, diagnostics) = check(read.plan.clone().unwrap(), &context);
        let checked = checked.unwrap_or_else(|| panic!("{diagnostics:#?}"));
        violations(checked.flow().unwrap())
    };
    let leaving = |step: &str| (step.to_owned(), "text".to_owned());
    assert_eq!(asking(Policy::new().release(release)), []);
    assert_eq!(
        asking(Policy::new().allow_all_releases()),
        [leaving("a"), leaving("b")]
    );
}

/// The violations of a plan by the tool, since dialects change the ids of steps.
pub(crate) fn by_tool(report: &FlowReport) -> Vec<String> {
    let mut all: Vec<String> = report
        .violations()
        .map(|found| {
            let code = found.code.unwrap().as_str();
            format!("{code} {} {}", found.tool, found.parameter)
        })
        .collect();
    all.sort();
    all
}

#[test]
fn every_dialect_has_the_same_violations() {
    let (attacks, catalog, policy) = attacks();
    let mut converted = vec![0; dialects().len()];
    for Attack {
        hostile,
        twin,
        dialect: name,
        about,
        ..
    } in &attacks
    {
        for text in [hostile, twin].into_iter().flatten() {
            let expected = by_tool(&report(text, name, &catalog, policy.clone()).unwrap());
            let plan = parse(text.as_bytes(), &ReadOptions::new("test").in_dialect(name)).plan;
            let plan = plan.unwrap();
            for (count, target) in converted.iter_mut().zip(dialects()) {
                let (Some(printed), _) = target.print(&plan) else {
                    continue;
                };
                let options = ReadOptions::new("test").in_dialect(target.name());
                let again = parse(printed.as_bytes(), &options).plan.unwrap();
                // A tool may forbid references in a dialect.
                let Ok(found) = analyzed(again.clone(), &catalog, policy.clone()) else {
                    continue;
                };
                *count += 1;
                assert_eq!(by_tool(&found), expected, "{about} in {printed}");
                let (back, _) = dialect("native").unwrap().print(&again);
                let found = report(&back.unwrap(), "native", &catalog, policy.clone());
                assert_eq!(by_tool(&found.unwrap()), expected, "{about} from {printed}");
            }
        }
    }
    for (count, target) in converted.iter().zip(dialects()) {
        let is_enough = *count >= 10 || !target.is_writable() || target.name() == "concierge";
        assert!(is_enough, "{}: {count}", target.name());
    }
}

/// Hostile plans whose values repeat each other, or form a long chain.
#[test]
fn values_of_values_take_no_long_time() {
    let (_, catalog, policy) = attacks();
    let mut chain = String::from(r#"{"steps": [{"id": "v0", "value": "x"}"#);
    let mut doubled = chain.clone();
    for step in 1..9_000 {
        let before = step - 1;
        write!(
            chain,
            r#", {{"id": "v{step}", "value": {{"a": "${{v{before}.a ?? 1}}"}}}}"#
        )
        .unwrap();
    }
    for step in 1..60 {
        let before = step - 1;
        write!(
            doubled,
            r#", {{"id": "v{step}", "value": ["${{v{before}}}", "${{v{before}}}"]}}"#
        )
        .unwrap();
    }
    for (mut plan, last) in [(chain, 8_999), (doubled, 59)] {
        write!(
            plan,
            r#", {{"id": "s", "tool": "any.call", "args": {{"a": "${{v{last}}}"}}}}]}}"#
        )
        .unwrap();
        let found = report(&plan, "native", &catalog, policy.clone()).unwrap();
        assert_eq!(violations(&found), []);
    }
}
