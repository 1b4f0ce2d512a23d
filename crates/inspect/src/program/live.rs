//! What a line does to what people use: opened to every machine, told to work on production, code that a framework runs among its own
//! records.

use countersign_plan::tool::Effect;

use super::tasks::{has, is_production};
use crate::code::Language;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Stream, Word};

/// Programs whose words are texts or the address of somebody else.
const TELLING: &str = "echo printf grep egrep fgrep rg ag sed awk gawk cat jq git ss netstat lsof curl wget http xh ping nc psql mysql \
    sqlite3 tee test [ diff cut tr head tail find xargs env export read";

/// Options that say where a server listens.
const LISTENING: &str = "--host --hostname --bind --bind-address --bind-addr --ip --address --addr --listen --listen-address \
    --server.address --server-address --http-address --interface -b -H -a -l";

/// Options that say what a tool works on.
const WORKING_ON: &str = "--target --env --environment --stage --rails-env --app-env --deploy-env -e --to --on";

/// Tools that work on what runs elsewhere, or on data, as their environment says.
const TOOLS: &str = "dbt sqlmesh airflow dagster prefect meltano kedro rails rake cap mina fastlane kamal fab invoke serverless sls \
    knex sequelize prisma alembic flyway liquibase manage.py artisan console mix wp drush";

/// Words of a command that builds or only looks.
const MILD: &str = "build compile install ci lint test plan diff check list ls show validate parse docs status get describe logs help \
    --help --dry-run --dryrun --check --noop synth preview routes about version stats notes";

/// Whether a word is every address of this machine, alone or before a port.
fn is_every_address(word: &str) -> bool {
    let word = word.trim_matches(['\'', '"']);
    ["0.0.0.0", "[::]", "::"].contains(&word) || word.starts_with("0.0.0.0:") || word.starts_with("[::]:")
}

