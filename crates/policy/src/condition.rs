//! The `when` of a rule: a CEL condition, checked at compile time and closed at run time (FORMATS §5).
//!
//! The names are `action`, `args`, `target`, `plan` and `facts`; every number of a document is a double; what is absent is an
//! error unless `has()` asks. An error, or a value that is neither true nor false, is a diagnostic, and a diagnostic blocks
//! (`lesson_14`). `matches` takes a literal expression, anchored at both ends (`lesson_15`). A condition over an argument that
//! no reference has filled yet is [`Outcome::Unknown`].

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue};
use cel::extractors::This;
use cel::objects::{Key, Map};
use cel::{Context, Env, ExecutionError, Program};
use countersign_plan::pointer::Pointer;
use countersign_plan::text;
use regex::Regex;
use serde_json::Value;

/// The longest condition, in bytes.
const MAX_LENGTH: usize = 2048;
/// The deepest nesting of brackets, and the most arithmetic operators: each is a recursion of the parser, and together they must
/// fit the 2 MiB stack of a thread (the test at the bound shows it for an unoptimised build).
const MAX_DEPTH: usize = 6;
const MAX_ARITHMETIC: usize = 12;
/// The most other operators and selections.
const MAX_LEVELS: usize = 128;

/// Functions beyond the operators.
const FUNCTIONS: [&str; 8] = ["size", "contains", "startsWith", "endsWith", "matches", "string", "double", "int"];

/// What a condition may ask about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Root {
    /// The tool: `name`, `group`, `effects`, `reversibility`.
    Action,
    /// The arguments.
    Args,
    /// What the action is aimed at: `kind`, `name`, and where they apply `resolved`, `host`, `port`, `standing`, `secrecy`,
    /// `in_workspace`.
    Target,
    /// The plan: `goal`, `steps` (their number), `mode`.
    Plan,
    /// The rest: `now` (milliseconds), `hour` (UTC), `requester`, `recent_actions`, `irreversible`.
    Facts,
}

impl Root {
    const ALL: [(&'static str, Self); 5] = [
        ("action", Self::Action),
        ("args", Self::Args),
        ("target", Self::Target),
        ("plan", Self::Plan),
        ("facts", Self::Facts),
    ];
}

/// Where a condition finds its values.
pub trait Scope {
    /// The value of a name, an object.
    fn value(&self, root: Root) -> &Value;

    /// Whether the place below a name has no value yet.
    fn is_open(&self, root: Root, at: &Pointer) -> bool;
}

/// What a condition says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// It asks about something that has no value yet.
    Unknown,
    /// It could not be evaluated: why.
    Diagnostic(String),
}

/// A condition that cannot be compiled, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct ConditionError {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
    /// What is wrong and how to mend it.
    pub what: String,
}

/// A compiled condition.
#[derive(Debug)]
pub struct Condition {
    program: Program,
    env: Environment,
    /// Every place that the condition asks about.
    places: Vec<(Root, Pointer)>,
    roots: BTreeSet<Root>,
    expressions: Arc<HashMap<String, Regex>>,
}

/// The functions and operators of conditions; built once for a policy.
#[derive(Clone)]
pub struct Environment(Arc<Env>);

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Environment(..)")
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self(Arc::new(Env::stdlib()))
    }
}

impl Condition {
    /// Compiles a condition.
    ///
    /// # Errors
    /// The first syntax error, unknown name or function, nested loop, or expression that does not compile.
    pub fn compile(source: &str, env: &Environment) -> Result<Self, ConditionError> {
        let whole = |what: String| ConditionError { line: 1, column: 1, what };
        text::check_visible(source).map_err(|e| whole(e.to_string()))?;
        bounded(source).map_err(whole)?;
        let program = env.0.compile(source).map_err(|errors| {
            let first = errors.errors.into_iter().next();
            first.map_or_else(
                || whole("no condition".to_owned()),
                |e| ConditionError {
                    line: usize::try_from(e.pos.0).unwrap_or(1).max(1),
                    column: usize::try_from(e.pos.1).unwrap_or(1).max(1),
                    what: text::escape(&e.msg),
                },
            )
        })?;
        let mut check = Check { places: Vec::new(), expressions: HashMap::new(), bound: Vec::new() };
        check.walk(program.expression()).map_err(|(id, what)| {
            let offset = program.source_info().offset_for(id).map_or(0, |(start, _)| start as usize);
            let before = source.get(..offset).unwrap_or("");
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
            ConditionError { line, column, what }
        })?;
        let roots = check.places.iter().map(|(root, _)| *root).collect();
        let expressions = Arc::new(check.expressions);
        Ok(Self { program, env: env.clone(), places: check.places, roots, expressions })
    }

