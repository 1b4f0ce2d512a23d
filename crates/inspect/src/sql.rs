//! SQL: what statements read, change and remove, read by a real parser in each of several dialects.
//!
//! A text that two dialects read differently counts as the sum of both readings: a backslash ends a string in one dialect and not
//! in another. A text that none of them reads is unknown.

mod apart;
mod blocks;
mod bodies;
mod outside;
mod words;

use std::ops::ControlFlow;

use countersign_plan::tool::{Effect, TargetKind};
use sqlparser::ast::{
    BinaryOperator, CopySource, CopyTarget, Expr, FromTable, Function, ObjectName, ObjectType, Query, SetExpr,
    Statement, TableFactor, Visit as _, Visitor,
};
use sqlparser::dialect::{Dialect, GenericDialect, MsSqlDialect, MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;

use words::{blocks, is_tuning, multiplies, without_partitions};

use crate::inspection::{Build as _, FindingKind, Inspection, Touch, UnknownKind};

/// The longest text that is parsed, in bytes.
const MAX_SQL: usize = 64 * 1024;

/// The deepest nesting. The parser recurses through frames of many kilobytes, and threads have small stacks.
const MAX_DEPTH: usize = 24;

/// Functions that read or write files, load code or run programs, of SQLite, PostgreSQL, MySQL, SQL Server and DuckDB.
const REACHING: &[(&str, Effect)] = &[
    ("load_extension", Effect::Execute),
    ("readfile", Effect::Read),
    ("writefile", Effect::Update),
    ("edit", Effect::Execute),
    ("fts3_tokenizer", Effect::Execute),
    ("pg_read_file", Effect::Read),
    ("pg_read_binary_file", Effect::Read),
    ("pg_ls_dir", Effect::Read),
    ("pg_stat_file", Effect::Read),
    ("pg_ls_logdir", Effect::Read),
    ("lo_import", Effect::Read),
    ("lo_export", Effect::Update),
    ("pg_file_write", Effect::Update),
    ("dblink", Effect::Send),
    ("dblink_exec", Effect::Send),
    ("dblink_connect", Effect::Send),
    ("query_to_xml", Effect::Execute),
    ("load_file", Effect::Read),
    ("sys_exec", Effect::Execute),
    ("sys_eval", Effect::Execute),
    ("xp_cmdshell", Effect::Execute),
    ("xp_dirtree", Effect::Read),
    ("xp_regwrite", Effect::Admin),
    ("sp_oacreate", Effect::Execute),
    ("sp_configure", Effect::Admin),
    ("openrowset", Effect::Read),
    ("opendatasource", Effect::Send),
    ("executable", Effect::Execute),
    ("read_text", Effect::Read),
    ("read_blob", Effect::Read),
    ("read_csv", Effect::Read),
    ("read_csv_auto", Effect::Read),
    ("read_parquet", Effect::Read),
    ("read_json", Effect::Read),
    ("utl_http", Effect::Send),
    ("http_get", Effect::Send),
    ("pg_terminate_backend", Effect::Admin),
    ("pg_cancel_backend", Effect::Admin),
    ("pg_reload_conf", Effect::Admin),
    ("set_config", Effect::Admin),
    ("setval", Effect::Update),
    ("nextval", Effect::Update),
    ("pg_sleep", Effect::Read),
    ("sleep", Effect::Read),
    ("benchmark", Effect::Read),
];

/// The most blocks that are open at one place: the parser's frames for them are the largest of all.
const MAX_BLOCKS: usize = 6;

/// What the statements in a text would do to the database that they are given to.
#[must_use]
pub fn sql(text: &str) -> Inspection {
    let mut out = Inspection::default();
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return out;
    }
    // DuckDB's overview of a table or a query.
    let overview = trimmed.get(..10).filter(|word| word.eq_ignore_ascii_case("summarize "));
    if let Some(rest) = overview.and_then(|_| trimmed.get(10..)).filter(|rest| rest.len() < MAX_SQL) {
        let query = rest.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("select"));
        return sql(&if query { rest.to_owned() } else { format!("SELECT * FROM {rest}") });
    }
    if text.len() > MAX_SQL {
        out.too_much("the statements are longer than what is read");
        return out;
    }
    if blocks(text) > MAX_BLOCKS {
        out.too_much("the statements nest more blocks than are read");
        return out;
    }
    // MySQL runs what stands in such a comment.
    if text.contains("/*!") {
        out.unknown(UnknownKind::Syntax, Effect::Admin, None, "a comment that one database runs and others do not");
    }
    // How a file that is written is packed (DuckDB manual, "COPY … TO").
    let packed = ["zstd", "snappy", "gzip", "uncompressed", "lz4", "brotli"].into_iter().flat_map(|how| {
        [
            format!(", COMPRESSION {how}"),
            format!(", COMPRESSION '{how}'"),
            format!(", compression {how}"),
            format!(", compression '{how}'"),
        ]
    });
    let text = &packed.fold(
        text.to_owned(),
        |text, option| {
            if text.contains(&option) { text.replace(&option, "") } else { text }
        },
    );
    let text = &without_partitions(text);
    apart::judge_record(text, &mut out);
    let dialects: [&dyn Dialect; 5] =
        [&GenericDialect {}, &PostgreSqlDialect {}, &MySqlDialect {}, &SQLiteDialect {}, &MsSqlDialect {}];
    let mut readings: Vec<Vec<Statement>> = Vec::new();
    let ordinary = !text.contains(['\\', '#', '$', '[', '`', '"']);
    for dialect in dialects {
        let parsed = Parser::new(dialect)
            .with_recursion_limit(MAX_DEPTH)
            .try_with_sql(text)
            .and_then(|mut parser| parser.parse_statements());
        if let Ok(statements) = parsed
            && !readings.contains(&statements)
        {
            readings.push(statements);
            // Without a character that dialects quote differently one reading is enough.
            if ordinary {
                break;
            }
        }
    }
    if readings.is_empty() {
        let apart = apart::statements(text).unwrap_or_default();
        if apart.len() > 1 {
            apart.iter().for_each(|statement| out.absorb(sql(statement)));
            return out;
        }
        if let Some(copied) = apart::in_plain_quotes(trimmed).or_else(|| apart::without_options(trimmed)) {
            out.absorb(sql(&copied));
            return out;
        }
        if blocks::block(trimmed, &mut out) || apart::alone(trimmed, &mut out) {
            return out;
        }
        if text.split(';').any(drops_all) {
            out.find(FindingKind::DestroysDatabase, None, "DROP DATABASE removes all of it");
        }
        out.unknown(UnknownKind::Syntax, Effect::Admin, None, "no database that is known here reads these statements");
        return out;
    }
    for statements in readings.iter().filter(|statements| !is_taken_back(statements)) {
        let mut reader = Reader { out: &mut out };
        for statement in statements {
            let _ = statement.visit(&mut reader);
        }
    }
    outside::asked(text, &mut out);
    out
}

