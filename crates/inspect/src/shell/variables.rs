//! Variables by which a line decides which code other programs run, or what is recorded.

use crate::bounded::Bounded as _;
use crate::inspection::FindingKind;
use crate::machine::{Machine, Part, Variable, Word};

impl Machine<'_> {
    /// Sets a variable and says so where it decides which code runs.
    pub(crate) fn assign_variable(&mut self, name: &str, value: Variable) {
        // An element, as builtins are given its name.
        if let Some((base, _)) = name.split_once('[') {
            self.judge_index(name);
            self.scope.set(base, Variable::any_array(base));
            return;
        }
        if let Variable::Scalar(word) = &value
            && self.scope.is_sum(name)
        {
            let text = word.shown();
            self.judge_index(&text);
            self.judge_names(&text);
        }
        let harmless = match (name, &value) {
            // Extending the list of folders at its end shadows nothing.
            ("PATH", Variable::Scalar(word)) => {
                matches!(word.parts(), [Part::Text(slash), Part::Hole { name, .. }, ..] if slash == "/" && name == "PATH")
            }
            ("GOFLAGS", Variable::Scalar(word)) => word.constant().is_some_and(only_builds),
            (_, Variable::Scalar(word))
                if COMPILERS.contains(&name)
                    || (is_of_cargo(name)
                        && !["_RUNNER", "FLAGS", "_PROVIDER", "_PROVIDERS"].iter().any(|end| name.ends_with(end))) =>
            {
                word.constant().is_some_and(is_compiler)
            }
            (_, Variable::Scalar(word)) if word.known().is_some_and(|value| only_shapes(name, &value)) => true,
            _ => !loads_code(name),
        };
        if !harmless {
            let shown = match &value {
                Variable::Scalar(word) => word.shown(),
                Variable::Array(_) | Variable::Unset | Variable::Unknown => "…".to_owned(),
            };
            if let Variable::Scalar(word) = &value {
                let origin = self.origin_of(word);
                self.judge_input(&origin);
            }
            self.runs_later(&shown);
            self.imported_data(&shown);
            self.loaded_by(name, &shown);
            if shown.contains(' ') && !crate::shell::is_deep() {
                // Options of an interpreter that is named elsewhere.
                let line = if shown.starts_with("-c ") { format!("sh {shown}") } else { shown.clone() };
                let inner = crate::shell::shell(&line, self.context);
                self.absorb_grave(inner);
            }
            if !matches!(value, Variable::Unset) && !shown.is_empty() {
                self.find(FindingKind::LoadsCode, format!("the variable {name}={shown} decides which code runs"));
            }
        }
        if let Variable::Scalar(word) = &value
            && harmless
            && NAMES_COMMANDS.iter().any(|end| name.ends_with(end))
            && !crate::shell::is_deep()
        {
            let shown = word.shown();
            if shown.contains(' ') {
                let inner = crate::shell::shell(&shown, self.context);
                self.absorb_grave(inner);
            }
        }
        if let ("HISTFILE" | "HISTSIZE" | "HISTFILESIZE" | "SAVEHIST" | "HISTIGNORE", Variable::Scalar(word)) =
            (name, &value)
            && matches!(word.shown().as_str(), "" | "0" | "/dev/null" | "*")
        {
            self.find(FindingKind::ErasesRecord, format!("with {name} what is typed is not recorded any more"));
        }
        self.judge_proxy_variable(name, &value);
        self.scope.set(name, value);
    }
}

impl Machine<'_> {
    /// Files of this line that a loading variable makes code of: what a host sent, in a folder that it names; functions in a raster.
    fn loaded_by(&mut self, name: &str, value: &str) {
        if name == "GDAL_VRT_ENABLE_PYTHON" {
            self.runs_written(&|path| path.ends_with(".vrt"));
        }
        for folder in value.split(':').filter(|folder| folder.contains('/')).at_most(64) {
            for folder in self.paths(&Word::text(folder)) {
                let below = |path: &str| {
                    path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                if self.files.iter().any(|(path, written)| written.remote && below(path)) {
                    self.find(FindingKind::DownloadAndExecute, format!("{name} loads what a host sent into {folder}"));
                }
            }
        }
    }
}

/// How variables end that name a command for somebody else to run: `BORG_PASSCOMMAND`, `P4EDITOR`, `SYSTEMD_PAGER` (the manuals of the
/// programs).
const NAMES_COMMANDS: &[&str] = &[
    "COMMAND", "CMD", "EDITOR", "PAGER", "BROWSER", "ASKPASS", "SHELL", "WRAPPER", "LAUNCHER", "DIFF", "MERGE",
    "HELPER", "HOOK", "EXEC", "PROGRAM", "_RSH", "_SSH",
];

