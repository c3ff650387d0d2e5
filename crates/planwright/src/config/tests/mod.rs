//! LoadedPlan and putting together.

mod clients;
mod dates;
mod flow;
mod model;
pub(super) mod reference;
mod serving;

use planwright_core::{Annotations, Catalog, Hints, Schema, Tool, Value};
use proptest::prelude::*;

use super::{Config, ConfigSource, Origin, rate, size, time};
use crate::pins::PinPolicy;

fn read(origin: Origin, text: &str) -> Result<ConfigSource, Vec<String>> {
    let name = match origin {
        Origin::User => "mine.toml",
        Origin::Project => "planwright.toml",
    };
    ConfigSource::read(origin, name, text).map_err(|issues| {
        let lines = issues
            .iter()
            .map(|issue| format!("{issue} ({})", issue.help));
        lines.collect()
    })
}

#[track_caller]
fn issues(origin: Origin, text: &str, expected: &[&str]) {
    let found = read(origin, text).err().unwrap_or_default();
    assert_eq!(found, expected, "{text}");
}

/// Returns the effective settings of both files, without those that are not set.
fn effective_settings(user: &str, project: &str) -> Vec<String> {
    let user = read(Origin::User, user).unwrap();
    let project = read(Origin::Project, project).unwrap();
    let settings = Config::of([&user, &project]).settings();
    settings
        .iter()
        .filter(|setting| &*setting.set_in != "default")
        .map(|setting| format!("{} = {} ({})", setting.key, setting.value, setting.set_in))
        .collect()
}

#[test]
fn everything_that_may_be_set() {
    let mine = r#"
[tools]
allow = ["fs.*", "git.*"]
deny = ["*.delete_*"]
ask = ["send_mail"]
no_ask = ["fs.remove"]
read_only = ["fs.stat"]
idempotent = ["fs.write_file"]
sharable = ["mail.*:text"]
learn_outputs = false

[budgets]
calls = 500
wall_time = "10m"
output_bytes = "50MB"
failures_in_a_row = 5

[budgets.tools]
"mail.*" = 3

[budgets.servers]
github = 100

[rates]
github = "100/m"

[runaway]
same_call = 20
same_rounds = 5

[output]
max_bytes = "64KiB"
"#;
    assert_eq!(
        effective_settings(mine, ""),
        [
            r#"tools.allow = "fs.*" (mine.toml:3)"#,
            r#"tools.allow = "git.*" (mine.toml:3)"#,
            r#"tools.deny = "*.delete_*" (mine.toml:4)"#,
            r#"tools.ask = "send_mail" (mine.toml:5)"#,
            r#"tools.no_ask = "fs.remove" (mine.toml:6)"#,
            r#"tools.read_only = "fs.stat" (mine.toml:7)"#,
            r#"tools.idempotent = "fs.write_file" (mine.toml:8)"#,
            r#"tools.sharable = "mail.*:text" (mine.toml:9)"#,
            "tools.learn_outputs = false (mine.toml:10)",
            "budgets.calls = 500 (mine.toml:13)",
            r#"budgets.wall_time = "10m" (mine.toml:14)"#,
            "budgets.output_bytes = 50000000 (mine.toml:15)",
            "budgets.failures_in_a_row = 5 (mine.toml:16)",
            r#"budgets.tools."mail.*" = 3 (mine.toml:19)"#,
            "budgets.servers.github = 100 (mine.toml:22)",
            r#"rates.github = "100/m" (mine.toml:25)"#,
            "runaway.same_call = 20 (mine.toml:28)",
            "runaway.same_rounds = 5 (mine.toml:29)",
            "output.max_bytes = 65536 (mine.toml:32)",
        ]
    );
}

