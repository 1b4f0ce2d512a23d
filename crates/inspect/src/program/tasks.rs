//! Task runners whose task says what it does: `db:drop`, `migrate:fresh`, `flush`, `reset-db`. The names that people and frameworks
//! give to tasks are verbs and what they are about (Rails, Django, Laravel, Symfony, Ecto, Prisma, Sequelize, Alembic and EF manuals).

use countersign_plan::tool::Effect;

use crate::inspection::FindingKind;
use crate::machine::{Machine, Variable, Word};

/// Programs and scripts that run a task by its name, beside those below.
const RUNNERS: &str = "rails rake console mix make gmake just task gradle gradlew mvn mvnw fab invoke inv flask \
    doit nox thor ace drush wp magento spark grunt gulp cap mage earthly hanami phoenix npm pnpm yarn bun composer \
    poe taskipy symfony craft lein objection wrangler occ ember nx lerna";

/// Programs that start one of those.
const LAUNCHERS: &[&str] = &[
    "npx", "bunx", "pnpx", "uv", "poetry", "pdm", "hatch", "pipenv", "rye", "php", "python", "python3", "node", "ruby",
    "dotnet", "bun", "deno", "npm", "pnpm", "yarn", "pixi", "conda",
];

/// Tools whose every task is about a database.
const OF_DATABASES: &str = "alembic prisma knex sequelize sequelize-cli typeorm drizzle-kit ef flyway liquibase \
    dbmate goose sqlx diesel ecto phinx doctrine migrate manage.py django-admin mikro-orm yoyo sea-orm-cli supabase \
    artisan";

/// Parts of a task's name that take something away.
const TAKES: &str = "drop reset purge wipe destroy flush truncate nuke erase delete teardown obliterate cleanup \
    dropall dropdb resetdb flushdb fresh zap";

/// What can be made again: to take it away is a clean-up.
const MADE_AGAIN: &str = "cache caches tmp temp dist build coverage asset assets view views route routes config \
    deps lock node modules artifacts session sessions generated snapshot snapshots logs log counter permissions \
    password start cov screenshots state";

/// Words for what a database is.
const DATABASE: &[&str] =
    &["db", "database", "migrate", "migration", "migrations", "schema", "tables", "table", "data"];

/// Variables by which a framework is told which environment it works on.
const ENVIRONMENT: &[&str] = &[
    "RAILS_ENV",
    "RACK_ENV",
    "APP_ENV",
    "NODE_ENV",
    "MIX_ENV",
    "ENV",
    "ENVIRONMENT",
    "FLASK_ENV",
    "DJANGO_ENV",
    "ASPNETCORE_ENVIRONMENT",
    "STAGE",
];

/// Whether a list, separated by blanks, has the word.
pub(crate) fn has(list: &str, word: &str) -> bool {
    list.as_bytes().split(|byte| *byte == b' ').any(|one| one == word.as_bytes())
}