/// Variables that say which compiler a build uses (GNU make manual, "Implicit Variables"; CMake and Cargo manuals).
const COMPILERS: &[&str] = &[
    "CC",
    "CXX",
    "CPP",
    "FC",
    "F77",
    "LD",
    "AR",
    "AS",
    "NM",
    "STRIP",
    "RANLIB",
    "OBJCOPY",
    "HOSTCC",
    "HOSTCXX",
    "CUDACXX",
    "RUSTC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "CMAKE_C_COMPILER",
    "CMAKE_CXX_COMPILER",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
];

/// Whether words are an installed compiler by its name, behind a cache of compilers or not, with flags that load nothing.
fn is_compiler(words: &str) -> bool {
    let caches = ["ccache", "sccache", "distcc", "icecc", "zig"];
    let tool = |name: &str| {
        let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        let base = base.rsplit('-').next().unwrap_or(base);
        [
            "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "ld", "lld", "gold", "mold", "ar", "nm", "ranlib",
            "strip", "objcopy", "gfortran", "flang", "nvcc", "icx", "icpx", "tcc", "rustc", "rustdoc", "as",
        ]
        .contains(&base)
    };
    let flag = |word: &str| {
        word.starts_with('-') && !["-B", "-f", "-specs", "-wrapper", "-X"].iter().any(|start| word.starts_with(start))
    };
    let mut words = words.split_whitespace().skip_while(|word| caches.contains(word)).peekable();
    let cache_alone = words.peek().is_none();
    cache_alone || (words.next().is_some_and(tool) && words.all(flag))
}

/// Whether flags of `go` only say how it builds and tests (`go help build`).
fn only_builds(flags: &str) -> bool {
    flags.split_whitespace().all(|flag| {
        let name = flag.trim_start_matches('-').split('=').next().unwrap_or("");
        matches!(
            name,
            "mod" | "v" | "race" | "count" | "tags" | "trimpath" | "p" | "buildvcs" | "short" | "timeout" | "cover"
        )
    })
}

/// Variables by which a loader, a shell, an interpreter or a program finds code to run: from the manuals of ld.so, Bash,
/// Python, Perl, Ruby, Node, the JVM, Git, less, man, Make, GDAL, R, Julia and OpenSSL.
const LOADING: &[&str] = &[
    "PATH",
    "BASH_ENV",
    "ENV",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "BASHOPTS",
    "PS4",
    "CDPATH",
    "GLOBIGNORE",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PYTHONWARNINGS",
    "PYTHONBREAKPOINT",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "PERLLIB",
    "RUBYOPT",
    "RUBYLIB",
    "NODE_OPTIONS",
    "NODE_PATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
    "LUA_INIT",
    "LUA_PATH",
    "LUA_CPATH",
    "PAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "MANPAGER",
    "LESSOPEN",
    "LESSCLOSE",
    "MAKEFLAGS",
    "MAKEFILES",
    "GCONV_PATH",
    "TCLLIBPATH",
    "RUSTC_WRAPPER",
    "RUSTC",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTDOC",
    "CARGO_HOME",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "GOFLAGS",
    "CC",
    "CXX",
    "LD",
    "KUBECONFIG",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "TERMINFO",
    "HOSTALIASES",
    "LOCPATH",
    "NLSPATH",
    "WGETRC",
    "CURL_HOME",
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PHPRC",
    "PHP_INI_SCAN_DIR",
    "PYSPARK_PYTHON",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_DRIVER_PYTHON_OPTS",
    "SPARK_SUBMIT_OPTS",
    "HADOOP_OPTS",
    "KAFKA_OPTS",
    "CATALINA_OPTS",
    "GDAL_DRIVER_PATH",
    "OGR_DRIVER_PATH",
    "GDAL_VRT_ENABLE_PYTHON",
    "GDAL_PYTHON_DRIVER_PATH",
    "QT_PLUGIN_PATH",
    "GIO_EXTRA_MODULES",
    "OPENSSL_MODULES",
    "R_PROFILE",
    "R_PROFILE_USER",
    "R_ENVIRON",
    "R_ENVIRON_USER",
    "R_LIBS",
    "R_LIBS_USER",
    "JULIA_LOAD_PATH",
    "JULIA_DEPOT_PATH",
    "MAVEN_OPTS",
    "GRADLE_OPTS",
    "SBT_OPTS",
    "ERL_FLAGS",
    "ELIXIR_ERL_OPTIONS",
    "CCACHE_PREFIX",
    "OMPI_CC",
    "GRASS_BATCH_JOB",
    "PXR_PLUGINPATH_NAME",
    "HELM_PLUGINS",
    "OPENSSL_CONF",
    "PSQLRC",
    "MLRRC",
    "KUBECTL_EXTERNAL_DIFF",
    "KUBE_EDITOR",
    "P4EDITOR",
    "P4DIFF",
    "P4MERGE",
    "PSQL_EDITOR",
    "PSQL_PAGER",
    "SYSTEMD_EDITOR",
    "SYSTEMD_PAGER",
];