#[test]
fn a_project_makes_things_stricter_and_never_looser() {
    let mine = r#"
[tools]
allow = ["a", "b"]
deny = ["c"]
no_ask = ["w"]
[budgets]
calls = 10
wall_time = "1h"
[rates]
s = "10/s"
r = "100/m"
[output]
max_bytes = 10
"#;
    let theirs = r#"
tools.allow = []
tools.deny = ["d"]
budgets.calls = 20
budgets.wall_time = "90s"
rates.s = "11/s"
rates.r = "1/s"
output.max_bytes = 1000
"#;
    assert_eq!(
        effective_settings(mine, theirs),
        [
            r#"tools.allow = "a" (mine.toml:3)"#,
            r#"tools.allow = "b" (mine.toml:3)"#,
            "tools.allow = [] (planwright.toml:2)",
            r#"tools.deny = "c" (mine.toml:4)"#,
            r#"tools.deny = "d" (planwright.toml:3)"#,
            r#"tools.no_ask = "w" (mine.toml:5)"#,
            "budgets.calls = 10 (mine.toml:7)",
            r#"budgets.wall_time = "90s" (planwright.toml:5)"#,
            r#"rates.r = "1/s" (planwright.toml:7)"#,
            r#"rates.s = "10/s" (mine.toml:10)"#,
            "output.max_bytes = 1000 (planwright.toml:8)",
        ]
    );
}

#[test]
fn all_issues_are_reported_at_once() {
    issues(
        Origin::User,
        r#"
[tools]
alow = ["x"]
deny = "x"
ask = ["ok", "not ok", 3, "a..b"]
[budget]
calls = 3
[budgets]
calls = -1
wall_time = "soon"
output_bytes = "5 fish"
failures_in_a_row = 0
[budgets.tools]
"a b" = 3
[rates]
s = "10"
t = "10/fortnight"
[runaway]
same_rounds = 1
"#,
        &[
            "mine.toml:3: unknown field `alow` (did you mean `allow`?)",
            "mine.toml:4: found text \"x\", expected a list (see the reference of planwright.toml for fields and values)",
            "mine.toml:5: `not ok` cannot be a tool (write it as `server.tool`, `server.*`, `*.delete_*` or `tool`)",
            "mine.toml:6: unknown field `budget` (did you mean `budgets`?)",
            "mine.toml:9: found integer `-1`, expected a whole number from 0 (see the reference of planwright.toml for fields and values)",
            "mine.toml:10: `soon` is not a time such as `250ms`, `30s` or `2m` (see the reference of planwright.toml for fields and values)",
            "mine.toml:11: `fish` is not a unit of size; use B, kB, MB, GB, KiB, MiB or GiB (see the reference of planwright.toml for fields and values)",
            "mine.toml:12: found integer `0`, expected a whole number from 1 (see the reference of planwright.toml for fields and values)",
            "mine.toml:14: `a b` cannot be a tool (write it as `server.tool`, `server.*`, `*.delete_*` or `tool`)",
            "mine.toml:16: `10` is not a rate such as `10/s` or `100/m` (see the reference of planwright.toml for fields and values)",
            "mine.toml:17: `10/fortnight` is not a rate such as `10/s` or `100/m` (see the reference of planwright.toml for fields and values)",
            "mine.toml:19: `same_rounds` must be at least 2: a round is compared with others (write 2 or more)",
        ],
    );
    issues(Origin::User, "", &[]);
    issues(
        Origin::User,
        "a = \nb = 1\nb = 2",
        &[
            "mine.toml:1: this is not TOML: string values must be quoted, expected literal string (write `[table]` on its own line, and `key = value` below it, text in quotes)",
            "mine.toml:3: this is not TOML: duplicate key (write `[table]` on its own line, and `key = value` below it, text in quotes)",
        ],
    );
    issues(
        Origin::Project,
        "[tools]\nno_ask = [\"x\"]\nread_only = [\"y\"]\nidempotent = [\"z\", \"w\"]\nsharable = [\"m.s:t\"]",
        &[
            "planwright.toml:2: a project cannot waive the approval of a tool (the user decides this: put `no_ask` into your own planwright.toml)",
            "planwright.toml:3: a project cannot declare a tool read-only (the user decides this: put `read_only` into your own planwright.toml)",
            "planwright.toml:4: a project cannot declare a tool idempotent (the user decides this: put `idempotent` into your own planwright.toml)",
            "planwright.toml:5: a project cannot make parameters sharable (the user decides this: put `sharable` into your own planwright.toml)",
        ],
    );
    issues(
        Origin::User,
        "tools.sharable = [\"mail.send\"]",
        &[
            "mine.toml:1: `mail.send` names no parameter (write `TOOL:PARAMETER`, such as `mail.send:text`)",
        ],
    );
}