impl Machine<'_> {
    pub(super) fn judge_live(&mut self, base: &str, rest: &[Word]) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        self.judge_listening(base, &words);
        self.judge_production(base, &words);
        self.runs_among_records(base, &words);
        self.dumps_accounts(base, &words);
        self.judge_image(base, &words);
        self.judge_powers(base, &words);
    }

    /// An account that is given all there is (the command lines of WordPress, Django, Nextcloud, GitLab and Keycloak).
    fn judge_powers(&mut self, base: &str, words: &[String]) {
        let all = |role: &str| {
            let role = role.to_ascii_lowercase();
            ["admin", "administrator", "owner", "root", "superuser", "superadmin", "sysadmin"]
                .contains(&role.trim_matches(['\'', '"']))
        };
        let names = "--role --roles --group --groups --user-role --access-level --permission --permissions";
        let option = |word: &String| word.split_once('=').is_some_and(|(name, value)| has(names, name) && all(value));
        let pair = |pair: &[String]| matches!(pair, [name, value] if has(names, name) && all(value));
        let gives = |word: &String| {
            matches!(word.as_str(), "create" | "add" | "update" | "set" | "grant" | "invite" | "add-role" | "set-role")
        };
        let given = words.iter().any(gives) && (words.iter().any(option) || words.windows(2).any(pair));
        let super_user =
            words.iter().any(|word| word == "createsuperuser" || word == "--superuser" || word == "--admin")
                && !has(TELLING, base);
        if given || super_user {
            self.touch_named(Effect::Admin, &format!("an account that `{base}` gives all powers"));
        }
    }

    /// An image of a registry that is no usual one, started with the whole machine in its hands.
    fn judge_image(&mut self, base: &str, words: &[String]) {
        if !matches!(base, "docker" | "podman" | "nerdctl" | "singularity" | "apptainer")
            || !words.iter().any(|word| matches!(word.as_str(), "run" | "create" | "exec"))
        {
            return;
        }
        let whole = words.iter().any(|word| word.starts_with("/:") || word == "--privileged" || word.contains("=/:"));
        let home = self.context.home.clone();
        let whole = whole || words.iter().any(|word| word.starts_with(&format!("{home}:")));
        // Whoever talks to that socket starts containers with all of the machine (Docker, "Protect the Docker daemon socket").
        let socket = words.iter().any(|word| word.contains("docker.sock:") || word.contains("podman.sock:"));
        let registry = |word: &String| {
            let word = word.strip_prefix("docker://").unwrap_or(word);
            let (host, rest) = word.split_once('/')?;
            (!word.starts_with(['-', '/', '.']) && host.contains('.') && !host.contains(['=', ':']) && !rest.is_empty())
                .then(|| host.to_owned())
        };
        let usual = |host: &String| super::sources::REGISTRIES.contains(&host.as_str());
        if let Some(host) = words.iter().find_map(registry).filter(|host| whole || (socket && !usual(host))) {
            self.find(FindingKind::DownloadAndExecute, format!("an image of {host} is given the whole machine"));
        }
    }

    /// A server or a tunnel that every other machine reaches.
    fn judge_listening(&mut self, base: &str, words: &[String]) {
        let tunnels = base == "ssh"
            && words.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('g'))
            && words.iter().any(|word| word.starts_with("-L") || word.starts_with("-D"));
        let option = |word: &String| {
            word.split_once('=').is_some_and(|(name, value)| has(LISTENING, name) && is_every_address(value))
        };
        let pair = |pair: &[String]| matches!(pair, [name, value] if has(LISTENING, name) && is_every_address(value));
        let published = |word: &String| word.starts_with("0.0.0.0:") || word.starts_with("[::]:");
        let listens = words.iter().any(|word| option(word) || published(word)) || words.windows(2).any(pair);
        if tunnels || (listens && !has(TELLING, base)) {
            self.touch_named(Effect::Admin, &format!("a port that `{base}` opens to every other machine"));
        }
    }

    /// A script of the project, or a tool for data and deployments, that is told to work on production.
    fn judge_production(&mut self, base: &str, words: &[String]) {
        if words.iter().any(|word| word.split([':', '-', '_']).any(|part| has(MILD, part)) || has(MILD, word)) {
            return;
        }
        let interprets = matches!(
            base.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.'),
            "python" | "node" | "ruby" | "perl" | "php" | "bash" | "sh" | "tsx" | "ts-node" | "deno" | "bun"
        );
        let script = |word: &String| !word.starts_with('-') && word.contains(['/', '.']);
        let own = (interprets && words.iter().find(|word| !word.starts_with('-')).is_some_and(script))
            || base.ends_with(".sh");
        let option = |word: &String| {
            word.split_once('=').is_some_and(|(name, value)| has(WORKING_ON, name) && is_production(value))
        };
        let pair = |pair: &[String]| matches!(pair, [name, value] if has(WORKING_ON, name) && is_production(value));
        let flag = |word: &String| matches!(word.as_str(), "--live" | "--prod" | "--production");
        let told = words.iter().any(|word| option(word) || (flag(word) && (own || has(TOOLS, base))))
            || words.windows(2).any(pair);
        let staged = matches!(base, "cap" | "mina" | "kamal") && words.iter().any(|word| is_production(word));
        if (told || staged) && (own || has(TOOLS, base)) {
            self.touch_named(Effect::Update, &format!("what `{base}` works on in production"));
        }
    }

    /// Accounts with the hashes of their passwords, and sessions by whose keys anybody is somebody (Django, `dumpdata`,
    /// `django.contrib.auth`, `django.contrib.sessions`).
    fn dumps_accounts(&mut self, base: &str, words: &[String]) {
        let account = |word: &String| has("auth auth.user sessions sessions.session authtoken authtoken.token", word);
        if matches!(base, "manage.py" | "django-admin")
            && words.iter().any(|word| word == "dumpdata")
            && let Some(what) = words.iter().find(|word| account(word))
        {
            self.find(FindingKind::Secret, format!("`{base} dumpdata` shows what {what} keeps of accounts"));
        }
    }

    /// Code that a framework runs with the application loaded: it changes records and sends mails by calls of the application's own
    /// (Rails command line, `runner`; Django, `shell --command`; Laravel, `tinker --execute`).
    pub(super) fn runs_among_records(&mut self, base: &str, words: &[String]) {
        let after = |names: &[&str]| {
            let at = words.iter().position(|word| names.contains(&word.as_str()))?;
            words.get(at + 1..)
        };
        let code = |words: &[String]| {
            words.iter().find(|word| word.contains(['(', '.', ' ', '=']) && !word.starts_with('-')).cloned()
        };
        let found = match base {
            "rails" => after(&["runner", "r"]).and_then(code).map(|code| (Language::Ruby, code)),
            "manage.py" | "django-admin" => {
                after(&["-c", "--command"]).and_then(<[String]>::first).cloned().map(|code| (Language::Python, code))
            }
            "artisan" => words
                .iter()
                .find_map(|word| word.strip_prefix("--execute="))
                .map(|code| (Language::Php, code.to_owned())),
            _ => None,
        };
        let Some((language, code)) = found.filter(|(_, code)| !code.ends_with(".rb")) else { return };
        let lower: String = code.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_ascii_lowercase();
        const CHANGING: &[&str] = &[
            "delete",
            "destroy",
            "update",
            "save",
            "create",
            "insert",
            "upsert",
            "increment",
            "decrement",
            "toggle",
            "touch(",
            "truncate",
            "execute(",
            "drop_",
            "write(",
            "<<",
            "perform_",
            "enqueue",
            "deliver",
            "send_mail",
            "notify",
            "dispatch",
            "charge",
            "refund",
            "cancel",
            "grant",
            "add_role",
            "role=",
            "admin=",
            "password=",
        ];
        if CHANGING.iter().any(|call| lower.contains(call)) {
            self.touch_named(Effect::Update, &format!("records of the application, by `{base}`"));
        }
        if lower.contains("credentials") || lower.contains("application.secrets") {
            self.find(FindingKind::Secret, format!("`{base}` is given code that reads the application's credentials"));
        }
        let since = self.out.touches.len();
        self.code(language, &code);
        let hosts: Vec<String> = self
            .out
            .touches
            .iter()
            .skip(since)
            .filter(|touch| touch.kind == countersign_plan::tool::TargetKind::Host)
            .map(|touch| touch.name.clone())
            .collect();
        if lower.contains("credentials") || lower.contains("application.secrets") {
            hosts.iter().for_each(|host| self.leaves("secret", host));
        }
    }

    /// C that starts itself again without end, given to a compiler.
    pub(super) fn compiles_without_end(&mut self, base: &str, stdin: &Stream) {
        if !matches!(base, "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "tcc") {
            return;
        }
        let endless = |text: &str| {
            let tight: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            let loops = ["for(;;)", "while(1)", "while(true)"]
                .iter()
                .any(|head| tight.split(head).skip(1).any(|body| body.trim_start_matches('{').starts_with("fork()")));
            loops || tight.contains("while(fork()") || tight.contains("gotor;fork()")
        };
        if stdin.known().any(endless) {
            self.find(FindingKind::ForkBomb, format!("what `{base}` compiles starts itself without end"));
        }
    }
}
