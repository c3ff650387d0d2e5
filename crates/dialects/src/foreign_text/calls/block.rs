//! Conditions and loops around calls: the fields that express the same for each step in them.

use std::collections::HashSet;

use super::statement::CallStatement;
use super::values::{condition, expression};

/// The open blocks. A plan can express one level of conditions, and loops over one call.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    open: Option<Block>,
    /// The condition of the last block, for an `else`.
    last: Option<String>,
}

/// A block that no field of a step expresses.
#[derive(Debug)]
pub(super) struct Inexpressible;

#[derive(Debug)]
struct Block {
    kind: BlockKind,
    indentation: usize,
    has_brace: bool,
    steps: usize,
}

#[derive(Debug)]
enum BlockKind {
    /// The condition, as an expression.
    When(String),
    /// The name of the item, and the list as an expression.
    ForEach(String, String),
}

impl Blocks {
    pub(super) fn are_open(&self) -> bool {
        self.open.is_some()
    }

    /// Returns true if the block is complete at the end of the text.
    pub(super) fn are_closed(&self) -> bool {
        self.open
            .as_ref()
            .is_none_or(|block| !block.has_brace && block.steps > 0)
    }

    /// Takes a line; returns true if it only opens or closes a block. `None` if the plan could not express the block.
    pub(super) fn line(
        &mut self,
        line: &str,
        indentation: usize,
        ids: &HashSet<String>,
    ) -> Option<bool> {
        let mut line = line;
        if let Some(block) = &self.open {
            let closes = if block.has_brace {
                line.starts_with('}')
            } else {
                indentation <= block.indentation
            };
            if closes {
                if block.steps == 0 {
                    return None;
                }
                self.last = match &block.kind {
                    BlockKind::When(condition) => Some(condition.clone()),
                    BlockKind::ForEach(..) => None,
                };
                let had_brace = block.has_brace;
                self.open = None;
                if had_brace {
                    line = line[1..].trim_start();
                    if line.is_empty() {
                        return Some(true);
                    }
                }
            }
        }
        let Some(kind) = self.head(line, ids).ok()? else {
            if self.open.is_none() {
                self.last = None;
            }
            return Some(false);
        };
        if self.open.is_some() {
            return None;
        }
        self.open = Some(Block {
            kind,
            indentation,
            has_brace: line.ends_with('{'),
            steps: 0,
        });
        Some(true)
    }

    /// The block that `line` opens; `None` if it opens none.
    fn head(&self, line: &str, ids: &HashSet<String>) -> Result<Option<BlockKind>, Inexpressible> {
        let Some(head) = line.strip_suffix([':', '{']).map(str::trim) else {
            return Ok(None);
        };
        if head == "else" {
            let condition = self.last.as_ref().ok_or(Inexpressible)?;
            return Ok(Some(BlockKind::When(format!("!({condition})"))));
        }
        let word = head.split([' ', '(']).next().unwrap_or_default();
        let rest = head[word.len()..].trim();
        let is_enclosed =
            rest.starts_with('(') && super::values::closing(rest) == Some(rest.len() - 1);
        let rest = if is_enclosed {
            &rest[1..rest.len() - 1]
        } else {
            rest
        };
        match word {
            "if" => {
                let condition = condition(rest, ids).ok_or(Inexpressible)?;
                Ok(Some(BlockKind::When(condition)))
            }
            "for" => {
                let declared = ["const ", "let ", "var "]
                    .iter()
                    .find_map(|word| rest.strip_prefix(word));
                // `for (const key in list)` goes over the positions.
                let pair = match declared {
                    Some(rest) => rest.split_once(" of "),
                    None => rest.split_once(" in ").or_else(|| rest.split_once(" of ")),
                };
                let (name, list) = pair.ok_or(Inexpressible)?;
                let name = name.trim();
                let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
                let list = expression(list, ids).filter(|_| is_name);
                let list = list.ok_or(Inexpressible)?;
                Ok(Some(BlockKind::ForEach(name.to_owned(), list)))
            }
            "else" | "elif" | "unless" | "until" | "otherwise" | "match" | "case" | "repeat"
            | "loop" | "while" | "with" | "try" | "except" | "finally" | "def" | "async"
            | "class" | "switch" | "}" | "function" => Err(Inexpressible),
            _ => Ok(None),
        }
    }

    /// The names that are known inside of the open block only.
    pub(super) fn item_name(&self) -> Option<&str> {
        match &self.open.as_ref()?.kind {
            BlockKind::ForEach(name, _) => Some(name),
            BlockKind::When(_) => None,
        }
    }

    /// The field that expresses the open block for `statement`; `None` outside of blocks.
    pub(super) fn field(
        &mut self,
        statement: &CallStatement,
    ) -> Result<Option<String>, Inexpressible> {
        let Some(block) = &mut self.open else {
            return Ok(None);
        };
        block.steps += 1;
        if !statement.is_single_call() {
            return Err(Inexpressible);
        }
        match &block.kind {
            BlockKind::When(condition) => Ok(Some(format!("\"when\": ${{{condition}}}"))),
            // Steps that use each other's results for the same item need an inner plan.
            BlockKind::ForEach(..) if block.steps > 1 => Err(Inexpressible),
            BlockKind::ForEach(name, list) => {
                let over = format!("\"for_each\": ${{{list}}}, \"as\": \"{name}\"");
                let fields = [over].into_iter().chain(statement.one_after_the_other());
                Ok(Some(fields.collect::<Vec<_>>().join(", ")))
            }
        }
    }
}