#[test]
fn a_user_marks_parameters_of_other_peoples_servers() {
    let schema = r#"{"properties": {"to": {}, "text": {}}}"#;
    let marked = |rules: &str| {
        let user = read(Origin::User, rules).unwrap();
        let tool = Tool {
            input: Schema::from_value(Value::from_json(schema).unwrap()),
            ..Tool::new("mail", "send")
        };
        let before = tool.definition_digest();
        let catalog = Config::of([&user]).catalog(&[tool].into_iter().collect());
        let tool = catalog.get("mail", "send").unwrap();
        // A mark of the user is not a change of the tool.
        assert_eq!(tool.definition_digest(), before);
        tool.sharable.iter().cloned().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        marked("tools.sharable = ['mail.send:text', 'chat.send:to']"),
        "text"
    );
    assert_eq!(marked("tools.sharable = ['mail.*:*']"), "text to");
    assert_eq!(marked(""), "");
}

#[test]
fn any_file_names_the_calls_that_undo_others() {
    let mine = r#"
[tools.undo]
"calendar.create_event" = "calendar.delete_event(id=${output.id}, why=\"was ${arguments.title}\")"
"#;
    // Of two patterns, the one further up counts.
    let project = r#"
[tools.undo]
"calendar.move_event" = "calendar.move_back()"
"calendar.*" = "calendar.undo()"
"#;
    let (user, project) = (
        read(Origin::User, mine).unwrap(),
        read(Origin::Project, project).unwrap(),
    );
    let config = Config::of([&user, &project]);
    let undo_of = |tool: &str| {
        let tool = config.configured(Tool::new("calendar", tool));
        tool.undo.map(|undo| undo.undo.tool.text.to_string())
    };
    // The user's own file comes first.
    assert_eq!(
        undo_of("create_event").as_deref(),
        Some("calendar.delete_event")
    );
    assert_eq!(undo_of("move_event").as_deref(), Some("calendar.move_back"));
    assert_eq!(undo_of("invite").as_deref(), Some("calendar.undo"));
    let names: Vec<&str> = config.undo_tools().map(|name| &**name).collect();
    assert_eq!(
        names,
        [
            "calendar.delete_event",
            "calendar.move_back",
            "calendar.undo"
        ]
    );
    assert_eq!(
        effective_settings(mine, ""),
        [
            r#"tools.undo."calendar.create_event" = "calendar.delete_event(id=${output.id}, why=\"was ${arguments.title}\")" (mine.toml:3)"#
        ]
    );
    issues(
        Origin::User,
        "[tools.undo]\na = \"b(${output.id})\"\nc = \"d(id=${e.id})\"",
        &[
            "mine.toml:2: `b(${output.id})` is not a call that undoes another one (write it as `server.tool(id=${output.id}, name=${arguments.name})`)",
            "mine.toml:3: `d(id=${e.id})` reads something else than the call that it undoes (it may read `${output…}` and `${arguments…}`)",
        ],
    );
    issues(
        Origin::User,
        "[tools.undo]\n\"two names\" = \"b()\"",
        &[
            "mine.toml:2: `two names` cannot be a tool (write it as `server.tool`, `server.*`, `*.create_*` or `tool`)",
        ],
    );
}

