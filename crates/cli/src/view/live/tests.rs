//! The live view over real runs of simulated tools, in virtual time.

use std::time::Duration;

use indicatif::{InMemoryTerm, ProgressDrawTarget, TermLike};
use insta::assert_snapshot;
use planwright::core::check::{CheckContext, CheckedPlan, check};
use planwright::core::{Catalog, StepId, Value};
use planwright::dialects::{ReadOptions, parse};
use planwright::engine::approval::Always;
use planwright::engine::backend::{CallProgress, Simulated};
use planwright::engine::durations::LearnedDuration;
use planwright::engine::event::Address;
use planwright::engine::{
    Backends, ConcurrencyLimits, Decision, Durations, Engine, RunEvent, RunOptions, RunStatus,
    RunSummary, StampedEvent, StepStatus,
};
use planwright::service::TimeLeft;

use super::Live;
use super::plain_lines::PlainLines;
use super::step_lines::StepLines;
use super::summary::summary_text;
use super::terminal::View;
use crate::args::{Colour, Progress};
use crate::view::printer::Printer;

/// The rows of the terminal.
const ROWS: usize = 24;

/// The plan, events and summary of a run.
struct Ran {
    plan: CheckedPlan,
    events: Vec<StampedEvent>,
    summary: RunSummary,
}

/// Runs a native plan over simulated tools; people are not to be found.
fn run(plan: &str, tools: &str) -> Ran {
    let simulated = Simulated::from_script(&Value::from_json(tools).unwrap()).unwrap();
    let catalog: Catalog = simulated.tools().cloned().collect();
    let parsed = parse(
        plan.as_bytes(),
        &ReadOptions::new("plan.json").in_dialect("native"),
    );
    let plan = parsed
        .plan
        .unwrap_or_else(|| panic!("{:?}", parsed.diagnostics));
    let (checked, diagnostics) = check(plan, &CheckContext::new(&catalog));
    let plan = checked.unwrap_or_else(|| panic!("{diagnostics:?}"));
    let mut backends = Backends::new();
    let servers = simulated.servers();
    let simulated = std::sync::Arc::new(simulated);
    for server in servers {
        backends.add(server, std::sync::Arc::clone(&simulated) as _);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .unwrap();
    let (summary, events) = runtime.block_on(async {
        let engine = Engine::new(backends)
            .with_options(RunOptions::default())
            .with_approver(std::sync::Arc::new(Always(Decision::Later)));
        let (handle, mut events) = engine.start("run".parse().unwrap(), plan.clone());
        let summary = handle.await;
        let mut seen = Vec::new();
        while let Some(event) = events.recv().await {
            seen.push(event);
        }
        (summary, seen)
    });
    Ran {
        plan,
        events,
        summary,
    }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

impl Ran {
    /// The lines about ended steps, in the order in which they were printed.
    fn printed(&self) -> String {
        let mut board = StepLines::new(&self.plan);
        let lines: Vec<String> = self
            .events
            .iter()
            .filter_map(|event| board.event(event))
            .collect();
        assert!(
            board.lines(Duration::ZERO, 80, ROWS).is_empty(),
            "something is in flight after the end"
        );
        plain(&lines.join("\n"))
    }

    /// The lines about steps in flight at a time.
    fn in_flight(&self, millis: u64, width: usize) -> String {
        let now = Duration::from_millis(millis);
        let mut board = StepLines::new(&self.plan);
        for event in self.events.iter().take_while(|event| event.at <= now) {
            let _ = board.event(event);
        }
        plain(&board.lines(now, width, ROWS).join("\n"))
    }

    fn summary(&self) -> String {
        plain(&summary_text(&self.summary, true))
    }
}

const TOOLS: &str = r#"{"tools": {
    "get": {"sleep_ms": 400, "returns": {"temp": 24}},
    "slow": {"sleep_ms": 72000, "returns": [1, 2, 3]},
    "flaky": {"unavailable": "connection reset", "times": 2, "returns": "third time lucky"},
    "broken": {"fails": {"code": "card_declined", "message": "Your card was declined."}},
    "long": {"fails": {"message": "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10"}},
    "pay": {"approval": true, "returns": "ok"}
}}"#;

