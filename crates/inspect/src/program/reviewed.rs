//! Options by which a program does more than it was started for: takes over what somebody is to review, throws away what is kept, hands
//! results out, opens this machine to everybody, asks machines that only its own code names (the programs' manuals).

use countersign_plan::tool::Effect;

use super::tasks::has;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Word};

/// Programs that compare with what they once recorded, the word that has to stand there, what has them take over the new state unasked,
/// and where that is kept (Insta, "Using cargo insta"; syrupy; pytest-regressions; inline-snapshot; Jest, Vitest and AVA, "Command line";
/// Playwright, "Command line"; Bun, "Snapshots").
const ACCEPTING: &[(&str, &str, &str, &str)] = &[
    ("cargo cargo-insta", "insta", "--accept --accept-unseen accept", "**/snapshots/*.snap"),
    ("pytest py.test", "", "--snapshot-update --force-regen --regen-all", "**/__snapshots__/*.ambr"),
    ("pytest py.test", "", "--inline-snapshot=fix --inline-snapshot=update --inline-snapshot=trim", "**/test_*.py"),
    ("jest vitest ava playwright", "", "-u --update --updateSnapshot --update-snapshots", "**/__snapshots__/*.snap"),
    ("npm pnpm yarn bun", "test", "-u --update --updateSnapshot --update-snapshots", "**/__snapshots__/*.snap"),
];

/// Programs, the word that has to stand there, and what has them throw away what no source asks for any more (Qt, "lupdate"; Insta,
/// "Unreferenced snapshots").
const DROPPING: &[(&str, &str, &str, &str)] = &[
    (
        "lupdate lupdate-qt5 lupdate-qt6",
        "",
        "-no-obsolete -noobsolete",
        "entries that the sources do not have any more",
    ),
    ("cargo cargo-insta", "insta", "--unreferenced=delete", "snapshots that no test asks for"),
];

/// Programs that start a package of whatever name, and their words for it.
const STARTERS: &str = "npx bunx pnpx uvx pipx npm pnpm yarn bun";
const STARTING: &str = "exec dlx x run";

/// Packages that lead whoever knows an address to a port of this machine (their own pages).
const TUNNELS: &str = "localtunnel lt ngrok @expo/ngrok untun tunnelmole tmole zrok bore loclx localxpose expose beame pagekite pinggy instatunnel \
    cloudflared";

/// Targets by which a build submits what its tests found (CMake, "CTest": `include(CTest)` adds them).
const SUBMITTING: &str = "Experimental Nightly Continuous ExperimentalSubmit NightlySubmit ContinuousSubmit";

/// Words that end a tunnel, or only ask about it.
const ENDING: &str = "status kill prune unregister help --help -h --version";

/// Programs that keep keys or passwords in their memory (ssh-agent(1), gpg-agent(1), gnome-keyring-daemon(1)).
const AGENTS: &[&str] = &["ssh-agent", "gpg-agent", "gnome-keyring", "keepass", "1password", "bitwarden", "kwallet"];

