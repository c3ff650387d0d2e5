//! Fenced blocks of documentation pages, which tests verify.

/// A fenced block of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block<'a> {
    /// The words after the opening backticks, such as `json` and `wrong`.
    pub words: Vec<&'a str>,
    /// The content, with a final line break.
    pub content: &'a str,
    /// The line of the opening backticks, from 1.
    pub line: usize,
}

/// The fenced blocks of a page in order.
///
/// # Panics
///
/// If a block is not closed: everything after it would be untested.
pub fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<(&str, usize, usize)> = None;
    let mut start = 0;
    for (index, line) in page.split_inclusive('\n').enumerate() {
        let next = start + line.len();
        if let Some(words) = line.trim_end().strip_prefix("```") {
            match open.take() {
                Some((words, line, from)) => blocks.push(Block {
                    words: words.split_whitespace().collect(),
                    content: &page[from..start],
                    line,
                }),
                None => open = Some((words, index + 1, next)),
            }
        }
        start = next;
    }
    if let Some((words, line, _)) = open {
        panic!("the block `{words}` of line {line} is never closed");
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found() {
        let page = "# A\n```json wrong any\n{\n}\n```\ntext\n```\n```\n";
        let expected = [
            Block {
                words: vec!["json", "wrong", "any"],
                content: "{\n}\n",
                line: 2,
            },
            Block {
                words: vec![],
                content: "",
                line: 7,
            },
        ];
        assert_eq!(blocks(page), expected);
    }

    #[test]
    #[should_panic(expected = "the block `json` of line 2 is never closed")]
    fn an_open_block_is_no_block() {
        blocks("a\n```json\n{}\n");
    }
}
