//! Paths as text: one lexical form, and which of them are more than files.

/// What a path is, besides being one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The root or a folder that the system consists of, or all of its entries.
    System,
    /// A home folder, or all of its entries.
    Home,
    /// A device other than the harmless ones.
    Device,
    /// Another kernel interface.
    Kernel,
    /// From here code runs later by itself.
    Startup,
    /// Anything else.
    Plain,
}

/// Devices that hold nothing (filesystem hierarchy standard, `/dev`).
const HARMLESS_DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
];

/// Whether a device is an interface or a terminal, and holds nothing: a serial line, a pseudo-terminal, a virtual console (Linux,
/// "admin-guide/devices").
fn is_interface(name: &str) -> bool {
    let numbered = |start: &str| {
        name.strip_prefix(start).is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric()))
    };
    ["/dev/ttyUSB", "/dev/ttyACM", "/dev/ttyS", "/dev/ttyAMA", "/dev/ttyGS", "/dev/rfcomm", "/dev/pts/", "/dev/cu."]
        .iter()
        .any(|start| numbered(start))
        || ["/dev/serial/by-id/", "/dev/serial/by-path/"].iter().any(|folder| {
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '+' | '@');
            name.strip_prefix(folder).is_some_and(|rest| !rest.is_empty() && rest != ".." && rest.chars().all(plain))
        })
}

/// Names of what a system consists of, as patterns end and begin: libraries, parts of the kernel, what it starts with (filesystem
/// hierarchy standard; systemd.unit(5)).
const OF_SYSTEM: (&[&str], &[&str]) = (
    &[
        ".so", ".so*", ".so.*", ".ko", ".ko*", ".ko.*", ".ko.xz", ".ko.zst", ".conf", ".service", ".socket", ".mount",
        ".efi",
    ],
    &["vmlinuz", "initrd", "initramfs", "ld-linux", "libc.so", "fstab", "passwd", "shadow", "sudoers", "bzImage"],
);

/// Whether a pattern is that of what systems are made of, wherever on the machine it lies.
pub(crate) fn is_of_system(pattern: &str) -> bool {
    // What a database keeps of all that it holds.
    const KEPT: &[&str] = &[
        "postgresql",
        "mysql",
        "mariadb",
        "mongodb",
        "redis",
        "elasticsearch",
        "cassandra",
        "couchdb",
        "clickhouse",
        "influxdb",
        "neo4j",
        "etcd",
    ];
    let server = pattern.strip_prefix("/var/lib/").and_then(|rest| rest.split('/').next());
    if server.is_some_and(|server| KEPT.contains(&server)) && pattern.matches('/').count() <= 6 {
        return true;
    }
    let below = ["/**/", "/usr/**/", "/lib/**/", "/lib64/**/", "/boot/**/", "/usr/lib/**/", "/etc/**/"];
    let here = || {
        let (folder, name) = pattern.rsplit_once('/')?;
        let libraries =
            matches!(folder, "/lib" | "/lib32" | "/lib64" | "/usr/lib" | "/usr/lib32" | "/usr/lib64" | "/boot");
        let of_machine = folder.ends_with("-linux-gnu") && folder.contains("/lib/");
        ((libraries || of_machine) && name.contains('*')).then_some(name)
    };
    let Some(name) = below.iter().find_map(|root| pattern.strip_prefix(root)).or_else(here) else { return false };
    let (ends, begins) = OF_SYSTEM;
    // One file of that kind is not all of them.
    let any = |rest: &str| matches!(rest, "" | "*" | "-*" | ".*" | "?*");
    ends.iter().any(|end| name.strip_suffix(end).is_some_and(|rest| matches!(rest, "*" | "lib*" | "?*")))
        || begins.iter().any(|start| name.trim_start_matches('*').strip_prefix(start).is_some_and(any))
}

/// Folders directly below the root that the system consists of.
const SYSTEM: &[&str] = &[
    "bin",
    "boot",
    "dev",
    "etc",
    "home",
    "lib",
    "lib32",
    "lib64",
    "media",
    "mnt",
    "opt",
    "proc",
    "root",
    "run",
    "sbin",
    "srv",
    "sys",
    "usr",
    "var",
    "Applications",
    "Library",
    "System",
    "Users",
    "private",
];

