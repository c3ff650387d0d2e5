//! The difference in a file, without its secrets.

use planwright::core::Value;

/// The number of lines that are shown around a change.
const AROUND: usize = 2;

/// The lines that differ between two texts, as one stretch: what goes behind `-`, what comes behind `+`. Values in `env` and
/// `headers` of `servers` are not shown.
pub(super) fn difference(before: &str, after: &str, servers: &Value) -> Vec<String> {
    let hidden = hidden(servers);
    let shown = |sign: char, line: &str| {
        let line = hidden
            .iter()
            .fold(line.to_owned(), |line, value| line.replace(value, "\"…\""));
        format!("{sign} {line}").trim_end().to_owned()
    };
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let pairs = old.iter().zip(&new);
    let start = pairs.take_while(|(old, new)| old == new).count();
    let pairs = old[start..].iter().rev().zip(new[start..].iter().rev());
    let end = pairs.take_while(|(old, new)| old == new).count();
    let (old_end, new_end) = (old.len() - end, new.len() - end);
    let around_before = &old[start.saturating_sub(AROUND)..start];
    let around_after = &old[old_end..old.len().min(old_end + AROUND)];
    let common =
        |lines: &[&str]| -> Vec<String> { lines.iter().map(|line| shown(' ', line)).collect() };
    let gone = old[start..old_end].iter().map(|line| shown('-', line));
    let come = new[start..new_end].iter().map(|line| shown('+', line));
    let mut lines = common(around_before);
    lines.extend(gone.chain(come));
    lines.extend(common(around_after));
    lines
}

/// The values of environment variables and headers, as JSON texts.
fn hidden(servers: &Value) -> Vec<String> {
    let servers = servers.as_object().into_iter().flatten();
    let tables = servers.flat_map(|(_, server)| [server.get("env"), server.get("headers")]);
    let fields = tables.flatten().filter_map(Value::as_object).flatten();
    let texts = fields.filter_map(|(_, value)| value.as_text().filter(|text| !text.is_empty()));
    texts.map(|text| Value::text(text).to_json()).collect()
}
