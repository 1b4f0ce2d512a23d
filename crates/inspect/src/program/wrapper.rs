//! Settings and addresses that make a harmless program run something: of git, ssh, socat and containers.

use countersign_plan::tool::{Effect, TargetKind};

use super::apply::Doing;
use crate::catalogue::Role;
use crate::inspection::{FindingKind, UnknownKind};
use crate::machine::{Machine, Stream, Word};

/// Settings of git whose value is a command or decides where code or credentials come from (git-config manual).
const GIT_RUNS: &[&str] = &[
    "core.fsmonitor",
    "core.sshcommand",
    "core.pager",
    "core.editor",
    "core.askpass",
    "core.hookspath",
    "core.gitproxy",
    "core.alternaterefscommand",
    "sequence.editor",
    "credential.helper",
    "diff.external",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "gpg.ssh.defaultkeycommand",
    "uploadpack.packobjectshook",
    "init.templatedir",
    "include.path",
    "protocol.ext.allow",
    "web.browser",
    "browser.",
    "interactive.difffilter",
    "http.proxy",
    "http.sslverify",
    "http.sslcainfo",
    "http.cookiefile",
    "core.worktree",
    "ssh.variant",
    "trailer.",
    "sendemail.smtpserver",
];

/// The ends of such names with a free part in the middle.
const GIT_RUNS_ENDS: &[&str] = &[
    ".textconv",
    ".command",
    ".cmd",
    ".path",
    ".helper",
    ".clean",
    ".smudge",
    ".process",
    ".driver",
    ".program",
    ".proxy",
    ".insteadof",
    ".pushinsteadof",
    ".uploadpack",
    ".receivepack",
    ".vcs",
    ".editor",
    ".pager",
];

/// Settings of ssh that run a local command or load code (ssh_config manual).
const SSH_RUNS: &[&str] = &[
    "proxycommand",
    "localcommand",
    "knownhostscommand",
    "pkcs11provider",
    "securitykeyprovider",
    "include",
    "xauthlocation",
    "proxyusefdpass",
];

/// Programs of ImageMagick and GraphicsMagick.
const PICTURES: &[&str] =
    &["convert", "magick", "montage", "composite", "compare", "identify", "mogrify", "gm", "import"];

/// What stands before a command where GhostScript takes the name of a file.
pub(super) const PIPE: &str = "%pipe%";

/// The words of such a command: they are separated by blanks, of which one behind `%` is a part of a word; `%S` and `%s` are what the
/// other end is asked for, and words that begin with `%G` or `%V` are not handed on (git-remote-ext(1)).
fn helper(line: &str) -> Vec<String> {
    let words = line.replace("% ", "\0");
    let words = words.split(' ').filter(|word| !(word.is_empty() || word.starts_with("%G") || word.starts_with("%V")));
    let asked = |word: &str| word.replace("%S", "git-upload-pack").replace("%s", "upload-pack");
    words.map(|word| asked(&word.replace('\0', " ")).replace("%%", "%")).collect()
}

