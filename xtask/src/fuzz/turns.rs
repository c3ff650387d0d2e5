//! Execution of targets, as many at once as there are processors.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::{slice, thread};

use super::{artifacts, binary, corpus, explain, home};
use crate::project::Project;

/// The limits for libFuzzer: seconds for one input, megabytes of memory, bytes of one input.
const BOUNDS: &[&str] = &["-timeout=10", "-rss_limit_mb=2048", "-max_len=16384"];

/// Fuzzes `targets` for `seconds` each, and returns those for which an input was found.
///
/// # Errors
///
/// A file cannot be written, or a process cannot be started.
pub(super) fn run<'a>(
    project: &Project,
    targets: &[&'a String],
    seconds: u32,
) -> Result<Vec<&'a str>, String> {
    let waiting = Mutex::new(targets.iter());
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let mut found = thread::scope(|scope| {
        let workers: Vec<_> = (0..workers.min(targets.len()))
            .map(|_| scope.spawn(|| work(project, &waiting, seconds)))
            .collect();
        let mut found = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(done) => found.extend(done?),
                Err(_) => return Err("a target broke off".to_owned()),
            }
        }
        Ok(found)
    })?;
    found.sort_unstable();
    Ok(found)
}

/// Fuzzes targets from the queue until it is empty.
fn work<'a>(
    project: &Project,
    waiting: &Mutex<slice::Iter<'_, &'a String>>,
    seconds: u32,
) -> Result<Vec<&'a str>, String> {
    let next = || waiting.lock().ok()?.next().copied();
    let mut found = Vec::new();
    while let Some(target) = next() {
        if !fuzz(project, target, seconds)? {
            found.push(target.as_str());
        }
    }
    Ok(found)
}

/// Returns true if no input was found for `target`.
fn fuzz(project: &Project, target: &str, seconds: u32) -> Result<bool, String> {
    let artifacts = artifacts(project).join(target);
    let log = home(project).join("logs").join(format!("{target}.txt"));
    for folder in [Some(artifacts.as_path()), log.parent()]
        .into_iter()
        .flatten()
    {
        fs::create_dir_all(folder).map_err(|error| explain(folder, &error))?;
    }
    let output = File::create(&log).map_err(|error| explain(&log, &error))?;
    let errors = output.try_clone().map_err(|error| explain(&log, &error))?;
    println!("{target}: {seconds} s");
    let program = binary(project);
    let status = Command::new(&program)
        .env("PLANWRIGHT_FUZZ_TARGET", target)
        .args(BOUNDS)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg(format!(
            "-dict={}",
            project.root.join("fuzz/words.dict").display()
        ))
        .args(["-print_final_stats=1", "-verbosity=0"])
        .arg(corpus(project, target))
        .current_dir(&project.root)
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|error| explain(&program, &error))?;
    let statistics = fs::read(&log).map_err(|error| explain(&log, &error))?;
    let statistics = String::from_utf8_lossy(&statistics);
    let inputs = figure(&statistics, "number_of_executed_units").unwrap_or("no count of");
    let memory = figure(&statistics, "peak_rss_mb").unwrap_or("unknown");
    println!("{target}: {inputs} inputs, at most {memory} MB");
    if !status.success() {
        println!("{target}: {status}, see `{}`", log.display());
    }
    Ok(status.success())
}

/// Returns a figure that libFuzzer prints at its end.
fn figure<'a>(statistics: &'a str, name: &str) -> Option<&'a str> {
    let after = statistics.rsplit_once(&format!("stat::{name}:"))?.1;
    after.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures_are_found_by_name() {
        let statistics = "Done 9 runs\nstat::number_of_executed_units: 912\nstat::peak_rss_mb:              41\n";
        assert_eq!(figure(statistics, "number_of_executed_units"), Some("912"));
        assert_eq!(figure(statistics, "peak_rss_mb"), Some("41"));
        assert_eq!(figure(statistics, "new_units_added"), None);
    }
}
