//! Blocks that handle failures: `try`, `except`, `else` and `finally`.

use planwright_core::Value;

use super::builder::{Builder, NameMeaning};
use super::syntax::{Expression, Statement, TryBlock};
use crate::foreign_plans::escaped;
use crate::native::path_of;

impl Builder {
    /// `try: x = f() except: x = g()`: the second call is made if the first one has failed.
    pub(super) fn attempt(&mut self, block: &TryBlock) -> Option<()> {
        self.handler.is_none().then_some(())?;
        let first = self.steps.len();
        let before = self.names.clone();
        self.handler = Some(Value::text("continue"));
        let done = self.body_of_attempt(&block.body);
        self.handler = None;
        done?;
        let paths: Vec<String> = self.steps[first..]
            .iter()
            .map(|step| path_of(&step.id))
            .collect();
        let is_plain = self.steps[first..]
            .iter()
            .zip(&paths)
            .all(|(step, path)| step.id == *path);
        let successes: Vec<String> = paths
            .iter()
            .map(|path| format!("results.{path}.success"))
            .collect();
        let success = successes.join(" && ");
        let failure = match successes.as_slice() {
            [] => return None,
            [only] => format!("!{only}"),
            _ => format!("!({success})"),
        };
        // Only one of the two parts runs, so they need no order.
        let order = self.order();
        if !block.otherwise.is_empty() {
            is_plain.then_some(())?;
            self.guarded(success, |builder| builder.statements(&block.otherwise))?;
        }
        let after_otherwise = self.order();
        self.set_order(order);
        let then = std::mem::replace(&mut self.names, before.clone());
        if !is_ignored(&block.handler) {
            is_plain.then_some(())?;
            if let (Some(name), [path]) = (&block.error, paths.as_slice()) {
                let message = NameMeaning::Path(format!("results.{path}.error.message"));
                self.names.insert(name.clone(), message);
            }
            self.guarded(failure, |builder| builder.statements(&block.handler))?;
            if let Some(name) = &block.error {
                match before.get(name) {
                    Some(meaning) => self.names.insert(name.clone(), meaning.clone()),
                    None => self.names.remove(name),
                };
            }
        }
        self.add_order(after_otherwise);
        // A constant in place of the output is the output of a failure.
        if let ([Statement::Assign(names, Expression::Literal(value))], [path]) =
            (block.handler.as_slice(), paths.as_slice())
            && let [name] = names.as_slice()
            && then.get(name) == Some(&NameMeaning::Path(path.clone()))
        {
            let output = Value::object([("output", escaped(value))]);
            let fields = &mut self.steps.get_mut(first)?.fields;
            fields.retain(|(key, _)| &**key != "on_error");
            fields.push(("on_error".into(), output));
            self.names = then;
        } else {
            self.merge(&before, then)?;
        }
        self.statements(&block.finally)
    }

    /// The steps of the body of a `try`, each only if those before it have succeeded.
    fn body_of_attempt(&mut self, body: &[Statement]) -> Option<()> {
        let outer = self.conditions.len();
        let mut passed: Vec<String> = Vec::new();
        let mut done = Some(());
        for (index, statement) in body.iter().enumerate() {
            let first = self.steps.len();
            self.conditions.truncate(outer);
            // A printed value has a default in place of a failed result.
            if !is_ignored(std::slice::from_ref(statement)) {
                self.conditions.extend(passed.iter().cloned());
            }
            let is_last = index + 1 == body.len();
            done = done.and_then(|()| self.statement(statement, is_last));
            // A step that its own condition skips has not failed.
            let when = self.when();
            let added = self.steps.get(first..).unwrap_or_default();
            let is_skipped = added.iter().any(|step| step.when() != when.as_ref());
            if is_skipped || done.is_none() {
                done = None;
                break;
            }
            let successes = added
                .iter()
                .map(|step| format!("results.{}.success", path_of(&step.id)));
            passed.extend(successes);
        }
        self.conditions.truncate(outer);
        done
    }
}

/// Returns true if `handler` only prints.
fn is_ignored(handler: &[Statement]) -> bool {
    handler.iter().all(|statement| match statement {
        Statement::Run(Expression::Call(function, _)) => {
            let printers = ["print", "console.log", "console.error"];
            printers.contains(&&*function.dotted().join("."))
        }
        _ => false,
    })
}
