//! What is restricted, trusted by others or Countersign's own on every machine, each with its reason. No document removes a line.

/// A path pattern and why it is here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// The pattern, in the language of [`crate::paths`].
    pub(super) pattern: &'static str,
    /// Why, for people.
    pub(super) reason: &'static str,
}

const fn line(pattern: &'static str, reason: &'static str) -> Line {
    Line { pattern, reason }
}

const SSH: &str = "keys that open other machines";
const CLOUD: &str = "credentials of a cloud account";
const TOKEN: &str = "tokens that programs log in with";
const BROWSER: &str = "a browser's cookies and saved passwords";
const KEYRING: &str = "a store of passwords";
const ENVIRONMENT: &str = "environment files hold secrets by custom; their templates (`.env.example`) are not meant";
const PRIVATE_KEY: &str = "private keys";
const ACCOUNTS: &str = "password hashes and who may become root";

/// Restricted: always asks when read.
pub(super) const RESTRICTED: &[Line] = &[
    line("~/.ssh/**", SSH),
    line("/root/.ssh/**", SSH),
    line("**/id_rsa*", SSH),
    line("**/id_ecdsa*", SSH),
    line("**/id_ed25519*", SSH),
    line("**/id_dsa*", SSH),
    line("/etc/ssh/ssh_host_*_key", SSH),
    line("~/.gnupg/**", PRIVATE_KEY),
    line("**/*.pem", PRIVATE_KEY),
    line("**/*.p12", PRIVATE_KEY),
    line("**/*.pfx", PRIVATE_KEY),
    line("**/*.jks", PRIVATE_KEY),
    line("**/*.p8", PRIVATE_KEY),
    line("/etc/ssl/private/**", PRIVATE_KEY),
    line("~/.aws/**", CLOUD),
    line("~/.azure/**", CLOUD),
    line("~/.config/gcloud/**", CLOUD),
    line("~/.oci/**", CLOUD),
    line("~/.config/doctl/**", CLOUD),
    line("~/.config/hcloud/**", CLOUD),
    line("~/.kube/config", CLOUD),
    line("~/.docker/config.json", TOKEN),
    line("~/.config/containers/auth.json", TOKEN),
    line("/run/secrets/**", TOKEN),
    line("/var/run/secrets/**", TOKEN),
    line("~/.config/gh/**", TOKEN),
    line("~/.config/glab-cli/**", TOKEN),
    line("~/.git-credentials", TOKEN),
    line("~/.config/git/credentials", TOKEN),
    line("~/.netrc", TOKEN),
    line("~/.npmrc", TOKEN),
    line("~/.pypirc", TOKEN),
    line("~/.cargo/credentials", TOKEN),
    line("~/.cargo/credentials.toml", TOKEN),
    line("~/.gem/credentials", TOKEN),
    line("~/.terraform.d/credentials.tfrc.json", TOKEN),
    line("~/.vault-token", TOKEN),
    line("~/.pgpass", TOKEN),
    line("~/.my.cnf", TOKEN),
    line("**/.env", ENVIRONMENT),
    line("**/.env.*.local", ENVIRONMENT),
    line(
        "**/.env.{local,dev,development,prod,production,stage,staging,test,ci,secret,secrets,private,bak,backup,old,orig,save}",
        ENVIRONMENT,
    ),
    line("**/.envrc", ENVIRONMENT),
    line("/etc/shadow*", ACCOUNTS),
    line("/etc/gshadow*", ACCOUNTS),
    line("/etc/sudoers", ACCOUNTS),
    line("/etc/sudoers.d/**", ACCOUNTS),
    line("/etc/security/opasswd", ACCOUNTS),
    line("~/.mozilla/**", BROWSER),
    line("~/.config/google-chrome/**", BROWSER),
    line("~/.config/chromium/**", BROWSER),
    line("~/.config/BraveSoftware/**", BROWSER),
    line("~/.config/microsoft-edge/**", BROWSER),
    line("~/snap/firefox/**", BROWSER),
    line("~/.local/share/keyrings/**", KEYRING),
    line("~/.local/share/kwalletd/**", KEYRING),
    line("~/.password-store/**", KEYRING),
    line("~/.config/Bitwarden/**", KEYRING),
    line("**/*.kdbx", KEYRING),
];

const GIT: &str = "git runs or believes what stands here";
const HOOK: &str = "the hooks through which an agent asks for leave";
const SERVICE: &str = "a build service runs it elsewhere, with secrets of its own";
const START: &str = "a shell, a session or a scheduler runs it by itself";
const LOGIN: &str = "it says who may log in here, and as whom";
const RULE: &str = "it says who may act as the administrator";