/// Whether all that the statements do is taken back at their end: rows, in one transaction. What a definition changes some databases
/// keep (MySQL Reference Manual, "Statements That Cause an Implicit Commit"), and what a function does none takes back.
fn is_taken_back(statements: &[Statement]) -> bool {
    let [Statement::StartTransaction { .. }, rest @ .., Statement::Rollback { savepoint: None, .. }] = statements
    else {
        return false;
    };
    let rows = |statement: &Statement| match statement {
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            let text = statement.to_string().to_ascii_lowercase();
            !text.contains(" into outfile") && !apart::reaches_out(&text)
        }
        _ => false,
    };
    rest.iter().all(rows)
}

fn touch(out: &mut Inspection, effect: Effect, kind: TargetKind, name: impl Into<String>) {
    out.touch(Touch {
        effect,
        kind,
        name: name.into(),
        pattern: false,
        recursive: false,
        by: "sql".to_owned(),
        in_place: false,
    });
}

struct Reader<'a> {
    out: &'a mut Inspection,
}

/// Whether a statement that is not read begins with the removal of a whole database.
fn drops_all(statement: &str) -> bool {
    let mut words = statement.split_whitespace();
    words.next().is_some_and(|word| word.eq_ignore_ascii_case("drop"))
        && words.next().is_some_and(|word| word.eq_ignore_ascii_case("database") || word.eq_ignore_ascii_case("schema"))
}

