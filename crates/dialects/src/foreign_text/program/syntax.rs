//! The parts of a program.

use planwright_core::Value;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) enum Expression {
    Literal(Value),
    /// A text with inserted values.
    Template(Vec<Expression>),
    Name(String),
    Field(Box<Expression>, String),
    Index(Box<Expression>, Box<Expression>),
    Call(Box<Expression>, Vec<ProgramArgument>),
    List(Vec<Expression>),
    Object(Vec<(String, Expression)>),
    Binary(&'static str, Box<Expression>, Box<Expression>),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    /// The condition, the value if it is true, the other value.
    Choice(Box<Expression>, Box<Expression>, Box<Expression>),
    Comprehension(Box<Comprehension>),
    Function(FunctionDefinition),
}

/// An argument of a call, with its name if it has one.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) struct ProgramArgument {
    pub(in crate::foreign_text) name: Option<String>,
    pub(in crate::foreign_text) value: Expression,
}

/// `[value for name in list if condition]`.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) struct Comprehension {
    pub(in crate::foreign_text) value: Expression,
    pub(in crate::foreign_text) name: String,
    pub(in crate::foreign_text) list: Expression,
    pub(in crate::foreign_text) condition: Option<Expression>,
}

/// A function with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) struct FunctionDefinition {
    pub(in crate::foreign_text) parameters: Vec<FunctionParameter>,
    pub(in crate::foreign_text) body: Vec<Statement>,
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) struct FunctionParameter {
    pub(in crate::foreign_text) name: String,
    pub(in crate::foreign_text) kind: Option<String>,
    pub(in crate::foreign_text) default: Option<Expression>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::foreign_text) enum Statement {
    Assign(Vec<String>, Expression),
    Run(Expression),
    If(Expression, Vec<Statement>, Vec<Statement>),
    ForEach(String, Expression, Vec<Statement>),
    Try(TryBlock),
    Return(Option<Expression>),
    Define(String, FunctionDefinition),
    Parallel(Vec<Statement>),
}

/// The constructors of the clients that programs call tools through.
const CLIENTS: [&str; 10] = [
    "StdioServerParameters",
    "StdioClientTransport",
    "StreamableHTTPClientTransport",
    "SSEClientTransport",
    "ClientSession",
    "MultiServerMCPClient",
    "MCPClient",
    "McpClient",
    "MCPServerStdio",
    "load_dotenv",
];

/// The methods of clients that call no tool.
const CLIENT_METHODS: [&str; 8] = [
    "initialize",
    "connect",
    "disconnect",
    "close",
    "aclose",
    "list_tools",
    "listTools",
    "get_tools",
];

impl Statement {
    /// Returns true if the statement only prepares or ends the connection to a server, which a plan has anyway.
    pub(super) fn is_set_up(&self) -> bool {
        let (Self::Assign(_, value) | Self::Run(value)) = self else {
            return false;
        };
        let Expression::Call(function, _) = value else {
            return false;
        };
        let names = function.dotted();
        let (Some(first), Some(last)) = (names.first(), names.last()) else {
            return false;
        };
        let owners = [
            "session",
            "client",
            "mcp",
            "server",
            "mcp_client",
            "mcpClient",
        ];
        CLIENTS.contains(last)
            || (names.len() == 2 && owners.contains(first) && CLIENT_METHODS.contains(last))
    }
}

/// `try: … except Error as error: … else: … finally: …`
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::foreign_text) struct TryBlock {
    pub(in crate::foreign_text) body: Vec<Statement>,
    /// The name of the failure.
    pub(in crate::foreign_text) error: Option<String>,
    /// The statements that run if one of the body fails.
    pub(in crate::foreign_text) handler: Vec<Statement>,
    /// The statements that run if none of the body fails.
    pub(in crate::foreign_text) otherwise: Vec<Statement>,
    /// The statements that run in both cases.
    pub(in crate::foreign_text) finally: Vec<Statement>,
}

impl TryBlock {
    /// The statements of all parts.
    pub(in crate::foreign_text) fn parts(&self) -> [&[Statement]; 4] {
        [&self.body, &self.handler, &self.otherwise, &self.finally]
    }
}

impl Expression {
    pub(in crate::foreign_text) fn text(text: impl Into<std::sync::Arc<str>>) -> Self {
        Self::Literal(Value::text(text))
    }

    /// The call of the function `name` with named arguments.
    pub(in crate::foreign_text) fn call(name: &str, arguments: Vec<(String, Expression)>) -> Self {
        let mut parts = name.split('.');
        let first = Self::Name(parts.next().unwrap_or_default().to_owned());
        let function = parts.fold(first, |of, part| Self::Field(of.into(), part.to_owned()));
        let arguments = arguments.into_iter().map(|(name, value)| ProgramArgument {
            name: Some(name),
            value,
        });
        Self::Call(function.into(), arguments.collect())
    }

    /// The text, if the expression is a string literal.
    pub(in crate::foreign_text) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Literal(value) => value.as_text(),
            _ => None,
        }
    }

    /// The names of a path such as `a.b.c`; empty if the expression is not a path.
    pub(in crate::foreign_text) fn dotted(&self) -> Vec<&str> {
        match self {
            Self::Name(name) => vec![name],
            Self::Field(of, name) => {
                let mut names = of.dotted();
                if !names.is_empty() {
                    names.push(name);
                }
                names
            }
            _ => Vec::new(),
        }
    }
}