    /// Evaluates the condition.
    pub fn evaluate(&self, scope: &dyn Scope) -> Outcome {
        if self.places.iter().any(|(root, at)| scope.is_open(*root, at)) {
            return Outcome::Unknown;
        }
        let mut context = Context::with_env(Arc::clone(&self.env.0));
        if !self.expressions.is_empty() {
            let expressions = Arc::clone(&self.expressions);
            let matches = move |This(text): This<Arc<String>>, pattern: Arc<String>| {
                let found = expressions.get(pattern.as_str());
                let unknown = || ExecutionError::function_error("matches", "the expression is not a literal");
                found.ok_or_else(unknown).map(|regex| regex.is_match(&text))
            };
            if let Err(e) = context.add_function("matches", matches) {
                return Outcome::Diagnostic(e.to_string());
            }
        }
        for (name, root) in Root::ALL {
            if self.roots.contains(&root) {
                context.add_variable_from_value(name, self.import(root, scope.value(root)));
            }
        }
        match self.program.execute(&context) {
            Ok(cel::Value::Bool(true)) => Outcome::True,
            Ok(cel::Value::Bool(false)) => Outcome::False,
            Ok(_) => Outcome::Diagnostic("the condition is neither true nor false".to_owned()),
            Err(e) => Outcome::Diagnostic(text::escape(&e.to_string()).chars().take(300).collect()),
        }
    }

    /// The value of a name, of which only what the condition asks about is converted.
    fn import(&self, root: Root, value: &Value) -> cel::Value {
        let Value::Object(members) = value else { return import(value) };
        let firsts: Option<BTreeSet<&str>> = self
            .places
            .iter()
            .filter(|(of, _)| *of == root)
            .map(|(_, at)| at.segments().first().map(String::as_str))
            .collect();
        let Some(firsts) = firsts else { return import(value) };
        let map: HashMap<Key, cel::Value> = members
            .iter()
            .filter(|(name, _)| firsts.contains(name.as_str()))
            .map(|(name, value)| (Key::from(name.as_str()), import(value)))
            .collect();
        cel::Value::Map(Map { map: Arc::new(map) })
    }
}

/// JSON as CEL sees it: every number is a double.
fn import(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(b) => cel::Value::Bool(*b),
        Value::Number(n) => n.as_f64().map_or(cel::Value::Null, cel::Value::Float),
        Value::String(s) => cel::Value::String(Arc::new(s.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(import).collect())),
        Value::Object(members) => {
            let map = members.iter().map(|(k, v)| (Key::from(k.as_str()), import(v))).collect();
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    }
}

/// Bounds what the parser has to nest.
fn bounded(source: &str) -> Result<(), String> {
    if source.len() > MAX_LENGTH {
        return Err(format!("{} bytes, but at most {MAX_LENGTH} are read", source.len()));
    }
    // Without these, what is quoted is known without the parser, and nothing can hide in it.
    if source.contains('\\') || source.contains("'''") || source.contains("\"\"\"") {
        return Err("backslashes and triple quotes are refused; write `[.]` for a literal dot and `[0-9]` for a digit"
            .to_owned());
    }
    let (mut depth, mut deepest, mut arithmetic, mut levels) = (0_usize, 0, 0, 0);
    let mut quote = None;
    for c in source.chars() {
        if quote.is_some() {
            quote = quote.filter(|open| *open != c);
            continue;
        }
        match c {
            '\'' | '"' => quote = Some(c),
            '(' | '[' | '{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            '+' | '-' | '*' | '/' | '%' => arithmetic += 1,
            '!' | '?' | '.' | '&' | '|' | '<' | '>' | '=' => levels += 1,
            _ => {}
        }
    }
    if deepest > MAX_DEPTH || arithmetic > MAX_ARITHMETIC || levels > MAX_LEVELS {
        return Err(format!(
            "nested deeper than {MAX_DEPTH} brackets, or more than {MAX_ARITHMETIC} arithmetic or {MAX_LEVELS} other operators; \
             split the rule"
        ));
    }
    Ok(())
}

/// The walk over a condition that finds what it asks about and refuses what it must not.
struct Check {
    places: Vec<(Root, Pointer)>,
    expressions: HashMap<String, Regex>,
    bound: Vec<String>,
}

