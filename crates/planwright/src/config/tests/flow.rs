//! `[flow]`: the patterns, what a project may set, and what it makes of destructive tools.

use planwright_core::check::Policy;
use planwright_core::flow::{Guard, OnViolation, PlannerLabel};
use planwright_core::{Hints, Tool};

use super::{becomes, issues, read};
use crate::config::{Config, Origin};

#[test]
fn the_patterns_of_a_list_are_shown_as_they_hold() {
    let check = |user: &str, text: &str, expected: &[&str]| {
        let user = read(Origin::User, user).unwrap();
        let project = read(Origin::Project, text).unwrap();
        let settings = Config::of([&user, &project]).settings();
        let flow = settings.iter().filter(|it| it.key.starts_with("flow."));
        let shown: Vec<String> = flow
            .map(|it| format!("{} = {} ({})", it.key, it.value, it.set_in))
            .collect();
        assert_eq!(shown, expected, "{text}");
    };
    let emptied = "[flow]\nuntrusted = []\nguard = []";
    check(
        "",
        emptied,
        &[
            "flow.untrusted = \"*\" (default)",
            "flow.guard = \"builtin\" (default)",
        ],
    );
    check(
        emptied,
        "[flow]\nuntrusted = [\"mail.*\"]",
        &[
            "flow.guard = [] (mine.toml:3)",
            "flow.untrusted = \"mail.*\" (planwright.toml:2)",
        ],
    );
    check(
        "",
        "[flow]\nuntrusted = [\"mail.*\"]\nprivate = []",
        &[
            "flow.untrusted = \"*\" (default)",
            "flow.untrusted = \"mail.*\" (planwright.toml:2)",
            "flow.private = [] (planwright.toml:3)",
        ],
    );
}

#[test]
fn a_project_only_makes_the_flow_policy_stricter() {
    let own = |line: u8, message: &str, word: &str| {
        format!(
            "planwright.toml:{line}: a project cannot {message} (the user decides this: put `{word}` into your own planwright.toml)"
        )
    };
    issues(
        Origin::Project,
        "[flow]\nenabled = false\ntrusted = ['a.*']\nplanner = 'clean'\nviolation = 'warn'",
        &[
            &*own(2, "disable the flow analysis", "enabled"),
            &own(3, "trust outputs", "trusted"),
            &own(4, "declare the planner clean", "planner"),
            &own(5, "permit violations", "violation"),
        ],
    );
    let policy = |user: &str, project: &str| {
        let user = read(Origin::User, user).unwrap();
        let project = read(Origin::Project, project).unwrap();
        let config = Config::of([&user, &project]);
        config.restrict(Policy::new()).flow.map(|flow| {
            let guards = flow.guard.iter().map(|guard| match guard {
                Guard::Builtin => "builtin".to_owned(),
                Guard::Rule(rule) => rule.pattern.as_str().to_owned(),
            });
            let guards: Vec<_> = guards.collect();
            (guards.join(" "), flow.violation, flow.planner)
        })
    };
    let builtin = || "builtin".to_owned();
    let (clean, exposed) = (PlannerLabel::Clean, PlannerLabel::Exposed);
    for (user, project, expected) in [
        ("", "", None),
        ("[flow]", "", Some((builtin(), OnViolation::Ask, clean))),
        ("", "[flow]", Some((builtin(), OnViolation::Ask, clean))),
        (
            "[flow]\nenabled = false",
            "[flow]",
            Some((builtin(), OnViolation::Ask, clean)),
        ),
        (
            "[flow]\nguard = ['pay.*']\nviolation = 'warn'",
            "[flow]\nguard = ['*:channel']\nviolation = 'deny'\nplanner = 'exposed'",
            Some(("pay.* *:channel".to_owned(), OnViolation::Deny, exposed)),
        ),
        (
            "[flow]\nviolation = 'deny'\nplanner = 'exposed'",
            "[flow]\nviolation = 'ask'\nguard = []",
            Some((builtin(), OnViolation::Deny, exposed)),
        ),
    ] {
        assert_eq!(policy(user, project), expected, "{user} {project}");
    }
}

#[test]
fn destructive_tools_ask_by_flow_where_the_user_says_so() {
    let destructive = || Tool {
        approval: true,
        hints: Hints {
            destructive: Some(true),
            ..Hints::default()
        },
        ..Tool::new("s", "t")
    };
    let by_flow = "[flow]\neffects = 'by-flow'";
    for (user, project, expected) in [
        ("", "", "ad"),
        ("[flow]\neffects = 'ask'", "", "ad"),
        (by_flow, "", "d"),
        ("[flow]\nenabled = false\neffects = 'by-flow'", "", "ad"),
        // A rule for the tool wins.
        ("tools.ask = ['t']\nflow.effects = 'by-flow'", "", "ad"),
        (by_flow, "tools.ask = ['t']", "ad"),
    ] {
        assert_eq!(
            becomes(user, project, destructive()),
            expected,
            "{user} {project}"
        );
    }
    issues(
        Origin::Project,
        by_flow,
        &[
            "planwright.toml:2: a project cannot waive the approval of destructive tools (the user decides this: put `effects` into your own planwright.toml)",
        ],
    );
}