impl Machine<'_> {
    /// What the words after a task runner say that the task does.
    pub(super) fn judge_tasks(&mut self, base: &str, rest: &[Word]) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let last = |word: &String| word.rsplit('/').next().unwrap_or(word).to_owned();
        let known = |name: &str| has(RUNNERS, name) || has(OF_DATABASES, name);
        let (runner, tasks) = if LAUNCHERS.contains(&base)
            && let Some(at) = words.iter().take(5).position(|word| known(&last(word)))
        {
            (words.get(at).map(last).unwrap_or_default(), words.get(at + 1..).unwrap_or_default())
        } else if known(base) {
            (base.to_owned(), words.as_slice())
        } else {
            return;
        };
        if tasks
            .iter()
            .any(|word| matches!(word.as_str(), "--help" | "-h" | "help" | "--dry-run" | "-n" | "--pretend" | "--sql"))
        {
            return;
        }
        let environment = self.environment(tasks);
        if matches!(environment.as_deref(), Some("test" | "testing" | "ci")) {
            return;
        }
        // What an object mapper makes of the tables (Doctrine ORM, "Schema-Tool").
        let altered = |word: &String| word.ends_with("schema:update") || word.ends_with("schema-tool:update");
        if tasks.iter().any(altered) && tasks.iter().any(|word| matches!(word.as_str(), "--force" | "-f")) {
            self.touch_named(Effect::Update, &format!("{runner} {}", tasks.join(" ")));
        }
        if migrates(&runner, tasks) {
            self.touch_named(Effect::Update, &format!("{runner} {}", tasks.join(" ")));
        }
        let database = has(OF_DATABASES, &runner);
        let said = tasks
            .iter()
            .filter(|word| !word.contains('=') || word.starts_with("--"))
            .find_map(|word| said(word, database));
        let back = undone(&runner, tasks);
        let Some(of_database) = said.or(back.then_some(true)) else { return };
        let what = format!("{runner} {}", tasks.join(" "));
        let production = environment.as_deref().is_some_and(is_production)
            || tasks.iter().any(|word| {
                word.split(['-', ':', '_', '=', '.', '/']).any(is_production)
                    || word.contains("DISABLE_DATABASE_ENVIRONMENT_CHECK")
            });
        if production && of_database {
            self.find(FindingKind::DestroysDatabase, format!("`{what}` takes away what production works on"));
        }
        self.touch_named(Effect::Delete, &what);
    }

    /// A task that by its name acts on what runs elsewhere: `make deploy`, `npm run release`.
    pub(super) fn judge_outward(&mut self, base: &str, rest: &[Word]) {
        const RUNS: &str = "make gmake just task rake gradle gradlew mvn mvnw invoke npm pnpm yarn bun composer mage cap mina kamal fab \
            fastlane dep shipit tox nox";
        // Tools for deployments name the stage first.
        let staged = matches!(base, "cap" | "mina" | "kamal" | "fab" | "fastlane" | "dep");
        let outward = |task: &String| {
            // `publishAllPublicationsToMavenCentralRepository`; what goes to the own machine's store goes nowhere.
            let lower = task.rsplit(':').next().unwrap_or(task).to_ascii_lowercase();
            let camel = matches!(base, "gradle" | "gradlew" | "mvn" | "mvnw")
                && ["publish", "deploy", "release", "upload", "push"].iter().any(|verb| lower.starts_with(verb))
                && !lower.contains("local");
            // Jib pushes what it builds; its other tasks build for this machine (Jib, "Quickstart").
            let jib = matches!(base, "gradle" | "gradlew" | "mvn" | "mvnw") && (lower == "jib" || task == "jib:build");
            camel
                || jib
                || task.split([':', '-', '_', '.']).any(|part| {
                    matches!(part, "deploy" | "rollout" | "publish" | "release" | "rollback" | "promote" | "undeploy")
                })
                // What is installed goes where the machine's own programs lie (GNU Make manual, "Standard Targets").
                || (matches!(base, "make" | "gmake") && matches!(task.as_str(), "install" | "uninstall"))
        };
        let task = |word: &String| {
            !word.starts_with('-') && !word.contains('=') && !matches!(word.as_str(), "run" | "run-script")
        };
        // Their tasks are the values of an option, several with commas between them (tox, "CLI interface"; Nox, "Command-line usage").
        let environments = matches!(base, "tox" | "nox");
        let words: Vec<String> =
            if environments { environments_of(rest) } else { rest.iter().map(Word::shown).collect() };
        let mut tasks = words.into_iter().filter(task);
        let several = staged
            || environments
            || matches!(base, "gradle" | "gradlew" | "mvn" | "mvnw" | "make" | "gmake" | "just" | "rake");
        // `bootBuildImage --publishImage` (Spring Boot Gradle plugin, "Packaging OCI Images").
        let published = rest.iter().map(Word::shown).find(|word| {
            matches!(base, "gradle" | "gradlew" | "mvn" | "mvnw")
                && word.trim_start_matches('-').to_ascii_lowercase().starts_with("publishimage")
        });
        if let Some(word) = published.filter(|word| !word.ends_with("=false")) {
            self.touch_named(Effect::Update, &format!("what {base} {word} deploys"));
        }
        let first = if several { tasks.find(outward) } else { tasks.next() };
        let says = |words: &[&str]| rest.iter().any(|word| word.constant().is_some_and(|text| words.contains(&text)));
        // A manager of packages only tries its own `publish`; a script gets the word and does with it what it will.
        let tries = match base {
            "make" | "gmake" | "just" | "rake" => says(&["-n", "--dry-run", "--just-print"]),
            "tox" | "nox" => says(&["-l", "--list", "--list-sessions", "--notest", "--showconfig", "--install-only"]),
            _ => first.as_deref() == Some("publish") && !says(&["run", "run-script"]) && says(&["--dry-run"]),
        };
        // Deployer's own words for a look (Deployer, "CLI").
        let looks = base == "dep"
            && rest.iter().map(Word::shown).find(|word| !word.starts_with('-')).is_some_and(|word| {
                matches!(word.as_str(), "tree" | "list" | "help" | "config" | "releases" | "status" | "completion")
            });
        if let Some(task) = first.filter(outward)
            && has(RUNS, base)
            && !looks
            && !tries
        {
            self.touch_named(Effect::Update, &format!("what {base} {task} deploys"));
        }
    }

    /// A script of the project that by its name acts on what runs elsewhere: `deploy/staging.sh`, `scripts/release`.
    pub(super) fn judge_deployment(&mut self, path: &str) {
        let lower = path.to_ascii_lowercase();
        let mut parts = lower.split(['/', '.', '-', '_']);
        if !self.files.contains_key(path) && parts.any(|part| matches!(part, "deploy" | "rollout" | "publish")) {
            self.touch_named(Effect::Update, &format!("what {path} deploys"));
        }
    }

    /// The environment that the task is told to work on.
    fn environment(&self, tasks: &[String]) -> Option<String> {
        let named = tasks.iter().find_map(|word| {
            let (name, value) = word.split_once('=')?;
            let name = name.trim_start_matches('-').to_ascii_uppercase().replace('-', "_");
            (ENVIRONMENT.contains(&name.as_str())).then(|| value.to_owned())
        });
        let option = || {
            tasks.windows(2).find_map(|pair| match pair {
                [name, value] if matches!(name.as_str(), "--env" | "-e" | "--environment" | "--stage") => {
                    Some(value.clone())
                }
                _ => None,
            })
        };
        let set = || {
            ENVIRONMENT.iter().find_map(|name| match self.scope.variable(name) {
                Some(Variable::Scalar(word)) => Some(word.shown()),
                _ => self.context.env.get(*name).cloned(),
            })
        };
        named.or_else(option).or_else(set).map(|name| name.to_ascii_lowercase())
    }
}