#[test]
fn the_keys_of_a_result_are_cut_at_the_end_of_the_line() {
    let ran = run(r#"{"steps": [{"id": "a", "tool": "get"}]}"#, TOOLS);
    let mut board = StepLines::new(&ran.plan);
    board.limit_columns(|| 20);
    let mut ended = ran.events.iter().filter_map(|event| board.event(event));
    assert_eq!(plain(&ended.next().unwrap()), "✓ a  get  0.4s    →…");
}

#[test]
fn a_result_of_an_earlier_process_has_no_time() {
    let ran = run(r#"{"steps": [{"id": "a", "tool": "get"}]}"#, TOOLS);
    let mut board = StepLines::new(&ran.plan);
    // A resumed run starts and ends such a step without a call.
    let is_call = |event: &RunEvent| {
        matches!(
            event,
            RunEvent::AttemptStarted { .. } | RunEvent::AttemptEnded { .. }
        )
    };
    let mut ended = ran
        .events
        .iter()
        .filter(|event| !is_call(&event.event))
        .filter_map(|event| board.event(event));
    assert_eq!(plain(&ended.next().unwrap()), "✓ a  get  earlier  → temp");
}

#[test]
fn all_goes_well() {
    let ran = run(
        r#"{"steps": [
            {"id": "tokyo", "tool": "get", "args": {"city": "Tokyo"}},
            {"id": "london", "tool": "flaky", "retry": {"attempts": 3, "delay": "500ms"}},
            {"id": "both", "value": ["${tokyo.temp}", "${london}"]},
            {"id": "warn", "tool": "slow", "when": "${tokyo.temp > 30}"},
            {"id": "then", "tool": "get", "args": {"what": "${warn}"}}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.printed(), @r#"
    ✓ tokyo   get    0.4s    → temp
    – warn    skipped: its condition was false
    – then    skipped: `warn` has not succeeded
    ✓ london  flaky  1.5s    3 attempts
    ✓ both    value  <1ms
    "#);
    assert_snapshot!(ran.in_flight(300, 80), @r#"
    ⠸ tokyo   get    0.3s
    ⠸ london  flaky  0.3s    retry in 0.2s
      0 of 5 steps, 0.3s
    "#);
    assert_snapshot!(ran.in_flight(300, 34), @r#"
    ⠸ tokyo   get    0.3s
    ⠸ london  flaky  0.3s    retry in…
      0 of 5 steps, 0.3s
    "#);
    assert_snapshot!(ran.summary(), @"✓ 5 steps in 1.5s (4 calls, 2 skipped)");
}

#[test]
fn failures_are_reported() {
    let ran = run(
        r#"{"steps": [
            {"id": "pay", "tool": "broken"},
            {"id": "receipt", "tool": "get", "args": {"of": "${pay}"}},
            {"id": "maybe", "tool": "broken", "on_error": "continue"},
            {"id": "trace", "tool": "long"},
            {"id": "each", "tool": "broken", "for_each": ["a", "b"], "args": {"of": "${item}"}}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.printed(), @r#"
    ✗ pay      broken  <1ms    Your card was declined. (card_declined)
    – receipt  skipped: `pay` has not succeeded
    ✗ maybe    broken  <1ms    Your card was declined. (card_declined) (ignored: the plan continues)
    ✗ trace    long    <1ms    line 1
    ✗ each     broken  <1ms    item 0: Your card was declined. (and 1 more)
    "#);
    assert_snapshot!(ran.summary(), @r#"
    ✗ 3 of 5 steps failed in <1ms (5 calls, 1 skipped, 1 failure handled)
      pay  broken  (tool, card_declined)
        Your card was declined.
      trace  long  (tool)
        line 1
        line 2
        line 3
        line 4
        line 5
        line 6
        line 7
        line 8
        and 2 lines more
      each[0]  broken  (tool, card_declined)
        Your card was declined.
      each[1]  broken  (tool, card_declined)
        Your card was declined.
    see every call with `planwright logs`
    "#);
}

#[test]
fn reports_of_failures_are_bounded() {
    let tools = format!(
        r#"{{"tools": {{"wide": {{"fails": "{}"}}}}}}"#,
        "x".repeat(3000)
    );
    let ran = run(r#"{"steps": [{"id": "a", "tool": "wide"}]}"#, &tools);
    let summary = ran.summary();
    let longest = summary.lines().map(|line| line.chars().count()).max();
    assert_eq!(longest, Some(2004));
    assert!(summary.contains(&format!("{}…", "x".repeat(1999))));
}

#[test]
fn an_output_that_cannot_be_made_is_no_step() {
    let ran = run(
        r#"{"steps": [{"id": "a", "tool": "get"}], "output": "${a.wind}"}"#,
        TOOLS,
    );
    assert_snapshot!(ran.summary(), @"
    ✗ 1 step in 0.4s, but the output cannot be computed (1 call)
    error PW0402: `${a.wind}` leads nowhere: there is no `wind`; known are `temp`
    see every call with `planwright logs`
    ");
}

#[test]
fn items_and_rounds() {
    let ran = run(
        r#"{"steps": [
            {"id": "each", "tool": "get", "for_each": [1, 2, 3, 4, 5], "max_parallel": 2, "args": {"n": "${item}"}},
            {"id": "poll", "tool": "get", "repeat": {"until": "${index >= 2}", "max": 5}}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.in_flight(500, 80), @r#"
    ⠴ each  get  0.5s    2/5
    ⠴ poll  get  0.5s    round 2
      0 of 2 steps, 0.5s
    "#);
    assert_snapshot!(ran.printed(), @r#"
    ✓ each  get  1.2s    5 items
    ✓ poll  get  1.2s    3 rounds
    "#);
}

#[test]
fn only_some_of_many_have_lines() {
    let steps: Vec<String> = (1..=14)
        .map(|number| format!(r#"{{"id": "page{number}", "tool": "slow"}}"#))
        .collect();
    let ran = run(&format!(r#"{{"steps": [{}]}}"#, steps.join(",")), TOOLS);
    assert_snapshot!(ran.in_flight(50_000, 80), @r#"
    ⠋ page1   slow  50.0s
    ⠋ page2   slow  50.0s
    ⠋ page3   slow  50.0s
    ⠋ page4   slow  50.0s
    ⠋ page5   slow  50.0s
    ⠋ page6   slow  50.0s
    ⠋ page7   slow  50.0s
    ⠋ page8   slow  50.0s
    ⠋ page9   slow  50.0s
    ⠋ page10  slow  50.0s
      and 4 more
      0 of 14 steps, 50.0s
    "#);
}

#[test]
fn a_low_terminal_has_room_for_all_lines() {
    let steps: Vec<String> = (1..=14)
        .map(|number| format!(r#"{{"id": "page{number}", "tool": "slow"}}"#))
        .collect();
    let ran = run(&format!(r#"{{"steps": [{}]}}"#, steps.join(",")), TOOLS);
    let mut board = StepLines::new(&ran.plan);
    for event in ran.events.iter().take_while(|event| event.at.is_zero()) {
        let _ = board.event(event);
    }
    let count = |rows| board.lines(Duration::ZERO, 60, rows).len();
    assert_eq!([24, 20, 12, 1].map(count), [12, 11, 3, 3]);
}

#[test]
fn no_person_can_be_asked() {
    let ran = run(
        r#"{"steps": [
            {"id": "pay", "tool": "pay", "args": {"amount": 3}},
            {"id": "receipt", "tool": "get", "args": {"of": "${pay}"}},
            {"id": "other", "tool": "get"}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.in_flight(100, 80), @r#"
    ⠙ pay      pay  0.1s    waits for your answer
    ⠙ other    get  0.1s
      0 of 3 steps, 0.1s
    "#);
    assert_snapshot!(ran.summary(), @r#"
    ○ 1 step of 3 waits for a decision, after 0.4s (1 call, 1 not run)
      pay  pay
    decide with `planwright approve`, `--approvals FILE` or `--approve all`
    "#);
}

#[test]
fn the_summary_names_the_waiting_parts_of_a_step() {
    let ran = run(
        r#"{"steps": [
            {"id": "each", "for_each": [1, 2], "tool": "pay", "args": {"amount": "${item}"}},
            {"id": "all", "plan": {"steps": [{"id": "q", "tool": "pay", "args": {"amount": 3}}]}}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.summary(), @r#"
    ○ 2 steps of 2 wait for a decision, after <1ms
      each[0]  pay
      each[1]  pay
      all/q  pay
    decide with `planwright approve`, `--approvals FILE` or `--approve all`
    "#);
}

#[test]
fn a_waiting_step_shows_the_arguments_to_approve() {
    let mut ran = run(
        r#"{"steps": [
            {"id": "pay", "tool": "pay", "args": {"amount": 3}},
            {"id": "each", "for_each": [1, 2], "tool": "pay", "args": {"amount": "${item}"}}
        ]}"#,
        TOOLS,
    );
    let says = |ran: &Ran| ran.summary().contains("`--approve all`");
    assert!(says(&ran), "{}", ran.summary());
    // Only a part of a step asks; the rest is in doubt.
    ran.summary.steps[0].status = StepStatus::Unknown;
    ran.summary.steps[1].status = StepStatus::Unknown;
    ran.summary.steps[1].parts[0].status = StepStatus::Unknown;
    assert!(says(&ran), "{}", ran.summary());
    ran.summary.steps[1].parts[1].status = StepStatus::Unknown;
    assert!(!says(&ran), "{}", ran.summary());
}

#[test]
fn inner_plans() {
    let ran = run(
        r#"{"steps": [
            {"id": "outer", "plan": {"steps": [
                {"id": "a", "tool": "get"},
                {"id": "b", "tool": "broken", "args": {"of": "${a}"}}
            ]}}
        ]}"#,
        TOOLS,
    );
    assert_snapshot!(ran.printed(), @r#"
    ✓ outer/a  get     0.4s    → temp
    ✗ outer/b  broken  <1ms    Your card was declined. (card_declined)
    ✗ outer    plan    0.4s    Your card was declined. (card_declined)
    "#);
    assert_snapshot!(ran.summary(), @r#"
    ✗ 1 of 1 step failed in 0.4s (2 calls)
      outer/b  broken  (tool, card_declined)
        Your card was declined.
    see every call with `planwright logs`
    "#);
}

/// A view on a terminal that a test can read.
fn view(ran: &Ran) -> (Live, InMemoryTerm) {
    let terminal = InMemoryTerm::new(20, 80);
    let target = ProgressDrawTarget::term_like(Box::new(terminal.clone()));
    let printer = Printer::new(Colour::Never);
    let screen = terminal.clone();
    let print = Box::new(move |text: &str| {
        for line in plain(text).lines() {
            screen.write_line(line).unwrap();
        }
    });
    let live = Live {
        view: Some(View::new(target, print, StepLines::new(&ran.plan), printer)),
        lines: None,
        printer,
    };
    (live, terminal)
}

#[test]
fn the_terminal_is_given_away_and_taken_back() {
    let ran = run(
        r#"{"steps": [{"id": "a", "tool": "get"}, {"id": "b", "tool": "get", "after": ["a"]}]}"#,
        TOOLS,
    );
    let (live, terminal) = view(&ran);
    let a_ends = ran
        .events
        .iter()
        .position(|event| event.at > Duration::ZERO)
        .unwrap();
    for event in &ran.events[..a_ends] {
        live.event(event);
    }
    live.suspend(|| {
        assert_eq!(terminal.contents(), "", "the view is still there");
        for event in &ran.events[a_ends..] {
            live.event(event);
        }
        live.suspend(|| ());
        assert_eq!(terminal.contents(), "", "another program has the terminal");
    });
    live.finish();
    live.finish();
    assert_snapshot!(terminal.contents(), @r#"
    ✓ a  get  0.4s    → temp
    ✓ b  get  0.4s    → temp
    "#);
}

#[test]
fn a_resumed_run_goes_on_from_its_time() {
    let ran = run(
        r#"{"steps": [{"id": "a", "tool": "get"}, {"id": "b", "tool": "slow"}]}"#,
        TOOLS,
    );
    let (live, terminal) = view(&ran);
    for event in ran.events.iter().take_while(|event| event.at.is_zero()) {
        let mut event = event.clone();
        event.at += Duration::from_secs(50);
        live.event(&event);
    }
    // The view is drawn anew after it.
    live.suspend(|| ());
    let drawn = terminal.contents();
    assert!(drawn.contains("0 of 2 steps, 5"), "{drawn}");
    live.finish();
}

#[test]
fn an_unanswered_question_does_not_keep_the_lines() {
    let ran = run(r#"{"steps": [{"id": "a", "tool": "get"}]}"#, TOOLS);
    let (live, terminal) = view(&ran);
    live.suspend(|| {
        for event in &ran.events {
            live.event(event);
        }
        live.finish();
    });
    assert_snapshot!(terminal.contents(), @"✓ a  get  0.4s    → temp");
}

#[test]
fn nothing_is_shown_without_a_terminal() {
    let ran = run(r#"{"steps": [{"id": "a", "tool": "get"}]}"#, TOOLS);
    let live = Live {
        view: None,
        lines: None,
        printer: Printer::new(Colour::Never),
    };
    for event in &ran.events {
        live.event(event);
    }
    assert_eq!(live.suspend(|| 7), 7);
    live.finish();
}

/// Steps that end within one blink are all printed, once and in order.
#[test]
fn many_steps_that_end_at_once() {
    let steps: Vec<String> = (1..=15)
        .map(|number| format!(r#"{{"id": "s{number}", "tool": "get"}}"#))
        .collect();
    let ran = run(&format!(r#"{{"steps": [{}]}}"#, steps.join(",")), TOOLS);
    let (live, terminal) = view(&ran);
    for event in &ran.events {
        live.event(event);
    }
    live.finish();
    let wanted: Vec<String> = (1..=15)
        .map(|number| format!("✓ {:<3}  get  0.4s    → temp", format!("s{number}")))
        .collect();
    assert_eq!(terminal.contents(), wanted.join("\n"));
}

#[test]
fn a_plan_grows_while_it_is_written() {
    let ran = run(
        r#"{"steps": [{"id": "tokyo", "tool": "get"}, {"id": "warn", "tool": "slow"}]}"#,
        TOOLS,
    );
    let mut board = StepLines::written_by("some:model");
    let lines = |board: &StepLines, millis| {
        plain(
            &board
                .lines(Duration::from_millis(millis), 40, ROWS)
                .join("\n"),
        )
    };
    assert_snapshot!(lines(&board, 0), @"⠋ some:model writes the plan");
    board.grow(&ran.plan);
    for event in ran.events.iter().take_while(|event| event.at.is_zero()) {
        let _ = board.event(event);
    }
    assert_snapshot!(lines(&board, 100), @r"
    ⠙ tokyo  get   0.1s
    ⠙ warn   slow  0.1s
      0 of 2 steps, 0.1s
    ⠙ some:model writes the plan
    ");
    board.mark_written();
    assert!(!lines(&board, 100).contains("writes"));
    board.restart();
    assert_snapshot!(lines(&board, 100), @"");
}

/// The lines where no terminal shows the run.
fn lines(ran: &Ran, progress: Progress, reports_events: bool) -> String {
    let board = StepLines::new(&ran.plan);
    let Some(lines) = PlainLines::new(board, progress, reports_events) else {
        return "nothing".to_owned();
    };
    let events = ran.events.iter();
    let lines: Vec<String> = events.flat_map(|event| lines.event(event)).collect();
    plain(&lines.join("\n"))
}

#[test]
fn a_log_has_a_line_for_each_step() {
    let plan = r#"{"steps": [
        {"id": "a", "tool": "get"},
        {"id": "b", "tool": "slow"},
        {"id": "c", "after": ["b"], "tool": "get"},
        {"id": "d", "when": "${a.temp > 30}", "tool": "get"}
    ], "output": ["a"]}"#;
    let ran = run(plan, TOOLS);
    assert_snapshot!(lines(&ran, Progress::Plain, false), @r"
    run run: 1 of 4 steps, 0.4s
    ✓ a  get   0.4s    → temp
    – d  skipped: its condition was false
    ✗ b  slow  1m 00s  no answer within 60s
    – c  skipped: `b` has not succeeded
    ");
    // The steps of the first seconds have their lines as well, once anything is printed.
    assert_snapshot!(lines(&ran, Progress::Auto, false), @"
    run run: 3 of 4 steps, 1m 00s
    ✓ a  get   0.4s    → temp
    – d  skipped: its condition was false
    ✗ b  slow  1m 00s  no answer within 60s
    – c  skipped: `b` has not succeeded
    ");
    assert_eq!(lines(&ran, Progress::Auto, true), "nothing");
    assert_eq!(lines(&ran, Progress::None, false), "nothing");
    for reports_events in [false, true] {
        let json = lines(&ran, Progress::Json, reports_events);
        assert_eq!(json.lines().count(), ran.events.len());
        assert!(
            json.starts_with(r#"{"schema":"planwright.event/1""#),
            "{json}"
        );
    }
}

/// The address of a whole step.
fn whole(step: &str) -> std::sync::Arc<Address> {
    std::sync::Arc::new(Address::of_step(StepId::new(step)))
}

fn reported(progress: CallProgress) -> StampedEvent {
    let event = RunEvent::CallProgress {
        at: whole("warn"),
        tool: "slow".into(),
        progress,
    };
    StampedEvent {
        at: Duration::from_secs(1),
        event,
    }
}

#[test]
fn calls_in_flight_show_their_progress_and_the_run_its_end() {
    let ran = run(
        r#"{"steps": [
            {"id": "tokyo", "tool": "get"},
            {"id": "warn", "tool": "slow"},
            {"id": "then", "tool": "get", "after": ["warn", "tokyo"]}
        ]}"#,
        TOOLS,
    );
    let mut board = StepLines::new(&ran.plan);
    let mut durations = Durations::new();
    for (tool, seconds) in [("get", 1), ("slow", 60)] {
        let learned = LearnedDuration::exactly(Duration::from_secs(seconds));
        durations.insert(&"simulated".into(), &tool.into(), learned);
    }
    let limits = ConcurrencyLimits::default();
    board.expect(TimeLeft::new(&ran.plan, &durations, &limits));
    for event in ran.events.iter().take_while(|event| event.at.is_zero()) {
        let _ = board.event(event);
    }
    let progress = |done, total, message: Option<&str>| CallProgress {
        done,
        total,
        message: message.map(Into::into),
    };
    let mut shown = String::new();
    for (report, width) in [
        (progress(2.0, Some(5.0), None), 80),
        (
            progress(2.0, Some(5.0), Some("page 2 of\u{1b}[31m the report")),
            80,
        ),
        (progress(2.0, Some(5.0), Some("page 2 of the report")), 32),
        (progress(2.0, None, Some("page 2")), 80),
        (progress(2.0, None, None), 80),
        (progress(2.0, Some(0.0), None), 80),
        (progress(9.0, Some(5.0), None), 80),
    ] {
        let _ = board.event(&reported(report));
        let lines = board.lines(Duration::from_secs(10), width, ROWS);
        shown += &plain(&lines[1]);
        shown.push('\n');
    }
    assert_snapshot!(shown, @r"
    ⠋ warn   slow  10.0s   40%
    ⠋ warn   slow  10.0s   40%: page 2 of\u{1b}[31m the report
    ⠋ warn   slow  10.0s   40%: pag…
    ⠋ warn   slow  10.0s   page 2
    ⠋ warn   slow  10.0s
    ⠋ warn   slow  10.0s
    ⠋ warn   slow  10.0s   100%
    ");
    let last = |board: &StepLines, seconds| {
        let lines = board.lines(Duration::from_secs(seconds), 80, ROWS);
        plain(lines.last().unwrap())
    };
    assert_eq!(last(&board, 10), "  0 of 3 steps, 10.0s, about 51s left");
    assert_eq!(last(&board, 60), "  0 of 3 steps, 1m 00s, about 1s left");
    assert_eq!(board.in_flight(), "2 calls in flight (`tokyo`, `warn`)");
    board.drain(Duration::from_secs(40));
    assert_eq!(
        last(&board, 10),
        "  stopping: 2 calls in flight, cancelled in 30s"
    );
    assert_eq!(
        last(&board, 50),
        "  stopping: 2 calls in flight, cancelled in 0s"
    );
}

#[test]
fn an_interrupted_run_has_one_line_for_all_that_did_not_begin() {
    let steps: Vec<String> = (1..=25)
        .map(|number| format!(r#"{{"id": "s{number}", "tool": "get"}}"#))
        .collect();
    let mut ran = run(&format!(r#"{{"steps": [{}]}}"#, steps.join(",")), TOOLS);
    ran.summary.status = RunStatus::Cancelled;
    for step in &mut ran.summary.steps[1..] {
        step.status = StepStatus::NotRun;
    }
    assert_snapshot!(ran.summary(), @r"
    – interrupted after 0.8s: 1 of 25 steps done (25 calls)
      24 steps not started
    ");
}
