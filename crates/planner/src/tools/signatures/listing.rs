//! Listings of a catalog within a token budget. With a smaller budget, tools lose first their descriptions, then the types, then the
//! parameters, one tool after the other.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use indexmap::IndexMap;
use planwright_core::Tool;

use super::signature::{estimate_tokens, short_signature, signature, typed_signature};

/// The advice to a model that does not see all signatures.
const ADVICE: &str =
    "Some are shown in short: `search_tools` and `describe_tools` tell more about them.\n";

/// A listing of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolListing {
    /// The lines, one per tool or one per server.
    pub text: String,
    /// True if every tool is listed with its signature.
    pub is_whole: bool,
}

/// Lists `tools` in at most `budget` tokens: with signatures if they fit, else some with less, and with the advice to search. The smallest
/// listing has one line per server, even if it exceeds the budget.
///
/// The first tools of each server have the longest form.
pub fn listing<'a>(tools: impl IntoIterator<Item = &'a Arc<Tool>>, budget: usize) -> ToolListing {
    let tools: Vec<&Tool> = tools.into_iter().map(|tool| &**tool).collect();
    let whole: Vec<String> = tools.iter().map(|tool| signature(tool)).collect();
    if tokens(&whole) <= budget {
        return ToolListing {
            text: lines(&whole),
            is_whole: true,
        };
    }
    // The advice stands below each listing that is not whole.
    let budget = budget.saturating_sub(estimate_tokens(ADVICE));
    let typed: Vec<String> = tools.iter().map(|tool| typed_signature(tool)).collect();
    let short: Vec<String> = tools.iter().map(|tool| short_signature(tool)).collect();
    // The longest form that fits for all tools, and a longer one for some.
    let text = if tokens(&typed) <= budget {
        lines(&upgraded(&tools, typed, &whole, budget))
    } else if tokens(&short) <= budget {
        lines(&upgraded(&tools, short, &typed, budget))
    } else {
        with_names(&tools, &short, budget)
    };
    ToolListing {
        text: text + ADVICE,
        is_whole: false,
    }
}

fn lines(texts: &[String]) -> String {
    texts.iter().flat_map(|text| [text, "\n"]).collect()
}

/// Estimates the tokens of lines.
fn tokens(texts: &[String]) -> usize {
    texts.iter().map(|text| cost(text)).sum()
}

/// Estimates the tokens of a line with its end, as `o200k_base` counts them, rather too high than too low. Signatures have more punctuation than
/// prose: 3.7 to 4.6 bytes a token where tools have few parameters, fewer where names have digits and parameters have short names.
fn cost(text: &str) -> usize {
    let by_length = ((text.len() + 1) * 2).div_ceil(7);
    by_length.max(pieces(text) * 26 / 25 + 2)
}

/// The kind of a character, by which a tokenizer splits a text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Letter,
    Digit,
    Blank,
    Other,
}

/// Counts the pieces of a text, each about a token: words with what joins them, up to three digits, and other characters in a row.
fn pieces(text: &str) -> usize {
    let kind = |letter: char| match letter {
        letter if letter.is_ascii_digit() => Kind::Digit,
        letter if letter.is_whitespace() => Kind::Blank,
        letter if letter.is_alphabetic() => Kind::Letter,
        _ => Kind::Other,
    };
    let mut letters = text.chars().peekable();
    let mut count = 0;
    while let Some(first) = letters.next() {
        let of_first = kind(first);
        let mut length = 1;
        while letters.next_if(|next| kind(*next) == of_first).is_some() {
            length += 1;
        }
        let precedes_digit = letters.peek().is_some_and(char::is_ascii_digit);
        count += match of_first {
            Kind::Letter => usize::div_ceil(length, 8),
            Kind::Digit => usize::div_ceil(length, 3),
            Kind::Blank => 0,
            // The next word includes it.
            Kind::Other if length == 1 && (first == '.' || first == '_' && !precedes_digit) => 0,
            Kind::Other => 1,
        };
    }
    count
}