/// The environments that are named before `--`, which ends what is for the runner itself.
fn environments_of(rest: &[Word]) -> Vec<String> {
    let mut out = Vec::new();
    let mut named = false;
    for word in rest.iter().map(Word::shown).take_while(|word| word != "--") {
        let joined = ["-e", "-s", "--env=", "--session=", "--sessions=", "--tags=", "-t", "-m"];
        let option =
            matches!(word.as_str(), "-e" | "-s" | "--env" | "--session" | "--sessions" | "-t" | "--tags" | "-m");
        let value = joined.iter().find_map(|name| word.strip_prefix(name)).filter(|value| !value.is_empty());
        if option {
            named = true;
        } else if let Some(value) = value {
            out.extend(value.split(',').map(str::to_owned));
        } else if word.starts_with('-') {
            named = false;
        } else if named {
            // Of nox several words may be sessions.
            out.extend(word.split(',').map(str::to_owned));
        }
    }
    out
}

pub(super) fn is_production(word: &str) -> bool {
    matches!(word.to_ascii_lowercase().as_str(), "prod" | "production" | "live" | "prd")
}

/// A name in which capitals begin words, with a sign between them: `liquibaseDropAll`.
fn apart(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut before = ' ';
    for c in word.chars() {
        if c.is_ascii_uppercase() && before.is_ascii_lowercase() {
            out.push('-');
        }
        out.push(c);
        before = c;
    }
    out
}

