//! Machines that a program of the project reaches because its environment says so: `BASE_URL=https://shop.example npx playwright test`.

use countersign_plan::tool::{Effect, TargetKind};

use super::tasks::has;
use crate::bounded::Bounded as _;
use crate::machine::{Machine, Variable, Word};

/// Programs that run the project's own code, its tests, or changes to its database.
const RUNS: &str = "npm npx pnpm yarn bun bunx deno node tsx ts-node python python3 pytest py.test tox nox poetry uv pipenv hatch rails rake bundle \
    rspec ruby php phpunit artisan composer go cargo make just mvn mvnw gradle gradlew dotnet mix playwright cypress jest vitest mocha newman \
    prisma alembic flyway liquibase sequelize knex typeorm drizzle-kit dbmate goose migrate atlas django-admin manage.py flask celery locust \
    artillery schemathesis behave robot cucumber";

/// Words with which a program only makes something, with the address in it.
const MAKES: &str = "build install ci i add lint fmt format check typecheck generate codegen docs export bundle pack compile get mod vet clean";

/// Parts of names by which code or a way out is told, which is looked at apart.
const APART: &str =
    "PROXY GOPROXY GOSUMDB MIRROR REGISTRY INDEX NPM PIP UV CARGO HOMEBREW PUBLIC SITE HOMEPAGE CANONICAL";

/// Tools that bring a database to another state, and take its address among their words (Alembic, "-x"; Flyway, "-url"; dbmate, "--url";
/// golang-migrate, "-database"; the others' manuals).
const MIGRATING: &str = "alembic flyway liquibase dbmate goose migrate atlas sqlx diesel yoyo prisma sequelize sequelize-cli knex typeorm \
    drizzle-kit sea-orm-cli refinery";

/// Their words for a look.
const SHOWING: &str = "current history heads branches show check status info validate version diff list showmigrations pending inspect plan wait \
    help";

/// Their words for another state of it.
const CHANGING: &str =
    "upgrade downgrade up down clean reset push deploy apply update redo rollback stamp baseline repair drop undo run";

/// The most variables that are looked at for one program.
const MAX_VARIABLES: usize = 64;

impl Machine<'_> {
    /// Looks at the environment of a program that is about to run.
    pub(super) fn judge_reached(&mut self, base: &str, rest: &[Word]) {
        self.judge_database_told(base, rest);
        let own = has(RUNS, base) || [".sh", ".py", ".rb", ".js", ".ts"].iter().any(|end| base.ends_with(end));
        let makes = |word: &Word| word.constant().is_some_and(|word| has(MAKES, word));
        if !own || rest.iter().take(3).any(makes) || crate::shell::is_deep() {
            return;
        }
        let apart = |name: &str| name.split('_').any(|part| has(APART, part));
        let names =
            self.scope.names().filter(|name| self.scope.is_exported(name) && !apart(name)).at_most(MAX_VARIABLES);
        let values = names.into_iter().filter_map(|name| match self.scope.variable(name)? {
            Variable::Scalar(value) => {
                of_machine(&value.prefix()).or_else(|| of_machine(&self.by_default(value)?.shown()))
            }
            _ => None,
        });
        for host in values.collect::<Vec<_>>() {
            self.touch_other(Effect::Update, TargetKind::Host, host);
        }
    }
}

impl Machine<'_> {
    /// The database that the words of a tool for migrations name, which is also what stands where a variable is not set:
    /// `-x url="${DB_URL:-postgresql://…}"`.
    fn judge_database_told(&mut self, base: &str, rest: &[Word]) {
        if !has(MIGRATING, base) {
            return;
        }
        let says = |list: &str| rest.iter().any(|word| word.constant().is_some_and(|word| has(list, word)));
        // `upgrade heads`, `info migrate`: a look beside it takes nothing back.
        let acts = says(CHANGING) || (base == "flyway" && says("migrate"));
        let shows = says("--sql --dry-run help") || (says(SHOWING) && !acts);
        let effect = if shows { Effect::Read } else { Effect::Update };
        for word in rest {
            let given = self.by_default(word).unwrap_or_else(|| word.clone());
            let text = given.shown();
            let Some(at) = text.find("://") else { continue };
            let scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
            let from = text.get(..at).unwrap_or("").trim_end_matches(scheme).len();
            let address = text.get(from..).unwrap_or("");
            if let Some(host) = of_machine(address) {
                self.touch_other(effect, TargetKind::Host, host);
            } else if let Some(file) = file_of(address).filter(|_| !given.has_hole()) {
                self.touch_path(effect, &Word::text(file), false);
            }
        }
    }
}

/// The file of an address of SQLite: `sqlite:////tmp/a.db`, `sqlite+aiosqlite:///a.db` (SQLAlchemy, "SQLite"; RFC 3986, "Path").
fn file_of(address: &str) -> Option<&str> {
    let (scheme, rest) = address.split_once("://")?;
    let driver = scheme.split('+').next().unwrap_or(scheme);
    let file = rest.split('?').next().unwrap_or(rest).strip_prefix('/')?;
    (matches!(driver, "sqlite" | "sqlite3") && !file.is_empty() && file != ":memory:").then_some(file)
}

/// The machine of an address with a scheme, where it is another than this one: no `localhost`, and no service of a composition (`db`).
fn of_machine(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once("://")?;
    let schemed =
        scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && !matches!(scheme, "file" | "sqlite" | "unix");
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let authority = rest.get(..end).unwrap_or("").rsplit('@').next().unwrap_or("");
    let name = crate::host::read(&format!("{scheme}://{authority}")).name?;
    let host = name.rsplit_once(':').map_or(name.as_str(), |(host, _)| host);
    let own = crate::host::is_local(&name) || !host.contains(['.', ':']);
    (schemed && !own).then_some(name)
}