#[test]
fn either_file_switches_off_what_is_learned() {
    let learns = |user: &str, project: &str| {
        let user = read(Origin::User, user).unwrap();
        let project = read(Origin::Project, project).unwrap();
        Config::of([&user, &project]).learns_outputs()
    };
    let (on, off) = ("tools.learn_outputs = true", "tools.learn_outputs = false");
    assert!(learns("", ""));
    assert!(learns(on, on));
    assert!(!learns(off, on));
    assert!(!learns(on, off));
}

#[test]
fn a_project_makes_pins_stricter_and_no_looser() {
    let pins = |user: &str, project: &str| {
        let user = read(Origin::User, user).unwrap();
        let project = read(Origin::Project, project).unwrap();
        let config = Config::of([&user, &project]);
        [config.pin(true), config.pin(false)].map(PinPolicy::as_str)
    };
    let (ask, warn, off) = (
        "tools.pin = 'ask'",
        "tools.pin = 'warn'",
        "tools.pin = 'off'",
    );
    for (user, project, own, other) in [
        ("", "", "warn", "ask"),
        (ask, "", "ask", "ask"),
        (warn, "", "warn", "warn"),
        (off, "", "off", "off"),
        ("", ask, "ask", "ask"),
        ("", warn, "warn", "ask"),
        (off, warn, "warn", "warn"),
        (warn, ask, "ask", "ask"),
        (ask, warn, "ask", "ask"),
    ] {
        assert_eq!(pins(user, project), [own, other], "{user:?} {project:?}");
    }
    issues(
        Origin::Project,
        off,
        &[
            "planwright.toml:1: a project cannot disable the pinning of tools (a project can only make it stricter: put `pin` into your own planwright.toml)",
        ],
    );
    issues(
        Origin::User,
        "[tools]\npin = 'always'",
        &["mine.toml:2: `always` is not a way to pin tools (write `ask`, `warn` or `off`)"],
    );
}

/// Returns the configured tool as letters: `a` asks, `r` read-only, `i` idempotent, `d` destructive, `t` trusted.
fn becomes(user: &str, project: &str, tool: Tool) -> String {
    let user = read(Origin::User, user).unwrap();
    let project = read(Origin::Project, project).unwrap();
    let config = Config::of([&user, &project]);
    let catalog = config.catalog(&Catalog::from_iter([tool]));
    let tool = catalog.tools().next().unwrap();
    let facts = [
        (tool.needs_approval(), 'a'),
        (tool.annotations.read_only, 'r'),
        (tool.annotations.idempotent, 'i'),
        (tool.annotations.destructive, 'd'),
        (tool.annotations.trusted, 't'),
    ];
    facts
        .iter()
        .filter_map(|(holds, letter)| holds.then_some(letter))
        .collect()
}

#[test]
fn tools_are_what_the_configuration_says() {
    let plain = || Tool::new("s", "t");
    let asking = || Tool {
        approval: true,
        ..plain()
    };
    let boasting = || Tool {
        annotations: Annotations {
            idempotent: true,
            ..Annotations::default()
        },
        ..plain()
    };
    assert_eq!(becomes("", "", plain()), "d");
    assert_eq!(becomes("tools.ask = ['s.*']", "", plain()), "ad");
    assert_eq!(becomes("", "tools.ask = ['s.*']", plain()), "ad");
    assert_eq!(becomes("tools.no_ask = ['t']", "", asking()), "d");
    assert_eq!(
        becomes("tools.no_ask = ['t']", "tools.ask = ['t']", asking()),
        "ad"
    );
    assert_eq!(becomes("tools.read_only = ['t']", "", plain()), "rt");
    assert_eq!(becomes("tools.idempotent = ['t']", "", plain()), "idt");
    assert_eq!(becomes("tools.read_only = ['t']", "", asking()), "rt");
    assert_eq!(
        becomes("tools.read_only = ['t']", "tools.ask = ['t']", asking()),
        "art"
    );
    // The claims of a server do not become trusted by that.
    assert_eq!(becomes("tools.read_only = ['t']", "", boasting()), "rt");
    assert_eq!(becomes("tools.idempotent = ['t']", "", asking()), "aidt");
}