impl Reader<'_> {
    fn table(&mut self, effect: Effect, name: impl ToString) {
        let name = name.to_string();
        let unquoted: String = name.chars().filter(|c| !matches!(c, '"' | '`' | '[' | ']')).collect();
        let lower = unquoted.to_ascii_lowercase();
        if !effect.is_harmless()
            && (lower.starts_with("mysql.")
                || lower.starts_with("pg_catalog.")
                || lower.starts_with("sqlite_")
                || lower.starts_with("pg_auth"))
        {
            touch(self.out, Effect::Admin, TargetKind::Database, unquoted.clone());
        }
        touch(self.out, effect, TargetKind::Database, unquoted);
    }

    fn find(&mut self, kind: FindingKind, message: String) {
        self.out.find(kind, None, message);
    }

    fn file(&mut self, effect: Effect, path: &str) {
        touch(self.out, effect, TargetKind::File, path);
    }

    fn unknown(&mut self, what: &str) {
        let what: String = what.chars().take(60).collect();
        self.out.unknown(UnknownKind::Code, Effect::Admin, None, format!("the statement `{what}` is not analysed"));
    }

    fn function(&mut self, name: &ObjectName, argument: Option<String>) {
        let last = name.to_string().to_ascii_lowercase();
        let last = last.rsplit('.').next().unwrap_or("").trim_matches(['"', '`', '[', ']']).to_owned();
        let Some((_, effect)) = REACHING.iter().find(|(known, _)| *known == last) else { return };
        let argument = argument.unwrap_or_default();
        if last == "set_config" && is_tuning(&format!("set {argument}")) {
            return;
        }
        match effect {
            Effect::Read | Effect::Update if argument.contains(['/', '.', '\\']) => self.file(*effect, &argument),
            Effect::Read | Effect::Update => {}
            // What it is given is a line (ClickHouse, "executable").
            Effect::Execute if last == "executable" => {
                touch(self.out, Effect::Execute, TargetKind::Process, argument.clone());
            }
            _ => touch(self.out, *effect, TargetKind::Other, format!("{last}({argument})")),
        }
        let of_server = last.starts_with("pg_") || matches!(last.as_str(), "load_file" | "lo_import" | "lo_export");
        if of_server && *effect != Effect::Execute {
            let message = format!("`{last}` reaches files of the server, which are no part of the database");
            self.out.unknown(UnknownKind::Code, Effect::Admin, None, message);
        }
        if *effect == Effect::Execute {
            self.out.unknown(
                UnknownKind::Code,
                Effect::Execute,
                None,
                format!("`{last}` runs code outside of the database"),
            );
        }
    }
}

