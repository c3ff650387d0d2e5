//! A JSON object with comments, as a list of its members with their places in the text.

use planwright::core::Value;

/// An object within a text.
#[derive(Clone, Debug)]
pub(crate) struct ObjectText {
    /// The text before it in the file, its opening bracket included.
    pub(crate) head: String,
    pub(crate) members: Vec<Member>,
    /// The text behind its last member: a comment, perhaps, and the space before the closing bracket.
    pub(crate) foot: String,
    /// The closing bracket, and all behind it.
    pub(crate) rest: String,
    /// True if a comma stands behind the last member.
    trailing_comma: bool,
}

/// A member, with the blanks and comments that go with it. All members and what is around them make up the text again.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) value: Value,
    /// The text before the name.
    pub(crate) lead: String,
    /// The name as it is written.
    pub(crate) written: String,
    /// From the colon to the end of the value, and on to the comma.
    pub(crate) body: String,
    /// The text behind the comma on the same line.
    pub(crate) tail: String,
}

impl ObjectText {
    /// The object that `path` leads to; nothing where there is none.
    ///
    /// # Errors
    ///
    /// What is the matter with a text that is not JSON with comments.
    pub(crate) fn find(text: &str, path: &[&str]) -> Result<Option<Self>, String> {
        let tokens = tokens(text)?;
        let mut reader = Reader {
            text,
            tokens: &tokens,
        };
        Ok(reader.find(path))
    }

    /// The text that it is a part of.
    pub(crate) fn text(&self) -> String {
        let mut text = self.head.clone();
        for (index, member) in self.members.iter().enumerate() {
            let next = self.members.get(index + 1).map(|next| next.lead.as_str());
            text += &member.lead;
            text += &member.written;
            text += &member.body;
            if next.is_some() || self.trailing_comma {
                text.push(',');
            }
            text += &member.tail;
            // A comment that ends with its line must not swallow what now stands behind it.
            let behind = next.unwrap_or(&self.foot);
            if member.tail.contains("//") && !behind.starts_with(['\n', '\r']) {
                text.push('\n');
            }
        }
        text + &self.foot + &self.rest
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }
}

impl Member {
    /// A member that stands where `lead` leads, with a value that is written so.
    pub(crate) fn new(lead: &str, name: &str, value: Value, written: &str) -> Self {
        Self {
            name: name.to_owned(),
            value,
            lead: lead.to_owned(),
            written: Value::text(name).to_json(),
            body: format!(": {written}"),
            tail: String::new(),
        }
    }

    /// The same under another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            written: Value::text(name).to_json(),
            ..self.clone()
        }
    }

    /// The blanks before it: a line break and its indentation, where it begins a line.
    pub(crate) fn blanks(&self) -> &str {
        let at = self.lead.rfind('\n').unwrap_or(0);
        let at = if self.lead[..at].ends_with('\r') {
            at - 1
        } else {
            at
        };
        let blanks = &self.lead[at..];
        if blanks.trim().is_empty() {
            blanks
        } else {
            " "
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: &'a [JsonToken],
}

/// The place of a member, by the indices of tokens.
struct Spot {
    name: usize,
    value: usize,
    /// The one behind the value.
    end: usize,
    comma: Option<usize>,
}

impl Reader<'_> {
    fn find(&mut self, path: &[&str]) -> Option<ObjectText> {
        let mut at = self.next(0)?;
        for name in path {
            let (spots, _) = self.members(at)?;
            // Of two members with one name the later one counts.
            let mut found = spots.iter().rev();
            at = found
                .find(|spot| self.name(spot.name).as_deref() == Some(name))?
                .value;
        }
        let (spots, close) = self.members(at)?;
        Some(self.object(at, &spots, close))
    }

    fn object(&self, open: usize, spots: &[Spot], close: usize) -> ObjectText {
        let mut start = self.tokens[open].end;
        let mut members = Vec::new();
        for spot in spots {
            let name = self.tokens[spot.name];
            let end = spot.comma.map_or(self.tokens[spot.end - 1].end, |comma| {
                self.tokens[comma].start
            });
            let behind = spot.comma.map_or(end, |comma| self.tokens[comma].end);
            let tail = self.line_end(spot.comma.map_or(spot.end, |comma| comma + 1), behind);
            members.push(Member {
                name: self.name(spot.name).unwrap_or_default(),
                value: self.value(spot.value..spot.end),
                lead: self.text[start..name.start].to_owned(),
                written: self.text[name.start..name.end].to_owned(),
                body: self.text[name.end..end].to_owned(),
                tail: self.text[behind..tail].to_owned(),
            });
            start = tail;
        }
        let close = self.tokens[close].start;
        ObjectText {
            head: self.text[..self.tokens[open].end].to_owned(),
            members,
            foot: self.text[start..close].to_owned(),
            rest: self.text[close..].to_owned(),
            trailing_comma: spots.last().is_some_and(|spot| spot.comma.is_some()),
        }
    }

    /// Returns the end of a comment on the rest of the line from the token `at` on; `from` if there is none.
    fn line_end(&self, at: usize, from: usize) -> usize {
        let mut end = from;
        for token in self.tokens.get(at..).unwrap_or_default() {
            let text = &self.text[token.start..token.end];
            match token.kind {
                JsonTokenKind::Comment if !text.contains('\n') => end = token.end,
                JsonTokenKind::Blank if !text.contains('\n') => {}
                JsonTokenKind::Blank => return end,
                // The comment goes with what stands behind it on the line.
                _ => return from,
            }
        }
        end
    }

    /// The members of the object that begins with the token `open`, and the token that closes it.
    fn members(&self, open: usize) -> Option<(Vec<Spot>, usize)> {
        if self.tokens.get(open)?.kind != JsonTokenKind::Open(b'{') {
            return None;
        }
        let mut spots: Vec<Spot> = Vec::new();
        let mut at = self.next(open + 1)?;
        loop {
            match self.tokens.get(at)?.kind {
                JsonTokenKind::Close => return Some((spots, at)),
                JsonTokenKind::Comma => {
                    spots.last_mut()?.comma = Some(at);
                    at = self.next(at + 1)?;
                }
                _ => {
                    let colon = self.next(at + 1)?;
                    let value = self.next(colon + 1)?;
                    let end = self.behind(value)?;
                    spots.push(Spot {
                        name: at,
                        value,
                        end,
                        comma: None,
                    });
                    at = self.next(end)?;
                }
            }
        }
    }

    /// The token behind the value that begins with the token `at`.
    fn behind(&self, at: usize) -> Option<usize> {
        let mut depth = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            match token.kind {
                JsonTokenKind::Open(_) => depth += 1,
                JsonTokenKind::Close => depth = depth.checked_sub(1)?,
                _ => {}
            }
            if depth == 0 {
                return Some(index + 1);
            }
        }
        None
    }

    /// The first token from `at` on that counts.
    fn next(&self, at: usize) -> Option<usize> {
        let rest = self.tokens.get(at..)?;
        Some(at + rest.iter().position(|token| token.counts())?)
    }

    fn name(&self, at: usize) -> Option<String> {
        let name = self.value(at..at + 1);
        name.as_text().map(str::to_owned)
    }

    fn value(&self, tokens: std::ops::Range<usize>) -> Value {
        let text = plain(self.text, &self.tokens[tokens]);
        Value::from_json(&text).unwrap_or_default()
    }
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonTokenKind {
    /// `{` or `[`.
    Open(u8),
    /// `}` or `]`.
    Close,
    Colon,
    Comma,
    Text,
    /// A number, `true`, `false`, `null`, or what is none of them.
    Bare,
    /// White space.
    Blank,
    Comment,
}