#[test]
fn tools_that_leave_open_what_they_destroy_ask_where_it_is_said() {
    let stated = |read_only, destructive| Tool {
        hints: Hints {
            read_only,
            destructive,
            ..Hints::default()
        },
        ..Tool::new("s", "t")
    };
    let asks = |user: &str, project: &str, tool: &Tool| {
        let user = read(Origin::User, user).unwrap();
        let project = read(Origin::Project, project).unwrap();
        let config = Config::of([&user, &project]);
        let catalog = Catalog::from_iter([tool.clone()]);
        [
            config.catalog(&catalog),
            config.catalog_asking(&catalog, |_| true),
        ]
        .map(|catalog| {
            let tool = catalog.get("s", "t").unwrap();
            assert_eq!(tool.approval, tool.approval_reason.is_some());
            tool.approval
        })
    };
    let (ask, run) = ("tools.unannotated = 'ask'", "tools.unannotated = 'run'");
    for silent in [stated(None, None), stated(Some(false), None)] {
        for (user, project, expected) in [
            ("", "", [false, true]),
            (run, "", [false, false]),
            (ask, "", [true, true]),
            ("", ask, [true, true]),
            (run, ask, [true, true]),
            ("tools.no_ask = ['s.*']", "", [false, false]),
            ("tools.read_only = ['t']", ask, [false, false]),
        ] {
            assert_eq!(
                asks(user, project, &silent),
                expected,
                "{user:?} {project:?}"
            );
        }
    }
    for plain in [
        stated(Some(true), None),
        stated(None, Some(false)),
        stated(Some(true), Some(true)),
    ] {
        assert_eq!(asks(ask, "", &plain), [false, false]);
    }
    issues(
        Origin::Project,
        run,
        &[
            "planwright.toml:1: a project cannot waive the approval of tools without annotations (a project can only make it stricter: put `unannotated` into your own planwright.toml)",
        ],
    );
    issues(
        Origin::User,
        "[tools]\nunannotated = 'warn'",
        &["mine.toml:2: unknown value `warn` (write `ask` or `run`)"],
    );
}

#[test]
fn words() {
    assert_eq!(time("1.5h").unwrap().as_secs(), 5400);
    assert_eq!(time("250ms").unwrap().as_millis(), 250);
    assert!(time("1 day").is_err() && time("").is_err() && time("-1s").is_err());
    let sizes = [
        ("7", 7),
        ("1.5 kB", 1500),
        ("64KiB", 65536),
        ("2gb", 2_000_000_000),
    ];
    for (text, bytes) in sizes {
        assert_eq!(size(text).unwrap(), bytes);
    }
    assert!(size("1e3").is_err() && size("9999999GB").is_err());
    let rates = [
        ("10/s", 10, 1),
        ("5 / 30s", 5, 30),
        ("100/m", 100, 60),
        ("1/h", 1, 3600),
    ];
    for (text, calls, per) in rates {
        let rate = rate(text).unwrap();
        assert_eq!((rate.calls.get(), rate.per.as_secs()), (calls, per));
    }
    assert!(rate("0/s").is_err() && rate("5/0s").is_err() && rate("5/").is_err());
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in ".{0,80}", at in 0_usize..200, piece in "[\\[\\]=\"'.,0-9a-z# \n]{0,12}") {
        let _ = read(Origin::Project, &text);
        let mut all = "[tools]\nallow = ['a.*', \"b\"]\n[budgets]\ncalls = 3\nwall_time = '1m'\ntools.'x.*' = 3\n[rates]\ns = '1/s'\n".to_owned();
        all.insert_str(at.min(all.len()), &piece);
        if let Err(issues) = read(Origin::User, &all) {
            prop_assert!(!issues.is_empty());
        }
    }
}