impl Visitor for Reader<'_> {
    type Break = ();

    fn pre_visit_statement(&mut self, statement: &Statement) -> ControlFlow<()> {
        match statement {
            Statement::Query(_) | Statement::Explain { .. } | Statement::ExplainTable { .. } => {}
            Statement::ShowTables { .. }
            | Statement::ShowColumns { .. }
            | Statement::ShowDatabases { .. }
            | Statement::ShowSchemas { .. }
            | Statement::ShowVariable { .. }
            | Statement::ShowVariables { .. }
            | Statement::ShowCreate { .. }
            | Statement::ShowFunctions { .. }
            | Statement::ShowStatus { .. }
            | Statement::ShowViews { .. }
            | Statement::ShowCollation { .. }
            | Statement::ShowProcessList { .. }
            | Statement::Use(_) => {
                touch(self.out, Effect::Read, TargetKind::Database, "schema");
            }
            Statement::StartTransaction { .. }
            | Statement::Commit { .. }
            | Statement::Rollback { .. }
            | Statement::Savepoint { .. }
            | Statement::ReleaseSavepoint { .. }
            | Statement::Analyze(_)
            | Statement::Deallocate { .. }
            | Statement::Close { .. }
            | Statement::Fetch { .. } => {}
            Statement::Insert(insert) => {
                let effect = if insert.replace_into || insert.or.is_some() || insert.on.is_some() || insert.overwrite {
                    Effect::Update
                } else {
                    Effect::Create
                };
                self.table(effect, &insert.table);
                self.gives_away(insert);
            }
            Statement::Update(update) => {
                self.table(Effect::Update, &update.table.relation);
                if update.selection.as_ref().is_none_or(is_always) && update.limit.is_none() {
                    self.find(
                        FindingKind::UnboundedStatement,
                        format!("UPDATE changes every row of {}", update.table.relation),
                    );
                }
            }
            Statement::Delete(delete) => {
                let (FromTable::WithFromKeyword(tables) | FromTable::WithoutKeyword(tables)) = &delete.from;
                for table in tables {
                    self.table(Effect::Delete, &table.relation);
                }
                if delete.selection.as_ref().is_none_or(is_always) && delete.limit.is_none() {
                    self.find(FindingKind::UnboundedStatement, "DELETE removes every row".to_owned());
                }
            }
            Statement::Truncate(truncate) => {
                for table in &truncate.table_names {
                    self.table(Effect::Delete, &table.name);
                }
                self.find(FindingKind::UnboundedStatement, "TRUNCATE removes every row".to_owned());
            }
            Statement::Merge { .. } => {
                touch(self.out, Effect::Update, TargetKind::Database, "merge");
                touch(self.out, Effect::Delete, TargetKind::Database, "merge");
            }
            Statement::CreateTable(create) => {
                self.table(Effect::Create, &create.name);
                self.lies_with(create);
            }
            Statement::CreateView(create) => self.table(Effect::Create, &create.name),
            Statement::CreateIndex(create) => self.table(Effect::Create, &create.table_name),
            Statement::CreateSchema { schema_name, .. } => self.table(Effect::Create, schema_name),
            Statement::CreateDatabase { db_name, .. } => self.table(Effect::Create, db_name),
            Statement::AlterTable(alter) => {
                self.table(Effect::Update, &alter.name);
                if statement.to_string().to_ascii_uppercase().contains(" DROP ") {
                    self.table(Effect::Delete, &alter.name);
                }
            }
            Statement::AlterIndex { name, .. } => self.table(Effect::Update, name),
            Statement::AlterView { name, .. } => self.table(Effect::Update, name),
            Statement::Drop { object_type, names, .. } => self.drop(*object_type, names),
            Statement::Copy { source, to, target, .. } => {
                if let CopySource::Table { table_name, .. } = source {
                    self.table(if *to { Effect::Read } else { Effect::Create }, table_name);
                }
                match target {
                    CopyTarget::Stdin | CopyTarget::Stdout => {}
                    CopyTarget::File { filename } => {
                        self.file(if *to { Effect::Update } else { Effect::Read }, filename)
                    }
                    CopyTarget::Program { command } => {
                        touch(self.out, Effect::Execute, TargetKind::Process, command.clone());
                        self.out.unknown(
                            UnknownKind::Code,
                            Effect::Execute,
                            None,
                            format!("the database server runs `{command}`"),
                        );
                    }
                }
            }
            Statement::AttachDatabase { database_file_name, .. } => {
                self.file(Effect::Update, database_file_name.to_string().trim_matches(['\'', '"']))
            }
            Statement::Pragma { name, value, .. } => {
                let name = name.to_string();
                let name = apart::bare_pragma(&name);
                let effect = if value.is_none()
                    || name.ends_with("_info")
                    || name.ends_with("_list")
                    || name.ends_with("_check")
                    || name == "wal_checkpoint"
                    || is_tuning(&format!("set {name}"))
                {
                    Effect::Read
                } else {
                    apart::of_pragma(name)
                };
                touch(self.out, effect, TargetKind::Database, format!("pragma {name}"));
            }
            // An extension that any owner of a database may have (PostgreSQL, "Additional Supplied Modules"), and another one.
            Statement::CreateExtension(extension) if apart::is_trusted(&extension.name.value) => {
                touch(self.out, Effect::Update, TargetKind::Database, format!("extension {}", extension.name.value));
            }
            Statement::Set(_) if is_tuning(&statement.to_string()) => {}
            Statement::Grant { .. }
            | Statement::Revoke { .. }
            | Statement::CreateRole { .. }
            | Statement::AlterRole { .. }
            | Statement::Set(_)
            | Statement::Kill { .. }
            | Statement::CreatePolicy { .. }
            | Statement::DropPolicy { .. } => {
                let words: Vec<String> = statement.to_string().split_whitespace().take(4).map(str::to_owned).collect();
                touch(self.out, Effect::Admin, TargetKind::Database, words.join(" "));
            }
            Statement::LoadData { inpath, .. } => self.file(Effect::Read, inpath),
            // What is kept stays as it is.
            Statement::Vacuum { .. } => touch(self.out, Effect::Read, TargetKind::Database, "maintenance"),
            Statement::Comment { .. } | Statement::OptimizeTable { .. } => {
                touch(self.out, Effect::Update, TargetKind::Database, "maintenance")
            }
            Statement::DropFunction(_)
            | Statement::DropProcedure { .. }
            | Statement::DropTrigger(_)
            | Statement::DropExtension(_) => {
                touch(self.out, Effect::Delete, TargetKind::Database, statement.to_string());
            }
            other => {
                let text = other.to_string();
                touch(
                    self.out,
                    Effect::Admin,
                    TargetKind::Database,
                    text.split_whitespace().take(3).collect::<Vec<_>>().join(" "),
                );
                self.unknown(&text);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_ref()
            && let Some(into) = &select.into
        {
            self.table(Effect::Create, &into.name);
        }
        let text = query.to_string().to_ascii_lowercase();
        if multiplies(&text) {
            self.find(FindingKind::ForkBomb, "the query multiplies its rows until the server gives way".to_owned());
        }
        if text.contains(" into outfile") || text.contains(" into dumpfile") {
            self.file(Effect::Update, "?");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        self.table(Effect::Read, relation);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name, args: Some(args), .. } = factor {
            let given: Vec<String> = args.args.iter().map(ToString::to_string).collect();
            let argument = given.first().map(|first| first.trim_matches('\'').to_owned());
            self.fetches(&name.to_string(), &given, Effect::Read);
            self.function(name, argument);
        }
        // DuckDB and others read a file where a table is named by its path.
        if let TableFactor::Table { name, args: None, .. } = factor {
            let text = name.to_string();
            let path = text.trim_matches(['\'', '"', '`']);
            if path.contains('/') || (text.starts_with('\'') && path.contains('.')) {
                self.file(Effect::Read, path);
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        if let Expr::Function(Function { name, args, .. }) = expr {
            let text = args.to_string();
            let first =
                text.trim_matches(['(', ')']).split(',').next().unwrap_or("").trim().trim_matches('\'').to_owned();
            self.waits(name, &first);
            self.function(name, Some(first));
        }
        ControlFlow::Continue(())
    }
}

impl Reader<'_> {
    /// A statement that sleeps for hours, or counts to a number that no table has, holds its server.
    fn waits(&mut self, name: &ObjectName, first: &str) {
        let name = name.to_string().to_ascii_lowercase();
        let most = match name.rsplit('.').next().unwrap_or(&name) {
            "pg_sleep" | "sleep" => 3600.0,
            "benchmark" => 1e9,
            _ => return,
        };
        if first.parse::<f64>().is_ok_and(|number| number >= most) {
            self.find(FindingKind::ForkBomb, format!("`{name}({first})` holds the server"));
        }
    }

    fn drop(&mut self, kind: ObjectType, names: &[ObjectName]) {
        for name in names {
            self.table(Effect::Delete, name);
        }
        if matches!(kind, ObjectType::Database | ObjectType::Schema) {
            self.find(FindingKind::DestroysDatabase, format!("DROP {kind} removes all of it"));
        }
        if matches!(kind, ObjectType::Role | ObjectType::User) {
            touch(self.out, Effect::Admin, TargetKind::Database, "role");
        }
    }
}

/// Whether a condition plainly holds for every row.
fn is_always(condition: &Expr) -> bool {
    match condition {
        Expr::Nested(inner) => is_always(inner),
        Expr::BinaryOp { left, op: BinaryOperator::Or, right } => is_always(left) || is_always(right),
        Expr::BinaryOp { left, op: BinaryOperator::And, right } => is_always(left) && is_always(right),
        Expr::BinaryOp { left, op: BinaryOperator::Eq | BinaryOperator::LtEq | BinaryOperator::GtEq, right } => {
            left == right
        }
        Expr::Value(value) => matches!(value.to_string().to_ascii_lowercase().as_str(), "1" | "true"),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