/// Variables that switch a check off or send traffic elsewhere.
const LOADING_PREFIXES: &[&str] = &["LD_", "DYLD_", "GIT_", "BASH_FUNC_", "NPM_CONFIG_", "npm_config_"];

/// Variables of those prefixes that only shape output or name people.
const HARMLESS: &[&str] = &[
    "GIT_PAGER_IN_USE",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "GIT_TERMINAL_PROMPT",
    "GIT_TRACE",
    "GIT_OPTIONAL_LOCKS",
    "GIT_MERGE_AUTOEDIT",
    "GIT_CURL_VERBOSE",
    "LD_DEBUG",
    "GIT_DIR",
    "GIT_WORK_TREE",
];

/// Variables by which Ansible finds plugins, modules and roles (docs.ansible.com, "Ansible Configuration Settings").
fn is_of_ansible(name: &str) -> bool {
    name.strip_prefix("ANSIBLE_").is_some_and(|rest| {
        rest.ends_with("_PLUGINS")
            || matches!(
                rest,
                "LIBRARY" | "MODULE_UTILS" | "CONFIG" | "ROLES_PATH" | "COLLECTIONS_PATH" | "COLLECTIONS_PATHS"
            )
    })
}

/// Variables in the place of Cargo's settings that name a program, or flags by which one is named (The Cargo Book, "Configuration",
/// "Environment variables").
fn is_of_cargo(name: &str) -> bool {
    name.strip_prefix("CARGO_").is_some_and(|rest| {
        let names = ["_RUNNER", "_LINKER", "_RUSTFLAGS", "_RUSTDOCFLAGS"].iter().any(|end| rest.ends_with(end));
        ((rest.starts_with("TARGET_") || rest.starts_with("HOST_")) && names)
            || rest.starts_with("BUILD_RUSTC")
            || rest.starts_with("BUILD_RUSTDOC")
            || rest == "BUILD_RUSTFLAGS"
            || rest.starts_with("ENCODED_RUST")
            || rest.ends_with("CREDENTIAL_PROVIDER")
            || rest.ends_with("CREDENTIAL_PROVIDERS")
    })
}

fn loads_code(name: &str) -> bool {
    !HARMLESS.contains(&name)
        && (is_of_ansible(name)
            || is_of_cargo(name)
            || LOADING.contains(&name)
            || LOADING_PREFIXES.iter().any(|p| name.starts_with(p)))
}

/// Whether words are an emulator with options that only say what it emulates and what the program sees (qemu-user(1), wine(1), the manuals of
/// wasmtime, wasmer and probe-rs). What is no option would be run.
fn emulates(words: &str) -> bool {
    const MACHINES: &str = "aarch64 aarch64_be arm armeb i386 loongarch64 m68k mips mips64 mips64el mipsel ppc ppc64 ppc64le riscv32 riscv64 \
        s390x sparc sparc64 x86_64";
    let mut words = words.split_whitespace();
    let Some(program) = words.next() else { return false };
    let machine = program.strip_prefix("qemu-").map(|name| name.trim_end_matches("-static"));
    if machine.is_some_and(|name| MACHINES.split_whitespace().any(|known| known == name)) {
        // `-L DIR`, `-cpu MODEL`, `-E NAME=VALUE`, `-s SIZE`
        while let Some(option) = words.next() {
            let known = match option {
                "-L" | "-cpu" | "-s" | "-B" => words.next().is_some(),
                "-E" => words.next().is_some_and(|given| !given.starts_with("LD_")),
                _ => false,
            };
            if !known {
                return false;
            }
        }
        return true;
    }
    match program {
        "wine" | "wine64" | "node" => words.next().is_none(),
        "wasmtime" | "wasmer" => words.all(|word| {
            matches!(word, "run" | "--")
                || ["--dir=", "--env=", "--mapdir=", "-W"].iter().any(|start| word.starts_with(start))
        }),
        "probe-rs" => {
            words.next() == Some("run")
                && words.all(|word| {
                    word == "--chip"
                        || word.starts_with("--chip=")
                        || word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
                            && !word.starts_with('-')
                })
        }
        _ => false,
    }
}

