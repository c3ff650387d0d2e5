//! Scenes: events for a scheduler, one per line, with the expected commands.
//!
//! Tasks are numbers, in the order in which they are added; `2.1` is the first attempt of task 2. Times are
//! milliseconds.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::schedule::{
    AttemptEnd, CallTerms, ConcurrencyLimits, Prepared, Scheduler, SchedulerCommand,
    SchedulerEvent, TaskId, Timer,
};
use planwright_core::plan::RetryPolicy;

/// Plays the lines and compares the commands. `limits` are words: `total=2 server=1 tool=1`, and `s.t=2` for one
/// tool, `s=2` for one server.
#[track_caller]
pub(super) fn check(limits: &str, lines: &[(&str, &str)]) {
    let mut scheduler = Scheduler::new(read_limits(limits));
    let answers: Vec<String> = lines
        .iter()
        .map(|(line, _)| {
            let mut out = Vec::new();
            let answer = tell(&mut scheduler, line, &mut out);
            let written = out.iter().map(written).chain(answer);
            written.collect::<Vec<_>>().join(", ")
        })
        .collect();
    let played: Vec<(&str, &str)> = lines
        .iter()
        .zip(&answers)
        .map(|((line, _), answer)| (*line, &**answer))
        .collect();
    assert_eq!(played, lines);
}

fn read_limits(text: &str) -> ConcurrencyLimits {
    let mut limits = ConcurrencyLimits::default();
    for word in text.split_whitespace() {
        let (name, count) = word.split_once('=').expect("a limit");
        let count = NonZeroUsize::new(number(count)).expect("more than nothing");
        match name {
            "total" => limits.total = count,
            "server" => limits.per_server = Some(count),
            "tool" => limits.per_tool = Some(count),
            tool if tool.contains('.') => {
                limits.tools.insert(tool.into(), count);
            }
            server => {
                limits.servers.insert(server.into(), count);
            }
        }
    }
    limits
}

/// The answer to a query; commands go to `out`.
fn tell(scheduler: &mut Scheduler, line: &str, out: &mut Vec<SchedulerCommand>) -> Option<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["add", ref words @ ..] => {
            let parent = option(words, "in").map(TaskId);
            let next = scheduler.next_id();
            let task = scheduler.add(parent, option(words, "rank").unwrap_or(0));
            assert_eq!(task, next);
        }
        ["start", one, ref on @ ..] => scheduler.start(task(one), &tasks(on), out),
        ["go"] => scheduler.start_ready(out),
        ["rank", one, rank] => scheduler.rank_as(task(one), number(rank)),
        ["see", one] => {
            let one = task(one);
            let (state, rank) = (scheduler.state(one), scheduler.rank(one));
            return Some(format!("{state:?} {} {rank}", scheduler.attempt(one)));
        }
        ["see"] => {
            let facts = [
                ("done", scheduler.is_done()),
                ("stuck", scheduler.is_stuck()),
                ("people", scheduler.waits_for_people()),
            ];
            let facts = facts.iter().filter(|(_, holds)| *holds);
            return Some(facts.map(|(fact, _)| *fact).collect::<Vec<_>>().join(" "));
        }
        _ => {
            let event = event(scheduler, &words);
            scheduler.handle(event, out);
        }
    }
    None
}

