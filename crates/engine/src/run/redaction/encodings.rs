//! Encodings in which a secret may appear: percent-encoding, JSON escapes, hexadecimal, base64.

/// A character with an equivalent one.
#[derive(Clone, Copy, Debug)]
pub(super) struct PatternChar(pub(super) char, pub(super) Option<char>);

impl PatternChar {
    pub(super) fn letters(self) -> impl Iterator<Item = char> {
        [Some(self.0), self.1].into_iter().flatten()
    }

    /// The end of the verbatim character.
    pub(super) fn plain_at(self, text: &[u8], at: usize) -> Option<usize> {
        self.letters().find_map(|letter| {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).as_bytes();
            text.get(at..)?
                .starts_with(bytes)
                .then_some(at + bytes.len())
        })
    }

    /// All possible ends of the character, over all encodings.
    pub(super) fn each_end(self, text: &[u8], at: usize, ends: &mut Vec<usize>) {
        ends.extend(self.plain_at(text, at));
        for letter in self.letters() {
            if letter == ' '
                && let Some((b'+', end)) = read(text, at)
            {
                ends.push(end);
            }
            ends.extend(percent_encoded(letter, text, at));
            each_escape(letter, text, at, ends);
        }
    }
}

/// The possible ends of `letter` in percent-encoding.
fn percent_encoded(letter: char, text: &[u8], at: usize) -> Vec<usize> {
    // The bytes of one character may be encoded to different depths, so each of them adds its own possible ends.
    let mut ends = vec![at];
    for byte in letter.encode_utf8(&mut [0; 4]).bytes() {
        let next = ends
            .iter()
            .flat_map(|at| percent_encoded_byte(byte, text, *at));
        ends = next.collect();
    }
    ends
}

fn percent_encoded_byte(byte: u8, text: &[u8], at: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    if text.get(at) != Some(&b'%') {
        return ends;
    }
    let mut digits = at + 1;
    for _ in 0..MAX_PERCENT_NESTING {
        if hexadecimal(text, digits, 2) == Some(u32::from(byte)) {
            ends.push(digits + 2);
        }
        // The percent sign may itself be encoded.
        if text.get(digits..digits + 2) != Some(b"25") {
            break;
        }
        digits += 2;
    }
    ends
}

/// The possible ends of `letter` as a JSON escape, which may be percent-encoded.
fn each_escape(letter: char, text: &[u8], at: usize, ends: &mut Vec<usize>) {
    let slashes = backslashes(text, at);
    let Some(behind) = slashes.last().copied() else {
        return;
    };
    if letter == '\\' {
        // Each level of nesting doubles them.
        let doubled = [2, 4, 8, 16, 32, 64_usize];
        ends.extend(doubled.iter().filter_map(|count| slashes.get(count - 1)));
    } else if let Some(short) = short_escape(letter)
        && let Some((byte, end)) = read(text, behind)
        && byte == short
    {
        ends.push(end);
    }
    // JSON escapes a character beyond the basic plane as two units, a surrogate pair.
    let mut end = at;
    for unit in letter.encode_utf16(&mut [0; 2]) {
        let is_unit = |digits: &usize| {
            text.get(digits - 1) == Some(&b'u')
                && hexadecimal(text, *digits, 4) == Some(u32::from(*unit))
        };
        let digits = backslashes(text, end).last().map(|behind| behind + 1);
        let Some(digits) = digits.filter(is_unit) else {
            return;
        };
        end = digits + 4;
    }
    ends.push(end);
}

fn short_escape(letter: char) -> Option<u8> {
    Some(match letter {
        '"' | '/' => u8::try_from(letter).ok()?,
        '\n' => b'n',
        '\r' => b'r',
        '\t' => b't',
        '\u{8}' => b'b',
        '\u{c}' => b'f',
        _ => return None,
    })
}

/// The ends of the backslashes at `at`.
fn backslashes(text: &[u8], mut at: usize) -> Vec<usize> {
    let mut ends = Vec::new();
    while ends.len() < MAX_BACKSLASHES
        && let Some((b'\\', end)) = read(text, at)
    {
        ends.push(end);
        at = end;
    }
    ends
}

/// Returns the position after the line breaks at `at`, which may be escaped.
pub(super) fn after_line_breaks(text: &[u8], mut at: usize) -> usize {
    loop {
        let slashes = backslashes(text, at);
        let letter = slashes.last().copied().unwrap_or(at);
        at = match read(text, letter) {
            Some((b'\r' | b'\n', end)) if slashes.is_empty() => end,
            Some((b'r' | b'n', end)) if !slashes.is_empty() => end,
            _ => return at,
        };
    }
}

/// The byte at `at`, which may be percent-encoded, and its end.
fn read(text: &[u8], at: usize) -> Option<(u8, usize)> {
    let first = *text.get(at)?;
    if first != b'%' {
        return Some((first, at + 1));
    }
    let mut digits = at + 1;
    for _ in 0..MAX_PERCENT_NESTING {
        let byte = u8::try_from(hexadecimal(text, digits, 2)?).ok()?;
        // An encoded percent sign with two digits behind it is the next level of encoding.
        if byte != b'%' || hexadecimal(text, digits + 2, 2).is_none() {
            return Some((byte, digits + 2));
        }
        digits += 2;
    }
    None
}

/// The number written with `length` hexadecimal digits.
pub(super) fn hexadecimal(text: &[u8], at: usize, length: usize) -> Option<u32> {
    let digits = text.get(at..at + length)?;
    digits.iter().try_fold(0, |number, digit| {
        Some(number * 16 + char::from(*digit).to_digit(16)?)
    })
}

/// The base64 character at a position, in both alphabets.
pub(super) fn sextet(bytes: &[u8], at: usize) -> PatternChar {
    let bit = |at: usize| {
        bytes
            .get(at / 8)
            .is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
    };
    let value = (0..6).fold(0_u8, |value, offset| {
        value << 1 | u8::from(bit(at * 6 + offset))
    });
    match value {
        0..26 => PatternChar(char::from(b'A' + value), None),
        26..52 => PatternChar(char::from(b'a' + value - 26), None),
        52..62 => PatternChar(char::from(b'0' + value - 52), None),
        62 => PatternChar('+', Some('-')),
        _ => PatternChar('/', Some('_')),
    }
}

/// The text as JSON escapes it, without the quotation marks.
pub(super) fn escaped(text: &str) -> String {
    let json = planwright_core::Value::from(text).to_json();
    let inner = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.unwrap_or(text).to_owned()
}

/// The maximum number of backslashes before one character: JSON nested in JSON five times.
const MAX_BACKSLASHES: usize = 64;

/// The maximum number of times that a percent sign is itself encoded.
const MAX_PERCENT_NESTING: usize = 8;