#[test]
fn what_plans_may_be_given_from_outside() {
    let user = "[env]\nREGION = [\"shop.*\", \"mail.send\"]\n[secrets.KEY]\nfile = \"key\"\ntools = [\"shop.pay\"]\n";
    let project = "[env]\nREGION = [\"shop.list\"]\nPATH = [\"*\"]\n[secrets.KEY]\ntools = []\n[secrets.OTHER]\ntools = [\"*\"]\n";
    let held = effective_settings(user, project);
    let held: Vec<&str> = held.iter().map(String::as_str).collect();
    assert_eq!(
        held,
        [
            "env.REGION = \"shop.*\" (mine.toml:2)",
            "env.REGION = \"mail.send\" (mine.toml:2)",
            "env.REGION = \"shop.list\" (planwright.toml:2)",
            "secrets.KEY.file = \"key\" (mine.toml:4)",
            "secrets.KEY.tools = \"shop.pay\" (mine.toml:5)",
            "secrets.KEY.tools = [] (planwright.toml:5)",
        ]
    );
}

#[test]
fn secrets_that_cannot_be_so() {
    issues(
        Origin::User,
        "[secrets.A]\nenv = \"A\"\n[secrets.B]\ntools = [\"x\"]\n[secrets.C]\nenv = \"C\"\nfile = \"c\"\ntools = [\"x\"]\n",
        &[
            "mine.toml:1: no tool may receive the secret `A` (write `tools = [\"server.tool\"]`)",
            "mine.toml:3: the secret `B` has no source (write `env = \"VARIABLE\"` or `file = \"PATH\"`)",
            "mine.toml:7: the secret `C` has two sources (write `env` or `file`)",
        ],
    );
    issues(
        Origin::Project,
        "[secrets.A]\nenv = \"AWS_SECRET\"\ntools = [\"x\"]\n",
        &[
            "planwright.toml:2: a project cannot define the source of the secret `A` (the user decides this: put `env` or `file` into your own planwright.toml)",
        ],
    );
}

#[test]
fn stages_stand_in_the_order_of_the_file() {
    let project = "[stages.start]\ntools = [\"shop.list*\"]\nnext = [\"pay\"]\n[stages.pay]\ntools = []\nneeds = [\"cart\"]\nnext = [\"start\", \"end\"]\n[stages.end]\ntools = [\"*\"]\n";
    assert_eq!(
        effective_settings("", project),
        [
            "stages.start.tools = \"shop.list*\" (planwright.toml:1)",
            "stages.start.next = \"pay\" (planwright.toml:1)",
            "stages.pay.tools = [] (planwright.toml:4)",
            "stages.pay.next = \"start\" (planwright.toml:4)",
            "stages.pay.next = \"end\" (planwright.toml:4)",
            "stages.pay.needs = \"cart\" (planwright.toml:4)",
            "stages.end.tools = \"*\" (planwright.toml:8)",
        ]
    );
    // Those of a project do not count beside the user's own.
    let mine = "[stages.only]\ntools = [\"a\"]\n";
    assert_eq!(
        effective_settings(mine, project),
        ["stages.only.tools = \"a\" (mine.toml:1)"]
    );
}

#[test]
fn stages_that_cannot_be_so() {
    issues(
        Origin::User,
        "[stages.start]\nnext = [\"py\", \"nowhere\"]\n[stages.pay]\ntools = []\n[stages.\"a b\"]\ntools = []\n",
        &[
            "mine.toml:1: the stage `start` has no `tools` (write `tools = [\"server.tool\"]`, or `tools = []` for none)",
            "mine.toml:2: there is no stage `py` (did you mean `pay`?)",
            "mine.toml:2: there is no stage `nowhere` (there are: `start`, `pay`, `a b`)",
            "mine.toml:3: the stage `pay` is unreachable (write `next = [\"pay\"]` in a stage before it, or remove it)",
            "mine.toml:5: `a b` cannot be the name of a stage (write a name without spaces, since models must repeat it)",
            "mine.toml:5: the stage `a b` is unreachable (write `next = [\"a b\"]` in a stage before it, or remove it)",
        ],
    );
}