impl Machine<'_> {
    /// Looks at a program that is about to run.
    pub(super) fn judge_reviewed(&mut self, base: &str, rest: &[Word]) {
        let words: Vec<String> = rest.iter().map(Word::shown).collect();
        let says = |list: &str| {
            let pair = |pair: &[String]| matches!(pair, [name, value] if has(list, &format!("{name}={value}")));
            words.iter().any(|word| has(list, word)) || words.windows(2).any(pair)
        };
        let fits =
            |programs: &str, word: &str| has(programs, base) && (word.is_empty() || words.iter().any(|w| w == word));
        for (programs, word, options, kept) in ACCEPTING {
            if fits(programs, word) && says(options) {
                // They are compared before they are written.
                self.touch_path(Effect::Read, &Word::pattern(kept), false);
                self.change_in_place(Effect::Update, &Word::pattern(kept), false);
            }
        }
        for (programs, word, options, what) in DROPPING {
            if fits(programs, word) && says(options) {
                self.touch_named(Effect::Delete, &format!("{what}, by `{base}`"));
            }
        }
        match base {
            "ctest" | "ctest3" => self.results_submitted(&words),
            "make" | "gmake" | "ninja" | "ninja-build" | "cmake" if words.iter().any(|word| has(SUBMITTING, word)) => {
                self.touch_named(Effect::Send, "the dashboard to which `ctest` submits results");
            }
            // A machine whose shell is opened through the maker's servers (Visual Studio Code, "Remote Tunnels").
            "code" | "code-insiders"
                if words.first().is_some_and(|word| word == "tunnel")
                    && !words.iter().any(|word| has(ENDING, word)) =>
            {
                self.touch_named(Effect::Send, "this machine, which `code tunnel` opens to whoever signs in");
            }
            "lt" | "localtunnel" | "untun" | "tunnelmole" | "tmole" if !words.iter().any(|word| has(ENDING, word)) => {
                self.touch_named(Effect::Send, &format!("a port of this machine, which `{base}` opens to everybody"));
            }
            "scrapy" => self.crawls(&words),
            "gcore" => self.memory_of_agents(rest),
            "conan" => self.installs_settings(&words),
            _ if has(STARTERS, base) => self.opens_tunnel(&words),
            _ => {}
        }
    }

    /// Hooks and extensions that run with every command from then on (Conan, "config install").
    fn installs_settings(&mut self, words: &[String]) {
        let installs =
            |pair: &[String]| matches!(pair, [config, install] if config == "config" && install == "install");
        if words.windows(2).any(installs) && words.iter().any(|word| word.contains("://")) {
            let message = "`conan config install` brings in code that later commands run";
            self.find(FindingKind::DownloadAndExecute, message);
        }
    }

    /// `-T Submit`: what was found goes to the server that the project's settings name (ctest(1), "Dashboard Client").
    fn results_submitted(&mut self, words: &[String]) {
        let submits = |action: &str| action.eq_ignore_ascii_case("submit");
        let told = words.windows(2).any(|pair| {
            matches!(pair, [option, action] if matches!(option.as_str(), "-T" | "--test-action") && submits(action))
        });
        let joined = words
            .iter()
            .any(|word| word.strip_prefix("--test-action=").or_else(|| word.strip_prefix("-T")).is_some_and(submits));
        if told || joined {
            self.touch_named(Effect::Send, "the dashboard to which `ctest` submits results");
        }
    }

    /// Which machines a spider asks its own code says; an argument that names this machine says it here (Scrapy, "Command line tool").
    fn crawls(&mut self, words: &[String]) {
        let mut hosts =
            words.iter().filter_map(|word| word.split_once("://")?.1.split(['/', '?', '#']).next()).peekable();
        let here = hosts.peek().is_some() && hosts.all(crate::host::is_local);
        if words.iter().find(|word| !word.starts_with('-')).is_some_and(|word| word == "crawl") && !here {
            let message = "which machines the spider of `scrapy` asks stands in its own code";
            self.unknown(UnknownKind::Value, Effect::Send, message);
        }
    }

    /// `npx localtunnel --port 5173`, whether the package is the project's own or fetched.
    fn opens_tunnel(&mut self, words: &[String]) {
        let mut names = words.iter().filter(|word| !word.starts_with('-') && !has(STARTING, word));
        let Some(name) = names.next() else { return };
        let bare = name.rfind('@').filter(|at| *at > 0).and_then(|at| name.get(..at)).unwrap_or(name);
        let tunnels =
            has(TUNNELS, bare) && (bare != "cloudflared" || names.next().is_some_and(|word| word == "tunnel"));
        if tunnels {
            self.touch_named(Effect::Send, &format!("a port of this machine, which `{bare}` opens to everybody"));
        }
    }

    /// The memory of a program that keeps keys is the keys: `gcore -o PREFIX PID` writes `PREFIX.PID` (gcore(1)).
    fn memory_of_agents(&mut self, rest: &[Word]) {
        let (mut prefix, mut rest) = (Word::text("core"), rest.iter());
        while let Some(word) = rest.next() {
            if word.constant() == Some("-o") {
                prefix = rest.next().cloned().unwrap_or(prefix);
                continue;
            }
            let shown = word.shown();
            if shown.starts_with('-') || !AGENTS.iter().any(|agent| shown.contains(agent)) {
                continue;
            }
            self.find(
                FindingKind::Secret,
                format!("`gcore` writes down the memory of a program that keeps keys ({shown})"),
            );
            let mut file = prefix.clone();
            file.push_str(".");
            file.append(word);
            for path in self.paths(&file) {
                self.files.entry(path).or_default().sources.insert("secret".to_owned());
            }
        }
    }
}