/// Whether a variable of those holds what loads nothing but the project's own code, or only says how something is built or shown
/// (from the manuals of Rust, Node, Python, the JVM, Make and Git).
fn only_shapes(name: &str, value: &str) -> bool {
    let words = || value.split_whitespace();
    let own = |path: &str| {
        path.is_empty()
            || !(path.starts_with(['/', '~', '$']) || path.split('/').any(|part| part == "..") || path.contains("://"))
    };
    match name {
        // A prompt is expanded; only a substitution in it runs something (bash(1), "PROMPTING").
        "PS1" | "PS2" | "PS3" | "PS4" => !value.contains("$(") && !value.contains('`'),
        _ if name.ends_with("RUSTFLAGS") || name.ends_with("RUSTDOCFLAGS") => {
            !["linker", "link-arg", "-L", "--extern", "backend", "plugin", "@", "wrapper"]
                .iter()
                .any(|part| value.contains(part))
        }
        "NODE_OPTIONS" => words().all(|word| {
            [
                "--max-",
                "--no-warnings",
                "--enable-source-maps",
                "--experimental-vm-modules",
                "--trace-",
                "--openssl-legacy-provider",
                "--unhandled-rejections",
                "--test",
                "--stack-",
            ]
            .iter()
            .any(|start| word.starts_with(start))
        }),
        "KUBECTL_EXTERNAL_DIFF" => {
            let flag = |word: &str| word.starts_with('-') && !word.contains('=');
            words().next().is_some_and(|word| matches!(word, "diff" | "colordiff" | "dyff"))
                && words().skip(1).all(flag)
        }
        "PYTHONPATH" | "NODE_PATH" | "PERL5LIB" | "RUBYLIB" | "LUA_PATH" | "R_LIBS" | "R_LIBS_USER"
        | "JULIA_LOAD_PATH" => value.split([':', ';']).all(own),
        _ if is_of_ansible(name) => value.split(':').all(own),
        // A program of the project's is run as any other of its programs; an emulator only runs what was built.
        _ if is_of_cargo(name) && name.ends_with("_RUNNER") => {
            emulates(value) || (value.contains('/') && words().count() == 1 && own(value))
        }
        // Those that Cargo has itself (The Cargo Book, "Credential providers").
        _ if is_of_cargo(name) && name.contains("CREDENTIAL_PROVIDER") => words()
            .all(|word| matches!(word, "cargo:token" | "cargo:wincred" | "cargo:macos-keychain" | "cargo:libsecret")),
        "PYTHONWARNINGS" => value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, ':' | '_' | ',')),
        "JAVA_TOOL_OPTIONS" | "JDK_JAVA_OPTIONS" | "_JAVA_OPTIONS" | "MAVEN_OPTS" | "GRADLE_OPTS" | "SBT_OPTS" => {
            words().all(|word| {
                word.starts_with("-X")
                    && !word.starts_with("-Xboot")
                    && !word.contains("OnOutOfMemory")
                    && !word.contains("OnError")
            })
        }
        "MAKEFLAGS" => words().all(|word| {
            word.strip_prefix("-j").is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()))
                || matches!(word, "-s" | "-k" | "--silent")
        }),
        "PAGER" | "MANPAGER" | "GIT_PAGER" | "PSQL_PAGER" | "SYSTEMD_PAGER" => {
            matches!(value, "cat" | "less" | "more" | "less -R" | "less -S" | "less -FRX")
        }
        "EDITOR" | "VISUAL" | "GIT_EDITOR" | "GIT_SEQUENCE_EDITOR" => matches!(value, "true" | ":" | "cat" | "false"),
        "RUBYOPT" => words().all(|word| word.starts_with("-W") || word == "-w"),
        "PYSPARK_PYTHON" | "PYSPARK_DRIVER_PYTHON" => {
            matches!(value, "python" | "python3" | "ipython" | "jupyter")
                || own(value) && value.ends_with("/bin/python")
        }
        "BROWSER" => matches!(value, "none" | "true" | "false" | "echo"),
        _ => false,
    }
}