impl Machine<'_> {
    /// `-c name=value` and `git config name value` of git.
    pub(crate) fn git_config(&mut self, word: &Word) {
        let text = word.shown();
        let (name, value) = text.split_once('=').map_or((text.as_str(), None), |(name, value)| (name, Some(value)));
        let name = name.to_ascii_lowercase();
        if let Some(value) = value
            && name.starts_with("alias.")
        {
            let value = value.to_owned();
            match value.strip_prefix('!') {
                Some(line) => {
                    self.script(line, &Stream::unknown());
                }
                None => self.unknown(
                    UnknownKind::Option,
                    Effect::Execute,
                    format!("the git alias {name} stands for `{value}`"),
                ),
            }
            return;
        }
        if let Some(line) = value.filter(|_| name.ends_with("url")).and_then(|value| value.strip_prefix("ext::")) {
            self.by_helper(&name, line);
            return;
        }
        let runs = GIT_RUNS.iter().any(|run| name.starts_with(run))
            || GIT_RUNS_ENDS.iter().any(|end| name.ends_with(end) && name.matches('.').count() >= 2)
            || name.starts_with("pager.");
        let harmless = matches!(value, Some("" | "false" | "cat" | "true" | ":" | "/dev/null" | "less"))
            && !matches!(name.as_str(), "http.sslverify" | "protocol.ext.allow");
        if let Some(value) = value.filter(|_| runs && !harmless && !crate::shell::is_deep()) {
            self.runs_later(value);
            let inner = crate::shell::shell(value.trim_start_matches('!'), self.context);
            // A helper is given what lets in (gitcredentials(7)).
            let sends = |touch: &&crate::inspection::Touch| {
                matches!(touch.kind, TargetKind::Host | TargetKind::Url) && touch.effect == Effect::Send
            };
            if name.starts_with("credential.") && name.ends_with("helper") {
                let hosts: Vec<String> = inner.touches.iter().filter(sends).map(|touch| touch.name.clone()).collect();
                hosts.iter().for_each(|host| self.leaves("secret", host));
            }
            self.absorb_grave(inner);
        }
        if runs && !harmless {
            self.find(FindingKind::LoadsCode, format!("the git setting {text} decides which code runs"));
        }
    }

    /// A command in the place of a connection, as a setting names it.
    fn by_helper(&mut self, name: &str, line: &str) {
        let words = helper(line);
        self.find(FindingKind::LoadsCode, format!("the git setting {name} has `{}` run", words.join(" ")));
        if crate::shell::is_deep() {
            return;
        }
        for inner in
            [crate::shell::argv(&words, self.context), crate::shell::shell(&line.replace("% ", " "), self.context)]
        {
            self.absorb_grave(inner);
        }
    }

    /// The same behind `ext::` in an address.
    fn behind_address(&mut self, line: &str) {
        self.find(FindingKind::LoadsCode, format!("the address `ext::{line}` runs a command"));
        self.start(helper(line).into_iter().map(Word::text).collect(), Stream::unknown());
        // Whoever leaves the signs out means the same.
        let inner = crate::shell::shell(&line.replace("% ", " "), self.context);
        self.absorb_grave(inner);
    }

    /// `git config NAME VALUE`: what git is told to run.
    pub(crate) fn git_settings(&mut self, base: &str, rest: &[Word]) {
        if base != "git" {
            return;
        }
        // An alias is no subcommand that any catalogue has.
        for pair in rest.windows(2) {
            let [option, alias] = pair else { continue };
            if option.constant() == Some("-c") && alias.shown().to_ascii_lowercase().starts_with("alias.") {
                self.git_config(alias);
            }
        }
        if rest.iter().all(|word| word.constant() != Some("config")) {
            return;
        }
        for pair in rest.windows(2) {
            let [name, value] = pair else { continue };
            if let (Some(name), Some(value)) = (name.constant(), value.constant())
                && name.contains('.')
                && (value.contains([' ', ';', '|', '/'])
                    || self.paths(&Word::text(value)).iter().any(|path| self.files.contains_key(path)))
            {
                self.git_config(&Word::text(format!("{name}={value}")));
            }
        }
    }

    /// `-o Name=value` of ssh.
    pub(crate) fn ssh_config(&mut self, word: &Word) {
        let text = word.shown();
        let (name, value) = text.split_once(['=', ' ']).unwrap_or((text.as_str(), ""));
        let name = name.to_ascii_lowercase();
        if name.ends_with("command") && SSH_RUNS.contains(&name.as_str()) {
            let value = value.trim_start_matches(['=', ' ']).to_owned();
            if value != "none" {
                self.find(FindingKind::LoadsCode, format!("the ssh setting {text} runs a command here"));
                self.script(&value, &Stream::unknown());
            }
        } else if SSH_RUNS.contains(&name.as_str()) {
            self.find(FindingKind::LoadsCode, format!("the ssh setting {text} decides which code runs"));
        } else if name == "stricthostkeychecking" && value.trim() == "no" {
            self.find(FindingKind::DisablesProtection, "ssh accepts any host key");
        }
    }

    /// `source:target[:options]` of a container, or `type=bind,source=…`.
    pub(crate) fn volume(&mut self, word: &Word) {
        let text = word.shown();
        let source = if text.contains("type=") || text.contains("source=") || text.contains("src=") {
            text.split(',')
                .find_map(|field| field.strip_prefix("source=").or_else(|| field.strip_prefix("src=")))
                .map(str::to_owned)
        } else {
            text.split_once(':').map(|(source, _)| source.to_owned())
        };
        let Some(source) = source.filter(|source| source.starts_with(['/', '.', '~', '$']) || source.contains('/'))
        else {
            return;
        };
        let read_only = text.contains(":ro") || text.contains("readonly");
        let home = self.paths(&Word::text(source.as_str())).iter().any(|path| {
            let home = self.context.home.trim_end_matches('/');
            path == home || crate::path::is_below(home, path)
        });
        let of_machine =
            source.ends_with("docker.sock") || ["/etc", "/proc"].iter().any(|start| source.starts_with(start));
        if source == "/" || home || of_machine {
            self.find(FindingKind::Elevation, format!("a container is given {source} of this machine"));
        }
        let effect = if read_only { Effect::Read } else { Effect::Update };
        // A mount is not yet a change of everything below it.
        let narrowed = std::mem::replace(&mut self.narrowed, true);
        self.touch_path(effect, &Word::text(source), true);
        self.narrowed = narrowed;
    }

    /// A picture of ImageMagick: a file, or a coder before a colon (its manual, "Formats"; `msl` runs a script, `ephemeral` removes
    /// the file once it is read).
    pub(super) fn picture(&mut self, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        let (coder, rest) = text.split_once(':').unwrap_or(("", text.as_str()));
        let file = Word::text(rest);
        doing.reads = true;
        match coder.to_ascii_lowercase().as_str() {
            // A command, whatever it is that it prints.
            _ if rest.starts_with('|') && !word.has_hole() => {
                drop(self.script(rest.trim_start_matches('|'), &Stream::unknown()))
            }
            "msl" => self.touch_path(Effect::Execute, &file, false),
            "ephemeral" => self.touch_path(Effect::Delete, &file, false),
            "http" | "https" | "ftp" => doing.hosts.push(word.clone()),
            "xc" | "canvas" | "gradient" | "plasma" | "pattern" | "rose" | "logo" | "wizard" | "null" | "fractal"
            | "mpr" | "inline" | "radial-gradient" | "hald" | "netscape" | "granite" => {}
            "label" | "caption" | "pango" if !rest.starts_with('@') => {}
            "" => {
                let read = self.read_file(word);
                doing.take(read);
            }
            _ => {
                let read = self.read_file(&Word::text(rest.trim_start_matches('@')));
                doing.take(read);
            }
        }
    }

    /// Files with more options, which are not known (gcc(1), "@file"; javac(1), "Argument Files"; ar(1)): the words without them.
    pub(super) fn without_argument_files<'w>(&mut self, base: &str, rest: &'w [Word]) -> std::borrow::Cow<'w, [Word]> {
        const TAKING: &[&str] = &[
            "gcc", "g++", "cpp", "clang", "clang++", "tcc", "ld", "ar", "nm", "objcopy", "objdump", "javac", "java",
            "javadoc", "rustc", "swiftc", "ocamlopt",
        ];
        let named = |word: &Word| word.prefix().starts_with('@');
        let takes = || {
            base.starts_with("ld.")
                || base.starts_with("lld")
                || TAKING.iter().any(|tool| crate::catalogue::is_same(base, tool))
        };
        if !rest.iter().any(named) || !takes() {
            return rest.into();
        }
        // What stands behind an archive of Java's goes to the program in it.
        let end = rest.iter().position(|word| word.constant() == Some("-jar")).unwrap_or(rest.len());
        for word in rest.iter().take(end).filter(|word| named(word)) {
            if let Some(file) = word.skip(1) {
                self.touch_path(Effect::Execute, &file, false);
            }
            let message = format!("which options {} holds for `{}` is not known", word.shown(), self.by);
            self.unknown(UnknownKind::Option, Effect::Execute, message);
        }
        rest.iter().enumerate().filter(|(i, word)| *i >= end || !named(word)).map(|(_, word)| word.clone()).collect()
    }

    /// An address in the place of a file that is read.
    fn elsewhere_named(&mut self, role: Role, word: &Word) -> bool {
        if !matches!(role, Role::Read | Role::ReadTree) {
            return false;
        }
        let name = word.prefix();
        let fetched =
            ["http://", "https://", "ftp://", "git://", "ssh://"].iter().any(|scheme| name.starts_with(scheme));
        if fetched {
            self.touch_host(word);
            if word.has_hole() {
                let origin = self.origin_of(word);
                self.send(&origin, word);
            }
        }
        fetched
    }

    /// A name that is no file: a command, of which what it prints is read, or what is written goes to it (sox(1), "Special Filenames"; ImageMagick's
    /// manual, "Filename References"; git-remote-ext(1)). Whether it is one.
    pub(super) fn named_command(&mut self, role: Role, word: &Word) -> bool {
        if self.elsewhere_named(role, word) {
            return true;
        }
        let (read, git) = (matches!(role, Role::Read | Role::Write | Role::Picture), self.by == "git");
        if !(read || git) {
            return false;
        }
        let name = word.prefix();
        if role == Role::Write && PICTURES.contains(&self.by.as_str()) && self.written_by_coder(word) {
            return true;
        }
        let (file, helper) = (read && name.starts_with('|'), git && name.starts_with("ext::"));
        // GhostScript's (its manual, "%pipe%").
        let pipe = if read && super::embedded::draws(&self.by) && name.starts_with(PIPE) { PIPE.len() } else { 1 };
        let file = file || pipe > 1;
        if let Some(line) = word.constant().and_then(|word| word.strip_prefix("ext::")).filter(|_| helper) {
            let line = line.to_owned();
            self.behind_address(&line);
            return true;
        }
        if let Some(line) = word.skip(pipe).filter(|_| file) {
            self.shell_text(&line, &Stream::unknown());
        }
        file
    }

    /// `CODER:FILE`, where a coder may show the picture, keep it, or write it to the output or to the file (ImageMagick's manual, "Formats").
    /// Whether it is one.
    fn written_by_coder(&mut self, word: &Word) -> bool {
        let text = word.prefix();
        let Some((coder, file)) = text.split_once(':') else { return false };
        let coder = coder.to_ascii_lowercase();
        let named = coder.len() > 1 && coder.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        if !named || coder == "msl" {
            return false;
        }
        let shows =
            file.is_empty() && !word.has_hole() && matches!(coder.as_str(), "info" | "null" | "x" | "show" | "win");
        if !(shows || coder == "mpr" || (file == "-" && !word.has_hole()))
            && let Some(file) = word.skip(coder.len() + 1)
        {
            match file.skip(1).filter(|_| file.prefix().starts_with('|')) {
                Some(line) => drop(self.shell_text(&line, &Stream::unknown())),
                None => self.write_file(&file, Stream::unknown(), false),
            }
        }
        true
    }

    /// An address of `socat` (its manual, "Address specifications").
    pub(super) fn socat(&mut self, word: &Word, doing: &mut Doing) {
        let text = word.shown();
        let (kind, rest) = text.split_once(':').unwrap_or((text.as_str(), ""));
        let body = rest.split(',').next().unwrap_or("").to_owned();
        match kind.to_ascii_uppercase().as_str() {
            "EXEC" | "SYSTEM" | "SHELL" => {
                let program = body.split_whitespace().next().unwrap_or("").to_owned();
                if super::is_shell(&program) {
                    self.find(FindingKind::ReverseShell, format!("`socat` connects `{program}` to its other end"));
                }
                self.script(&body, &Stream::unknown());
            }
            "TCP" | "TCP4" | "TCP6" | "TCP-CONNECT" | "TCP4-CONNECT" | "OPENSSL" | "SSL" | "OPENSSL-CONNECT"
            | "UDP" | "UDP4" | "UDP-CONNECT" | "SOCKS4" | "SOCKS4A" | "PROXY" => {
                doing.hosts.push(Word::text(body));
                doing.sent.get_or_insert_with(Stream::unknown);
            }
            // Opened for both ways, unless an option says otherwise.
            "OPEN" | "CREATE" | "FILE" | "GOPEN" => {
                let file = Word::text(body);
                self.touch_path(Effect::Update, &file, false);
                let held = self.read_file(&file);
                doing.sent = Some(doing.sent.take().unwrap_or_else(Stream::empty).then(held));
            }
            "-" | "STDIO" | "STDIN" | "STDOUT" | "STDERR" | "PIPE" | "FD" => {}
            // A terminal of this machine, under the name that is asked for.
            own if own == "PTY" || own.starts_with("PTY,") => {
                let link = text.split(',').find_map(|option| option.strip_prefix("link="));
                if let Some(link) = link.filter(|link| !link.is_empty()) {
                    self.touch_path(Effect::Create, &Word::text(link), false);
                }
            }
            // Behind a socket of the machine's own is whoever rules it.
            "UNIX-LISTEN" | "UNIX-L" | "UNIX-CONNECT" | "UNIX-CLIENT" | "UNIX"
                if self
                    .paths(&Word::text(body.as_str()))
                    .iter()
                    .all(|path| path.starts_with("/tmp/") || crate::path::is_below(path, &self.context.cwd)) =>
            {
                self.touch_path(Effect::Update, &Word::text(body), false);
            }
            _ if kind.to_ascii_uppercase().contains("LISTEN") => {
                self.touch_other(Effect::Send, TargetKind::Host, format!("localhost:{body}"));
            }
            _ => self.unknown(UnknownKind::Option, Effect::Execute, format!("`socat` gets the address `{text}`")),
        }
    }
}