/// Whether a word names a task that takes something away; with `true` where that is a database.
fn said(word: &str, database: bool) -> Option<bool> {
    let lower = apart(word).to_ascii_lowercase();
    let option = lower.starts_with('-');
    let bare = lower.trim_start_matches('-');
    // `--force-reset`, `--drop-all`; an option that says how is none.
    if option && !["reset", "drop", "wipe", "truncate", "data-loss"].iter().any(|part| bare.contains(part)) {
        return None;
    }
    let parts: Vec<&str> = bare.split([':', '-', '_', '.', '/', '=']).collect();
    let takes = parts.iter().any(|part| has(TAKES, part)) || bare.contains("data-loss");
    // `flywayClean`, `flyway:clean`: all that the schemas hold.
    if parts.contains(&"flyway") && parts.contains(&"clean") {
        return Some(true);
    }
    let again = parts.iter().any(|part| has(MADE_AGAIN, part));
    let queued = |part: &&str| {
        matches!(
            *part,
            "queue" | "queues" | "sidekiq" | "resque" | "celery" | "jobs" | "messenger" | "horizon" | "amqp" | "mq"
        )
    };
    if !option
        && parts.iter().any(queued)
        && parts.iter().any(|part| matches!(*part, "clear" | "empty" | "drain" | "purge" | "flush"))
    {
        return Some(false);
    }
    let negated = parts.first() == Some(&"no");
    if !takes || again || negated {
        return None;
    }
    Some(database || parts.iter().any(|part| DATABASE.contains(part) || part.ends_with("db")))
}

/// Whether a task changes what a database holds, one way or the other (Rails Guides, "Active Record Migrations"; Django,
/// "django-admin"; Flask-Migrate; Laravel, "Migrations").
fn migrates(runner: &str, tasks: &[String]) -> bool {
    let mut words = tasks.iter().map(String::as_str).filter(|word| !word.starts_with('-'));
    match runner {
        "rails" | "rake" => {
            words.any(|task| has("db:migrate db:rollback db:seed db:setup db:prepare db:schema:load", task))
        }
        "manage.py" | "django-admin" => words.next().is_some_and(|task| has("migrate loaddata", task)),
        "artisan" => words.next().is_some_and(|task| has("migrate migrate:rollback db:seed", task)),
        "prisma" => match (words.next(), words.next()) {
            (Some("db"), Some(task)) => has("push execute seed", task),
            (Some("migrate"), Some(task)) => has("dev deploy resolve", task),
            _ => false,
        },
        "flask" => words.next() == Some("db") && words.next().is_some_and(|task| has("upgrade downgrade stamp", task)),
        _ => false,
    }
}

/// Whether every change of a schema is taken back: `downgrade base`, `migrate APP zero`, `db:migrate:undo:all`, `VERSION=0`.
fn undone(runner: &str, tasks: &[String]) -> bool {
    let told = |name: &str| tasks.iter().any(|word| word == name);
    let first = tasks.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    match runner {
        "alembic" | "flask" => told("downgrade") && told("base"),
        "manage.py" | "django-admin" => (first == "migrate" && told("zero")) || first == "sqlflush",
        "flyway" => told("clean"),
        "liquibase" => tasks.iter().any(|word| matches!(word.as_str(), "dropAll" | "drop-all")),
        "sequelize" | "sequelize-cli" => tasks.iter().any(|word| word.ends_with("undo:all")),
        "knex" => told("--all") && tasks.iter().any(|word| word.contains("rollback")),
        "ef" => told("update") && told("0"),
        "rails" | "rake" => told("VERSION=0") || told("STEP=999"),
        "mix" => told("--all") && tasks.iter().any(|word| word.contains("rollback")),
        "phinx" => first == "rollback" && told("0"),
        "migrate" | "goose" => told("down-to") || (told("down") && told("-all")),
        _ => false,
    }
}
