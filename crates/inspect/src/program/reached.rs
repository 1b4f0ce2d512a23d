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

/// The most variables that are looked at for one program.
const MAX_VARIABLES: usize = 64;

impl Machine<'_> {
    /// Looks at the environment of a program that is about to run.
    pub(super) fn judge_reached(&mut self, base: &str, rest: &[Word]) {
        let own = has(RUNS, base) || [".sh", ".py", ".rb", ".js", ".ts"].iter().any(|end| base.ends_with(end));
        let makes = |word: &Word| word.constant().is_some_and(|word| has(MAKES, word));
        if !own || rest.iter().take(3).any(makes) || crate::shell::is_deep() {
            return;
        }
        let apart = |name: &str| name.split('_').any(|part| has(APART, part));
        let names =
            self.scope.names().filter(|name| self.scope.is_exported(name) && !apart(name)).at_most(MAX_VARIABLES);
        let values = names.into_iter().filter_map(|name| match self.scope.variable(name)? {
            Variable::Scalar(value) => of_machine(&value.prefix()),
            _ => None,
        });
        for host in values.collect::<Vec<_>>() {
            self.touch_other(Effect::Update, TargetKind::Host, host);
        }
    }
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