/// Run or believed later by something that nobody asks: a change of it asks, wherever it lies.
pub(super) const TRUSTED: &[Line] = &[
    line("**/.git/hooks/**", GIT),
    line("**/.git/config", GIT),
    line("**/.git/config.worktree", GIT),
    line("**/.git/info/**", GIT),
    line("**/.git/objects/info/alternates", GIT),
    line("**/.githooks/**", GIT),
    line("**/.husky/**", GIT),
    line("**/.pre-commit-config.yaml", GIT),
    line("**/.claude/settings.json", HOOK),
    line("**/.claude/settings.local.json", HOOK),
    line("**/.codex/hooks.json", HOOK),
    line("**/.cursor/hooks.json", HOOK),
    line("**/.gemini/settings.json", HOOK),
    line("**/.github/hooks/**", HOOK),
    line("**/.mcp.json", HOOK),
    line("**/.github/workflows/**", SERVICE),
    line("**/.gitlab-ci.yml", SERVICE),
    line("**/.circleci/**", SERVICE),
    line("**/Jenkinsfile", SERVICE),
    line("**/azure-pipelines.yml", SERVICE),
    line("**/.forgejo/workflows/**", SERVICE),
    line("**/.gitea/workflows/**", SERVICE),
    line("**/.woodpecker/**", SERVICE),
    line("**/.woodpecker.{yml,yaml}", SERVICE),
    line("**/.{drone,travis}.yml", SERVICE),
    line("**/.buildkite/**", SERVICE),
    line("**/CODEOWNERS", SERVICE),
    line("**/bitbucket-pipelines.yml", SERVICE),
    line("**/.devcontainer/**", START),
    line("**/.envrc", START),
    line("**/.vscode/tasks.json", START),
    line("**/{sitecustomize,usercustomize}.py", START),
    line("**/.bashrc", START),
    line("**/.bash_profile", START),
    line("**/.profile", START),
    line("**/.zshrc", START),
    line("**/.zshenv", START),
    line("**/.{Rprofile,Renviron}", START),
    line("~/.config/autostart/**", START),
    line("~/.config/systemd/user/**", START),
    line("~/.{bash_login,bash_logout,zprofile,zlogin,xprofile,xinitrc,pam_environment}", START),
    line("~/.config/{fish,environment.d}/**", START),
    line("~/.ssh/{rc,config}", START),
    line("/etc/{profile,rc.local,ld.so.preload}", START),
    line("/etc/{profile.d,init.d,ld.so.conf.d}/**", START),
    line("/etc/systemd/system/**", START),
    line("/etc/udev/rules.d/**", START),
    line("/etc/cron*/**", START),
    line("/var/spool/cron/**", START),
];

/// Who may log in and who may rule. Trusted as well, and nothing that comes along with another errand.
pub(super) const POWERS: &[Line] = &[
    line("**/authorized_keys", LOGIN),
    line("**/authorized_keys2", LOGIN),
    line("/etc/ssh/**", LOGIN),
    line("/etc/{passwd,shadow,group,gshadow,subuid,subgid}", LOGIN),
    line("/etc/pam.d/**", LOGIN),
    line("/etc/security/**", LOGIN),
    line("/etc/{sudoers,doas.conf}", RULE),
    line("/etc/sudoers.d/**", RULE),
    line("/etc/polkit-1/**", RULE),
    line("/usr/share/polkit-1/**", RULE),
];

/// Countersign's own folders under the names that an installation gives them; those in use come as facts as well.
pub(super) const OWN_FOLDERS: &[Line] = &[
    line("~/.config/countersign/**", "configuration"),
    line("~/.local/state/countersign/**", "ledger, keys, snapshots"),
    line("~/.local/share/countersign/**", "state"),
    line("~/.cache/countersign/**", "state"),
    line("/etc/countersign/**", "configuration"),
    line("/var/lib/countersign/**", "ledger, keys, snapshots"),
    line("/run/countersign/**", "sockets"),
    line("/var/run/countersign/**", "sockets"),
    line("/run/user/*/countersign/**", "sockets"),
];

/// Countersign's own files: read by anybody, changed by no plan.
pub(super) const OWN_FILES: &[Line] = &[
    line("**/countersign.yaml", "a deployment"),
    line("**/countersign.yml", "a deployment"),
    line("**/.countersign/**", "policies, tools and change requests beside a deployment"),
];

/// Folders for what may be thrown away.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];