/// Folders one level further down.
const SYSTEM_BELOW: &[&str] = &[
    "usr/bin",
    "usr/sbin",
    "usr/lib",
    "usr/lib64",
    "usr/share",
    "usr/local",
    "usr/include",
    "usr/local/bin",
    "var/lib",
    "var/log",
    "var/spool",
    "var/db",
    "var/cache",
    "etc/ssh",
    "etc/ssl",
    "etc/systemd",
    "etc/pam.d",
    "lib/modules",
    "usr/lib/modules",
    "boot/efi",
    "var/lib/docker",
    "var/lib/dpkg",
    "var/lib/mysql",
    "var/lib/postgresql",
];

/// Files in a home folder from which a shell, a session or a login takes code or keys.
const STARTUP_IN_HOME: &[&str] = &[
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".inputrc",
    ".xinitrc",
    ".xsession",
    ".xprofile",
    ".pam_environment",
    ".gitconfig",
    ".npmrc",
    ".pypirc",
    ".vimrc",
    ".emacs",
    ".gdbinit",
    ".curlrc",
    ".wgetrc",
    ".netrc",
    ".rhosts",
    ".forward",
    ".Rprofile",
    ".Renviron",
    ".cshrc",
    ".tcshrc",
    ".kshrc",
    ".login",
    ".zlogout",
    ".irbrc",
    ".pryrc",
    ".psqlrc",
    ".pdbrc",
    ".lldbinit",
    ".mailcap",
];

/// Folders of that kind, in a home folder.
const STARTUP_FOLDERS_IN_HOME: &[&str] = &[
    ".ssh/",
    ".config/autostart/",
    ".config/systemd/",
    ".config/fish/",
    ".config/git/",
    ".config/nvim/",
    ".config/environment.d/",
    ".local/share/systemd/",
    ".local/bin/",
    ".vim/",
    ".julia/config/",
    ".ipython/profile_default/startup/",
    ".jupyter/",
    ".gradle/init.d/",
    ".gradle/init.gradle",
    ".m2/settings.xml",
    ".gnupg/",
    "bin/",
    "Library/LaunchAgents/",
];

/// The same for the whole machine.
const STARTUP: &[&str] = &[
    "/etc/cron",
    "/etc/crontab",
    "/etc/anacrontab",
    "/var/spool/cron",
    "/var/spool/at",
    "/etc/systemd/",
    "/usr/lib/systemd/",
    "/lib/systemd/",
    "/etc/init.d/",
    "/etc/rc",
    "/etc/profile",
    "/etc/bash",
    "/etc/zsh",
    "/etc/environment",
    "/etc/ld.so",
    "/etc/sudoers",
    "/etc/passwd",
    "/etc/shadow",
    "/etc/group",
    "/etc/gshadow",
    "/etc/pam",
    "/etc/ssh/",
    "/etc/udev/",
    "/etc/xdg/autostart/",
    "/etc/update-motd.d/",
    "/etc/apt/apt.conf",
    "/etc/hosts",
    "/etc/resolv.conf",
    "/etc/nsswitch.conf",
    "/etc/modprobe.d/",
    "/etc/modules",
    "/etc/sysctl",
    "/etc/security/",
    "/boot/",
    "/Library/Launch",
];