fn event(scheduler: &mut Scheduler, words: &[&str]) -> SchedulerEvent {
    let ended = |what: &str, end| {
        let (task, attempt) = attempt(what);
        SchedulerEvent::AttemptEnded { task, attempt, end }
    };
    match *words {
        ["value", one] => SchedulerEvent::Prepared(task(one), Prepared::Done),
        ["wait", one, ref on @ ..] => {
            SchedulerEvent::Prepared(task(one), Prepared::WaitFor(tasks(on)))
        }
        ["call", one, tool, ref words @ ..] => {
            let terms = terms(scheduler, tool, words);
            SchedulerEvent::Prepared(task(one), Prepared::Call(terms))
        }
        ["group", one, ref words @ ..] => {
            let whole = option(words, "whole").map(Duration::from_millis);
            SchedulerEvent::Prepared(task(one), Prepared::Group(whole))
        }
        ["final", what] => ended(what, AttemptEnd::Final),
        ["unsure", what] => ended(what, AttemptEnd::Uncertain),
        ["fail", what, least] => {
            let least = Duration::from_millis(number(least));
            ended(what, AttemptEnd::Retryable(least))
        }
        ["postpone", what, pause] => {
            let (task, attempt) = attempt(what);
            let pause = Duration::from_millis(number(pause));
            SchedulerEvent::Postponed {
                task,
                attempt,
                pause,
            }
        }
        ["approve", one] => SchedulerEvent::Approved(task(one)),
        ["reject", one] => SchedulerEvent::Rejected(task(one)),
        ["fire", "attempt", what] => {
            let (task, attempt) = attempt(what);
            SchedulerEvent::TimerFired(task, Timer::Attempt(attempt))
        }
        ["fire", "pause", what] => {
            let (task, attempt) = attempt(what);
            SchedulerEvent::TimerFired(task, Timer::Pause(attempt))
        }
        ["fire", "step", one] => SchedulerEvent::TimerFired(task(one), Timer::Step),
        ["seal", one] => SchedulerEvent::Sealed(task(one)),
        ["close", one] => SchedulerEvent::Closed(task(one)),
        ["stop"] => SchedulerEvent::Stop(None),
        ["stop", one] => SchedulerEvent::Stop(Some(task(one))),
        ["cancel"] => SchedulerEvent::Cancel,
        _ => panic!("the line {words:?}"),
    }
}

fn terms(scheduler: &mut Scheduler, tool: &str, words: &[&str]) -> CallTerms {
    let (server, tool) = tool.split_once('.').unwrap_or(("s", tool));
    CallTerms {
        lane: scheduler.lane(&server.into(), &Arc::from(tool)),
        is_exclusive: words.contains(&"alone"),
        approval: words.contains(&"asks"),
        retry: RetryPolicy {
            attempts: option(words, "attempts").unwrap_or(NonZeroU32::MIN),
            delay: Duration::from_millis(option(words, "pause").unwrap_or(0)),
        },
        attempt_timeout: option(words, "each").map(Duration::from_millis),
        step_timeout: option(words, "whole").map(Duration::from_millis),
        retry_uncertain: !words.contains(&"once"),
    }
}

fn written(command: &SchedulerCommand) -> String {
    match command {
        SchedulerCommand::Prepare(task) => format!("prepare {}", task.0),
        SchedulerCommand::Ask(task) => format!("ask {}", task.0),
        SchedulerCommand::Call { task, attempt } => format!("call {}.{attempt}", task.0),
        SchedulerCommand::Abort { task, attempt } => format!("abort {}.{attempt}", task.0),
        SchedulerCommand::RetryLater {
            task,
            attempt,
            pause,
        } => format!("again after {}.{attempt} in {pause:?}", task.0),
        SchedulerCommand::SetTimer { task, timer, after } => {
            format!("set {} in {after:?}", timer_of(*task, *timer))
        }
        SchedulerCommand::ClearTimer(task, timer) => format!("clear {}", timer_of(*task, *timer)),
        SchedulerCommand::ChildSettled { group, child } => {
            format!("child {} of {}", child.0, group.0)
        }
        SchedulerCommand::Close(task) => format!("close {}", task.0),
        SchedulerCommand::Settled(task, by) => format!("settled {} by {by:?}", task.0),
    }
}

fn timer_of(task: TaskId, timer: Timer) -> String {
    match timer {
        Timer::Attempt(attempt) => format!("attempt {}.{attempt}", task.0),
        Timer::Pause(attempt) => format!("pause {}.{attempt}", task.0),
        Timer::Step => format!("step {}", task.0),
        Timer::Run => "run".to_owned(),
    }
}

fn option<T: FromStr>(words: &[&str], name: &str) -> Option<T> {
    let word = words
        .iter()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.and_then(|value| value.parse().ok())
}

fn number<T: FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("the number {word}"))
}

fn task(word: &str) -> TaskId {
    TaskId(number(word))
}

fn tasks(words: &[&str]) -> Vec<TaskId> {
    words.iter().map(|word| task(word)).collect()
}

fn attempt(word: &str) -> (TaskId, u32) {
    let (one, attempt) = word.split_once('.').expect("an attempt");
    (task(one), number(attempt))
}
