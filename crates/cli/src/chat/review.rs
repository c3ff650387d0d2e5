//! A person looks at a plan before it runs: run it, edit it, ask for changes, or refuse it.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;

use planwright::core::check::CheckedPlan;
use planwright::loaded_plan::LoadedPlan;

use super::context::ChatContext;
use crate::approval::consent::show;
use crate::error::reason;
use crate::system::environment;
use crate::view::diagnostics;
use crate::view::printer::terminal;

/// The person's choice.
pub(super) enum Reviewed {
    Run,
    /// The plan as they wrote it, which is sound.
    Edited(String),
    /// A change that the person asks for, in their words.
    Change(String),
    No,
}

/// Reads and checks a text.
pub(super) type Judge<'a> = dyn Fn(&str) -> (LoadedPlan, Option<CheckedPlan>) + Sync + 'a;

/// Shows `plan`, whose text is `text`, and asks for a decision about it.
pub(super) async fn review(
    context: &ChatContext<'_>,
    plan: &CheckedPlan,
    text: &str,
    judge: &Judge<'_>,
) -> Reviewed {
    let _turn = context.turn.lock().await;
    let printer = context.printer;
    show(plan, printer);
    let mut text: Arc<str> = text.into();
    let mut is_edited = false;
    loop {
        let choices = "run this plan? [r]un, [e]dit, ask for [c]hanges, [n]o: ";
        let Some(answer) = ask(choices).await else {
            return Reviewed::No;
        };
        match answer.to_lowercase().as_str() {
            "r" | "run" | "y" | "yes" if is_edited => return Reviewed::Edited(text.to_string()),
            "r" | "run" | "y" | "yes" => return Reviewed::Run,
            "n" | "no" => return Reviewed::No,
            "c" | "change" | "changes" => match ask("what is to be different: ").await {
                Some(change) if !change.is_empty() => return Reviewed::Change(change),
                _ => {}
            },
            "e" | "edit" => {
                let before = Arc::clone(&text);
                let edited = tokio::task::spawn_blocking(move || edit(&before)).await;
                match edited {
                    Ok(Ok(edited)) => {
                        let (loaded, plan) = judge(&edited);
                        diagnostics::show(&loaded.diagnostics, &loaded.texts, printer);
                        if let Some(plan) = plan {
                            show(&plan, printer);
                            text = edited.into();
                            is_edited = true;
                        } else {
                            printer.status("the edited plan has errors; the previous one is kept");
                        }
                    }
                    Ok(Err(error)) => printer.quote(&format!("error: {error}")),
                    Err(_) => return Reviewed::No,
                }
            }
            _ => {}
        }
    }
}

/// Asks a question on the terminal; `None` if there is no answer.
async fn ask(question: &'static str) -> Option<String> {
    let asked = tokio::task::spawn_blocking(move || {
        let terminal = terminal().ok()?;
        write!(&terminal, "{question}")
            .and_then(|()| (&terminal).flush())
            .ok()?;
        let answer = BufReader::new(&terminal).lines().next()?.ok()?;
        Some(answer.trim().to_owned())
    });
    asked.await.ok().flatten()
}

/// Lets the person change a text in their editor.
fn edit(text: &str) -> Result<String, String> {
    let editor = ["VISUAL", "EDITOR"]
        .into_iter()
        .filter_map(environment::variable)
        .find(|editor| !editor.trim().is_empty())
        .unwrap_or_else(|| "vi".to_owned());
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let failed = |error: std::io::Error| format!("`{editor}` cannot be run: {}", reason(&error));
    let mut file = tempfile::Builder::new()
        .prefix("plan-")
        .suffix(".json")
        .tempfile()
        .map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.flush().map_err(failed)?;
    let on_terminal = |terminal: &File| terminal.try_clone().map(Stdio::from);
    let terminal = terminal().map_err(failed)?;
    let status = Command::new(program)
        .args(words)
        .arg(file.path())
        .stdin(on_terminal(&terminal).map_err(failed)?)
        .stdout(on_terminal(&terminal).map_err(failed)?)
        .stderr(on_terminal(&terminal).map_err(failed)?)
        .status()
        .map_err(failed)?;
    if !status.success() {
        return Err(format!("`{editor}` ended with {status}"));
    }
    std::fs::read_to_string(file.path()).map_err(failed)
}