/// The absolute, lexically normalised form of `path` seen from `base`.
pub(crate) fn normalise(base: &str, path: &str) -> String {
    let base = if path.starts_with('/') { "" } else { base };
    let mut out = String::with_capacity(base.len() + path.len() + 1);
    for part in base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            // What is not known may lead anywhere, and what stands for any folder below for the folder itself.
            ".." if last(&out).starts_with("${") => {}
            ".." if last(&out) == "**" => {
                pop(&mut out);
                pop(&mut out);
            }
            ".." => pop(&mut out),
            name => {
                out.push('/');
                out.push_str(name);
            }
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

fn last(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

fn pop(path: &mut String) {
    path.truncate(path.rfind('/').unwrap_or(0));
}

/// Whether a path lies below a folder.
pub(crate) fn is_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
}

/// Whether the last component stands for every entry of its folder.
fn folder_of_all(path: &str) -> Option<&str> {
    let (folder, last) = path.rsplit_once('/')?;
    let all = !last.is_empty() && last.chars().all(|c| matches!(c, '*' | '?' | '.' | '[' | ']' | '!'));
    (all && last.contains(['*', '?'])).then_some(if folder.is_empty() { "/" } else { folder })
}

/// Whether a path names a root, a system folder or a home folder as a whole, or is a device or a start-up file.
pub(crate) fn place(path: &str, home: &str) -> Place {
    let whole = folder_of_all(path).unwrap_or(path);
    let folded = whole.trim_end_matches('/');
    if folded.is_empty() {
        return Place::System;
    }
    if folded == home || home.strip_prefix(folded).is_some_and(|rest| rest.starts_with('/') && folded != "/home") {
        return Place::Home;
    }
    let inner = folded.get(1..).unwrap_or("");
    match inner.bytes().filter(|b| *b == b'/').take(3).count() {
        0 if SYSTEM.contains(&inner) => return Place::System,
        1 if inner.starts_with("home/") || inner.starts_with("Users/") => return Place::Home,
        1 | 2 if SYSTEM_BELOW.contains(&inner) => return Place::System,
        _ => {}
    }
    if path.starts_with("/dev/") {
        let harmless = HARMLESS_DEVICES.contains(&path)
            || ["/dev/fd/", "/dev/shm/"].iter().any(|folder| path.starts_with(folder))
            || is_interface(path);
        return if harmless { Place::Plain } else { Place::Device };
    }
    if path.starts_with("/proc/") || path.starts_with("/sys/") {
        return Place::Kernel;
    }
    if is_startup(path, home) { Place::Startup } else { Place::Plain }
}

/// Folders of a home folder in which keys are kept.
const KEY_STORES: &[&str] =
    &[".ssh", ".gnupg", ".aws", ".password-store", ".local/share/keyrings", ".config/gcloud", ".azure", ".kube"];

/// Folders of a home folder in which people keep what is theirs (XDG user directories, macOS).
const OF_PEOPLE: &[&str] = &[
    "Documents",
    "Desktop",
    "Pictures",
    "Music",
    "Videos",
    "Movies",
    "Library",
    ".config",
    ".local",
    ".local/share",
    ".thunderbird",
    "Mail",
];

/// Whether a path names all of a folder in which somebody keeps keys, or what people keep for themselves.
pub(crate) fn is_key_store(path: &str, home: &str) -> bool {
    let folder = folder_of_all(path).unwrap_or(path).trim_end_matches('/');
    let below = |home: &str| {
        folder
            .strip_prefix(home)
            .and_then(|rest| rest.strip_prefix('/'))
            .is_some_and(|rest| KEY_STORES.contains(&rest) || OF_PEOPLE.contains(&rest))
    };
    below(home) || below("/root")
}

/// Whether a line speaks of such a file of a home folder, by whatever path.
pub(crate) fn speaks_of_startup(line: &str) -> bool {
    line.contains('.') && STARTUP_IN_HOME.iter().chain(STARTUP_FOLDERS_IN_HOME).any(|name| line.contains(name))
}

/// What each Python reads as it starts, among its packages (Python library reference, "site").
fn is_of_every_python(path: &str) -> bool {
    let Some((folder, last)) = path.rsplit_once('/') else { return false };
    let packages = folder.ends_with("/site-packages") || folder.ends_with("/dist-packages");
    packages && (last.ends_with(".pth") || matches!(last, "sitecustomize.py" | "usercustomize.py"))
}

/// Whether a file is one with a key by its name, wherever it lies: of certificates, of stores, and what signs apps.
pub(crate) fn is_key(path: &str) -> bool {
    let last = path.rsplit('/').next().unwrap_or(path);
    [".pem", ".key", ".p8", ".p12", ".pfx", ".jks", ".keystore", ".mobileprovision"]
        .iter()
        .any(|end| last.ends_with(end))
        || last.starts_with("AuthKey_")
}

fn is_startup(path: &str, home: &str) -> bool {
    let of_machine = matches!(path.as_bytes().get(1), Some(b'e' | b'v' | b'u' | b'l' | b'b' | b'L'));
    if of_machine && STARTUP.iter().any(|start| path.starts_with(start)) {
        return true;
    }
    let in_home = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/')).or_else(|| {
        let rest = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"))?;
        rest.split_once('/').map(|(_, rest)| rest)
    });
    let in_home = in_home.or_else(|| path.strip_prefix("/root/"));
    if let Some(rest) = in_home
        && (STARTUP_IN_HOME.contains(&rest) || STARTUP_FOLDERS_IN_HOME.iter().any(|f| rest.starts_with(f)))
    {
        return true;
    }
    is_of_every_python(path)
        || path.contains("/.git/hooks/")
        || path.ends_with("/.git/config")
        || path.ends_with("/.envrc")
}
