//! The syntax tree of an expression. Operator chains are lists, so the tree is only as deep as brackets are nested.

use std::ops::Range;
use std::sync::Arc;

use regex::Regex;

use super::function::{BuiltinFunction, Search};
use super::operator::BinaryOperator;
use crate::Value;
use crate::plan::{Missing, Path, Read};

/// A node of the syntax tree.
#[derive(Clone, Debug)]
pub(crate) enum Tree {
    /// A constant value.
    Literal(Value),
    /// A read, as parsed. Binding replaces it by [`Tree::Bound`].
    Read(Box<Read>),
    /// The value of the binding `index`.
    Bound(usize),
    /// The variable of an enclosing loop; 0 means the innermost.
    LoopVariable(usize),
    /// A list of expressions.
    List(Vec<Tree>),
    /// An object of key and value expressions.
    Object(Vec<(Tree, Tree)>),
    /// A logical negation, `!`.
    Not(Box<Tree>),
    /// An arithmetic negation, `-`.
    Negate(Box<Tree>),
    /// Binary operators of one precedence, from left to right.
    Chain(Box<Tree>, Vec<(BinaryOperator, Tree)>),
    /// A conjunction, `&&`.
    And(Vec<Tree>),
    /// A disjunction, `||`.
    Or(Vec<Tree>),
    /// `condition ? value : condition ? value : … : otherwise`.
    Choice(Vec<(Tree, Tree)>, Box<Tree>),
    /// The first alternative that exists (`??`). Binding replaces it unless it uses the variable of an enclosing loop.
    FirstOf(Vec<CoalesceOperand>),
    /// A value with accessors applied in order.
    Access(Box<Tree>, Vec<Accessor>),
    /// A call of a global function.
    Call(&'static BuiltinFunction, Vec<Tree>),
    /// An existence test of a path, `has(…)`.
    Has(Box<Tree>),
}

/// An operand of `??`, with its source range.
#[derive(Clone, Debug)]
pub(crate) struct CoalesceOperand {
    pub(crate) tree: Tree,
    pub(crate) span: Range<usize>,
}

/// An operation on a value, written after it.
#[derive(Clone, Debug)]
pub(crate) enum Accessor {
    /// Selects the part at a constant path.
    Part(Path, Missing),
    /// Selects the item or field that a computed value names.
    Item(Box<Tree>),
    /// Calls a method.
    Call(&'static BuiltinFunction, Vec<Tree>),
    /// Searches for a constant pattern.
    Search(Search, Arc<Regex>),
    /// Runs a loop over the items of a list or the keys of an object.
    Loop(Loop, Vec<Tree>),
}

/// Adds a part to a list. Most lists of a tree have one part, so a list begins with room for one only: a plan may have
/// thousands of expressions.
pub(super) fn add<T>(list: &mut Vec<T>, part: T) {
    if list.is_empty() {
        list.reserve_exact(1);
    }
    list.push(part);
}

/// The kind of a loop. The loop variable is the innermost local in its expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Loop {
    /// Tests if the condition holds for every item.
    All,
    /// Tests if the condition holds for at least one item.
    Exists,
    /// Tests if the condition holds for exactly one item.
    ExistsOne,
    /// Selects the items for which the condition holds.
    Filter,
    /// Maps every item; with two expressions, only items for which the first one holds.
    Map,
    /// Sorts the items by a key.
    SortBy,
    /// Groups the items by a key.
    GroupBy,
}

impl Loop {
    /// All loops.
    pub(crate) const ALL: [Self; 7] = [
        Self::Filter,
        Self::Map,
        Self::Exists,
        Self::All,
        Self::ExistsOne,
        Self::SortBy,
        Self::GroupBy,
    ];

    /// Returns the loop called `name`, with the minimum and maximum number of its expressions.
    pub(crate) fn named(name: &str) -> Option<(Self, usize, usize)> {
        let name = match name {
            "existsOne" => "exists_one",
            "group_by" => "groupBy",
            name => name,
        };
        let found = Self::ALL.into_iter().find(|found| found.name() == name)?;
        Some((found, 1, if found == Self::Map { 2 } else { 1 }))
    }

    /// Returns the name of the loop.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Exists => "exists",
            Self::ExistsOne => "exists_one",
            Self::Filter => "filter",
            Self::Map => "map",
            Self::SortBy => "sortBy",
            Self::GroupBy => "groupBy",
        }
    }

    /// Returns true if the loop also goes over the keys of an object. These have no order, and are not items to group.
    pub(crate) fn takes_objects(self) -> bool {
        !matches!(self, Self::SortBy | Self::GroupBy)
    }
}