/// Replaces texts of `listed` by the longer ones in `better` as the budget allows.
fn upgraded(
    tools: &[&Tool],
    mut listed: Vec<String>,
    better: &[String],
    budget: usize,
) -> Vec<String> {
    let mut spent = tokens(&listed);
    for index in by_importance(tools) {
        let (Some(text), Some(better)) = (listed.get_mut(index), better.get(index)) else {
            continue;
        };
        let more = spent - cost(text) + cost(better);
        if more <= budget {
            spent = more;
            text.clone_from(better);
        }
    }
    listed
}

/// Lists the names of all tools that fit by server, and some tools in the form of `short`.
fn with_names(tools: &[&Tool], short: &[String], budget: usize) -> String {
    let max_names = tools.len();
    let named = |listed: &BTreeSet<usize>, max_names| {
        let mut servers: IndexMap<&str, Vec<&str>> = IndexMap::new();
        for (index, tool) in tools.iter().enumerate() {
            if !listed.contains(&index) {
                servers.entry(&tool.server).or_default().push(&tool.name);
            }
        }
        names(&servers, max_names)
    };
    let mut listed = BTreeSet::new();
    if estimate_tokens(&named(&listed, max_names)) > budget {
        // More names make a longer text, so that the largest number is found by bisection.
        let (mut fits, mut too_many) = (0, max_names);
        while too_many - fits > 1 {
            let middle = usize::midpoint(fits, too_many);
            if estimate_tokens(&named(&listed, middle)) <= budget {
                fits = middle;
            } else {
                too_many = middle;
            }
        }
        return named(&listed, fits);
    }
    let mut spent = 0;
    for index in by_importance(tools) {
        let cost = short.get(index).map_or(0, |text| cost(text));
        listed.insert(index);
        // A tool that is listed leaves the names of its server, so their text is measured anew.
        if spent + cost + estimate_tokens(&named(&listed, max_names)) <= budget {
            spent += cost;
        } else {
            listed.remove(&index);
        }
    }
    let some = listed.iter().filter_map(|index| short.get(*index).cloned());
    lines(&some.collect::<Vec<_>>()) + &named(&listed, max_names)
}

/// Returns the indices of all tools: the first of each server, then the second of each, and so on. Servers list their main tools
/// first.
fn by_importance(tools: &[&Tool]) -> Vec<usize> {
    let mut seen: IndexMap<&str, usize> = IndexMap::new();
    let mut ranks: Vec<(usize, usize)> = Vec::new();
    for (index, tool) in tools.iter().enumerate() {
        let rank = seen.entry(&tool.server).or_default();
        ranks.push((*rank, index));
        *rank += 1;
    }
    // By position within the server first, so that a server with many tools does not crowd out the others.
    ranks.sort_unstable();
    ranks.into_iter().map(|(_, index)| index).collect()
}

/// Lists the first `max_names` names of each server, or only their number if `max_names` is zero.
fn names(servers: &IndexMap<&str, Vec<&str>>, max_names: usize) -> String {
    let mut text = String::new();
    for (server, names) in servers {
        let count = names.len();
        let tools = if count == 1 { "tool" } else { "tools" };
        let _ = write!(text, "{server} ({count} {tools})");
        if max_names > 0 {
            text += ": ";
            text += &names[..count.min(max_names)].join(", ");
            if count > max_names {
                let _ = write!(text, ", … {} more", count - max_names);
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::cost;

    /// The tokens that `o200k_base` counts for lines with many pieces.
    #[test]
    fn the_cost_of_a_line_is_not_below_its_tokens() {
        let check = |line: &str, tokens: usize| {
            let cost = cost(line);
            assert!((tokens..=tokens * 5 / 4).contains(&cost), "{line}: {cost}");
        };
        check(
            "svc1.tool_10_list_invoices(facility: string, since?: string, limit?: integer = 20) [asks first]",
            29,
        );
        check(
            "svc4.tool_46_get_files(facility, since?, limit?) [asks first]",
            19,
        );
        check(
            "calendar.create_event(title: string, start: string, end?: string)  -- Create a calendar event [asks first]",
            25,
        );
    }
}