type Wrong = (u64, String);

impl Check {
    fn walk(&mut self, node: &IdedExpr) -> Result<(), Wrong> {
        if let Some(place) = self.place(node) {
            self.places.push(place);
            return self.indices(node);
        }
        let wrong = |what: String| Err((node.id, what));
        match &node.expr {
            Expr::Literal(_) => Ok(()),
            Expr::Ident(name) if name.starts_with('@') || self.bound.contains(name) => Ok(()),
            Expr::Ident(name) => {
                wrong(format!("unknown name `{}`; there are action, args, target, plan and facts", text::escape(name)))
            }
            Expr::Call(call) => {
                let operator = call.func_name.contains('_') && !call.func_name.contains(char::is_alphanumeric)
                    || call.func_name.starts_with('@')
                    || call.func_name == "_?_:_";
                if !operator && !FUNCTIONS.contains(&call.func_name.as_str()) {
                    let known = FUNCTIONS.join(", ");
                    return wrong(format!("unknown function `{}`; there are {known}", text::escape(&call.func_name)));
                }
                if call.func_name == "matches" {
                    self.expression(call.args.last())?;
                }
                call.target.iter().try_for_each(|target| self.walk(target))?;
                call.args.iter().try_for_each(|arg| self.walk(arg))
            }
            Expr::Select(select) => self.walk(&select.operand),
            Expr::List(list) => list.elements.iter().try_for_each(|item| self.walk(item)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(e) => self.walk(&e.key).and_then(|()| self.walk(&e.value)),
                EntryExpr::StructField(f) => self.walk(&f.value),
            }),
            Expr::Comprehension(loops) => {
                if !self.bound.is_empty() {
                    return wrong("a loop inside a loop may cost too much; split the rule".to_owned());
                }
                let second = loops.iter_var2.clone();
                for name in std::iter::once(&loops.iter_var).chain(&second) {
                    if Root::ALL.iter().any(|(root, _)| root == name) {
                        return wrong(format!("`{name}` is a name already; call the loop's variable something else"));
                    }
                }
                self.walk(&loops.iter_range)?;
                self.bound.extend([loops.iter_var.clone(), loops.accu_var.clone()]);
                self.bound.extend(second);
                [&loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result]
                    .into_iter()
                    .try_for_each(|part| self.walk(part))?;
                self.bound.clear();
                Ok(())
            }
            Expr::Struct(_) | Expr::Unspecified => wrong("no form of a condition".to_owned()),
        }
    }

    /// The place that a chain of selections and literal indices names.
    fn place(&self, node: &IdedExpr) -> Option<(Root, Pointer)> {
        match &node.expr {
            Expr::Ident(name) if !self.bound.contains(name) => {
                Root::ALL.iter().find(|(known, _)| known == name).map(|(_, root)| (*root, Pointer::ROOT))
            }
            Expr::Select(select) => {
                self.place(&select.operand).map(|(root, at)| (root, at.child(select.field.clone())))
            }
            Expr::Call(call) if call.func_name == "_[_]" => {
                let [operand, index] = call.args.as_slice() else { return None };
                let (root, at) = self.place(operand)?;
                Some(match &index.expr {
                    Expr::Literal(LiteralValue::String(s)) => (root, at.child(s.inner())),
                    Expr::Literal(LiteralValue::Int(i)) => (root, at.child(i.inner().to_string())),
                    // Any member may be meant.
                    _ => (root, at),
                })
            }
            _ => None,
        }
    }

    /// Walks the computed indices of a chain, which ask about places of their own.
    fn indices(&mut self, node: &IdedExpr) -> Result<(), Wrong> {
        match &node.expr {
            Expr::Select(select) => self.indices(&select.operand),
            Expr::Call(call) => match call.args.as_slice() {
                [operand, index] => {
                    self.indices(operand)?;
                    self.walk(index)
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn expression(&mut self, pattern: Option<&IdedExpr>) -> Result<(), Wrong> {
        let Some(IdedExpr { id, expr: Expr::Literal(LiteralValue::String(literal)) }) = pattern else {
            return Err((pattern.map_or(0, |p| p.id), "`matches` takes a literal expression".to_owned()));
        };
        let pattern = literal.inner();
        let regex = regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
            .size_limit(64 << 10)
            .build()
            .map_err(|e| (*id, text::escape(&e.to_string())))?;
        self.expressions.insert(pattern.to_owned(), regex);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