/// A token: `start..end` in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct JsonToken {
    pub(crate) kind: JsonTokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl JsonToken {
    /// Returns whether it stands for something, where blanks and comments do not.
    pub(crate) fn counts(self) -> bool {
        !matches!(self.kind, JsonTokenKind::Blank | JsonTokenKind::Comment)
    }
}

/// All tokens of `text`, without a gap between them.
///
/// # Errors
///
/// What is the matter, where the text is not JSON with comments.
pub(crate) fn tokens(text: &str) -> Result<Vec<JsonToken>, String> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        let (kind, length) = token(first, rest);
        tokens.push(JsonToken {
            kind,
            start,
            end: start + length,
        });
        start += length;
    }
    Value::from_json(&plain(text, &tokens)).map_err(|error| {
        // The place would be that in a text without comments.
        let error = error.to_string();
        error
            .rsplit_once(" at line ")
            .map_or(error.clone(), |(what, _)| what.to_owned())
    })?;
    Ok(tokens)
}

/// The value that `tokens` make, as plain JSON: without comments, blanks and commas before a closing bracket.
pub(crate) fn plain(text: &str, tokens: &[JsonToken]) -> String {
    let mut plain = String::new();
    let mut counting = tokens.iter().filter(|token| token.counts()).peekable();
    while let Some(token) = counting.next() {
        let closes = counting
            .peek()
            .is_some_and(|next| next.kind == JsonTokenKind::Close);
        if !(token.kind == JsonTokenKind::Comma && closes) {
            plain += &text[token.start..token.end];
            // Two bare words must not grow together.
            if token.kind == JsonTokenKind::Bare {
                plain.push(' ');
            }
        }
    }
    plain
}

fn token(first: char, rest: &str) -> (JsonTokenKind, usize) {
    match first {
        '{' | '[' => (JsonTokenKind::Open(rest.as_bytes()[0]), 1),
        '}' | ']' => (JsonTokenKind::Close, 1),
        ':' => (JsonTokenKind::Colon, 1),
        ',' => (JsonTokenKind::Comma, 1),
        '"' => (JsonTokenKind::Text, text_length(rest)),
        '/' if rest.starts_with("//") => (
            JsonTokenKind::Comment,
            rest.find('\n').unwrap_or(rest.len()),
        ),
        '/' if rest.starts_with("/*") => {
            let end = rest[2..].find("*/").map_or(rest.len(), |end| end + 4);
            (JsonTokenKind::Comment, end)
        }
        first if is_blank(first) => (
            JsonTokenKind::Blank,
            rest.find(|letter| !is_blank(letter)).unwrap_or(rest.len()),
        ),
        first => {
            let ends = |letter: char| is_blank(letter) || "{}[]:,\"/".contains(letter);
            let behind = rest[first.len_utf8()..].find(ends);
            (
                JsonTokenKind::Bare,
                behind.map_or(rest.len(), |behind| behind + first.len_utf8()),
            )
        }
    }
}

/// A file may begin with a byte order mark.
fn is_blank(letter: char) -> bool {
    matches!(letter, ' ' | '\t' | '\n' | '\r' | '\u{feff}')
}

fn text_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, letter) in rest.char_indices().skip(1) {
        match letter {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}
