//! Programs of compiled languages that only compute and print, by what they bring in and what they name: nothing in them opens a file
//! or a socket, starts a program, or takes code from elsewhere (the standard libraries of C, C++, Go, Rust, Java and Kotlin).

use std::collections::BTreeSet;

/// Headers that declare nothing which reaches out of the program, but for what [`REACHING_OF_C`] names.
const HEADERS: &str = "assert.h complex.h ctype.h errno.h fenv.h float.h inttypes.h iso646.h limits.h locale.h math.h stdalign.h stdarg.h \
    stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h tgmath.h time.h uchar.h wchar.h wctype.h algorithm any array atomic bit bitset \
    cassert cctype cfloat charconv chrono cinttypes climits cmath compare complex concepts cstdarg cstddef cstdint cstdio cstdlib cstring \
    ctime deque exception format forward_list functional initializer_list iomanip iostream istream iterator limits list locale map memory \
    memory_resource numbers numeric optional ostream print queue random ranges ratio regex set span sstream stack stdexcept string \
    string_view thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version mutex";

const REACHING_OF_C: &str = "system popen fork vfork clone syscall asm __asm __asm__ remove unlink unlinkat rename rmdir mkdir mkstemp tmpfile tmpnam \
    fopen fopen64 fdopen freopen open openat creat socket connect bind listen kill raise mmap mprotect getenv secure_getenv putenv setenv \
    environ extern __attribute__ __attribute ofstream ifstream fstream filesystem filebuf basic_filebuf signal atexit ptrace mount chmod chown \
    link symlink truncate import module _Pragma embed renameat renameat2 linkat symlinkat mkdirat fchmod fchmodat fchown fchownat lchown mknod \
    mkfifo sendto sendmsg send accept utime utimes open64 creat64 opendir scandir ftw nftw glob wordexp tempnam mktemp mkdtemp mkostemp shm_open \
    memfd_create sendfile splice copy_file_range process_vm_writev prctl reboot chroot daemon setuid";

/// Packages of Go that reach out of the program by nothing but what [`OF_OS`] leaves.
const OF_GO: &str = "bufio bytes cmp container/heap container/list container/ring context crypto/hmac crypto/md5 crypto/rand crypto/sha1 crypto/sha256 \
    crypto/sha512 encoding/base32 encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml errors fmt hash/adler32 \
    hash/crc32 hash/crc64 hash/fnv hash/maphash html io iter maps math math/big math/bits math/cmplx math/rand math/rand/v2 net/netip net/url \
    os path reflect regexp runtime slices sort strconv strings sync sync/atomic text/tabwriter text/template time unicode unicode/utf16 \
    unicode/utf8 unique";

const OF_OS: &str = "Args Stdin Stdout Stderr Exit";

const REACHING_OF_RUST: &str = "unsafe extern include include_str include_bytes asm global_asm Command fs net os File OpenOptions TcpStream TcpListener \
    UdpSocket UnixStream UnixListener libc no_mangle link path mod macro_use proc_macro env option_env var vars set_var crate";

const REACHING_OF_JAVA: &str = "Runtime ProcessBuilder ProcessHandle Process ClassLoader ServiceLoader Class forName getClass reflect invoke load \
    loadLibrary Unsafe URL URI PrintWriter PrintStream Formatter native getenv Thread jar zip prefs script lang exec JarFile ZipFile ModuleLayer \
    InetAddress NetworkInterface MethodHandles ScriptEngineManager Compiler readText writeText path DependsOn Repository FileHandler InitialContext";

const REACHING_OF_CSHARP: &str = "Process Environment Assembly Activator Type GetType typeof Reflection Marshal unsafe extern dynamic AppDomain \
    Registry Thread Stream StreamReader StreamWriter LoadFrom Invoke DynamicInvoke CSharpScript LoadAssembly InteractiveBase fixed stackalloc \
    SetOut SetIn SetError OpenStandardOutput WebClient Dns Ping SmtpClient Directory DriveInfo Path";

/// Namespaces of C# of which nothing else reaches out.
const OF_CSHARP: &[&str] = &[
    "System",
    "System.Linq",
    "System.Collections.Generic",
    "System.Text",
    "System.Globalization",
    "System.Numerics",
    "System.Text.RegularExpressions",
    "System.Collections",
];

/// Parts of names of classes that open something.
const OPENING_OF_JAVA: &[&str] = &["File", "Socket", "Http", "Channel"];

const OF_JAVA: &[&str] =
    &["java.util.", "java.time.", "java.math.", "java.text.", "kotlin.math.", "kotlin.random.", "kotlin.time."];

/// Whether a program with this suffix and text only computes and prints.
pub(crate) fn only_computes(suffix: &str, text: &str) -> bool {
    let names: BTreeSet<&str> =
        text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|name| !name.is_empty()).collect();
    let free_of = |list: &str| !list.split_whitespace().any(|name| names.contains(name));
    match suffix {
        "c" | "cc" | "cpp" | "cxx" => of_c(text, &names) && free_of(REACHING_OF_C),
        "go" => of_go(text),
        "rs" => {
            let own = |word: &str| matches!(word, "std" | "core" | "alloc" | "self");
            let mut uses = text.split("use ").skip(1);
            let plain = uses.all(|used| own(used.trim_start_matches([':', '{']).split("::").next().unwrap_or("")));
            plain && !text.contains("#!") && free_of(REACHING_OF_RUST)
        }
        "cs" => {
            let used = text.split([';', '\n', '{']).filter_map(|line| line.trim().strip_prefix("using "));
            let plain = |name: &str| {
                OF_CSHARP.contains(&name.trim().trim_start_matches("static ")) || name.trim_start().starts_with('(')
            };
            used.into_iter().all(plain)
                && !text.contains("\\u")
                && !text.lines().any(|line| line.trim_start().starts_with('#'))
                && !names.iter().any(|name| OPENING_OF_JAVA.iter().any(|part| name.contains(part)))
                && free_of(REACHING_OF_CSHARP)
        }
        "java" | "jsh" | "kt" | "kts" => {
            let qualified = ["java.", "javax.", "jdk.", "sun.", "com.", "org.", "io.", "kotlin.", "kotlinx."];
            let places = qualified.iter().flat_map(|root| text.match_indices(root));
            let mut places = places.filter(|(at, _)| {
                !text.get(..*at).unwrap_or("").ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
            });
            let plain = places
                .all(|(at, _)| OF_JAVA.iter().any(|known| text.get(at..).is_some_and(|rest| rest.starts_with(known))));
            let mut imports = text.split("import ").skip(1);
            let known =
                imports.all(|name| OF_JAVA.iter().any(|known| name.trim_start_matches("static ").starts_with(known)));
            let command = |line: &str| {
                line.starts_with('/') && !line.starts_with("//") && !line.starts_with("/*") && line != "/exit"
            };
            plain
                && known
                && !text.contains('`')
                && !text.contains("\\u")
                && !text.lines().any(|line| command(line.trim()))
                && !names.iter().any(|name| OPENING_OF_JAVA.iter().any(|part| name.contains(part)))
                && free_of(REACHING_OF_JAVA)
        }
        _ => false,
    }
}

/// Nothing but known headers, no names that are put together, no function at an address that is made up.
fn of_c(text: &str, names: &BTreeSet<&str>) -> bool {
    let header = |line: &str| {
        let name = line.trim_start_matches('#').trim_start().strip_prefix("include")?.trim();
        let name = name.strip_prefix('<')?.split_once('>')?.0;
        HEADERS.split_whitespace().any(|known| known == name).then_some(())
    };
    let directives = text.lines().map(str::trim_start).filter(|line| line.starts_with('#'));
    let plain = |line: &str| ["define", "if", "ifdef", "ifndef", "else", "endif", "undef"].contains(&word_of(line));
    !["##", "%:", "??", "(*)", "\\\n"].iter().any(|part| text.contains(part))
        && directives.clone().all(|line| header(line).is_some() || plain(line))
        && !names.iter().any(|name| {
            ["exec", "dl", "posix_", "pthread_", "__libc", "spl"].iter().any(|start| name.starts_with(start))
        })
}

fn word_of(directive: &str) -> &str {
    let rest = directive.trim_start_matches('#').trim_start();
    rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("")
}

/// Nothing but known packages under their own names, of which `os` gives standard streams and the arguments alone.
fn of_go(text: &str) -> bool {
    let mut known = true;
    let mut within = false;
    for line in text.lines().map(str::trim) {
        let imports = line.strip_prefix("import").map(str::trim);
        let name = match imports {
            Some(rest) if rest.starts_with('(') => {
                within = true;
                rest.trim_start_matches('(').trim()
            }
            Some(rest) => rest,
            None if within => line,
            None => continue,
        };
        let ends = within && name.contains(')');
        let name = name.trim_end_matches(')').trim();
        if !name.is_empty() && !name.starts_with("//") {
            let package = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
            known &= package.is_some_and(|package| OF_GO.split_whitespace().any(|known| known == package));
        }
        within &= !ends;
    }
    let mut members = text.match_indices("os.").filter(|(at, _)| {
        !text.get(..*at).unwrap_or("").ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '.'))
    });
    let fine = members.all(|(at, _)| {
        let member = text.get(at + 3..).unwrap_or("").split(|c: char| !c.is_alphanumeric()).next().unwrap_or("");
        OF_OS.split_whitespace().any(|known| known == member)
    });
    known && fine && text.contains("import") && !text.contains("//go:") && !text.contains("/*")
}

#[cfg(test)]
mod tests {
    use super::only_computes;

    #[test]
    fn programs_that_only_compute_are_told_by_what_they_name() {
        for (suffix, text) in [
            ("c", "#include <stdio.h>\n#define N 3\nint main(void) { printf(\"%d\\n\", N); return 0; }"),
            (
                "cpp",
                "#include <iostream>\n#include <vector>\nint main() { std::vector<int> v{1}; std::cout << v.size(); }",
            ),
            ("go", "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n)\n\nfunc main() { fmt.Println(os.Args) }"),
            ("go", "package main\nimport \"fmt\"\nfunc main() { fmt.Println(1) }"),
            (
                "rs",
                "use std::collections::HashMap;\nfn main() { let m: HashMap<u8, u8> = HashMap::new(); println!(\"{}\", m.len()); }",
            ),
            (
                "java",
                "import java.util.List;\nclass T { public static void main(String[] a) { System.out.println(List.of(1)); } }",
            ),
            ("jsh", "import java.time.*;\nSystem.out.println(LocalDate.of(2026, 12, 31));\n/exit"),
            ("kts", "val re = Regex(\"^[0-9]{9}$\")\nlistOf(\"1\").forEach { println(\"$it -> ${re.matches(it)}\") }"),
        ] {
            assert!(only_computes(suffix, text), "{text}");
        }
        for (suffix, text) in [
            ("c", "#include <stdlib.h>\nint main(void) { return system(\"id\"); }"),
            ("c", "#include <stdio.h>\n#define J(a, b) a##b\nint main(void) { return J(sys, tem)(\"id\"); }"),
            ("c", "#include \"/home/u/x.h\"\nint main(void) { return 0; }"),
            ("c", "int execlp(const char *, ...);\nint main(void) { return execlp(\"id\", \"id\", 0); }"),
            ("c", "#include <stdio.h>\nchar c[] = \"\\x48\";\nint main(void) { ((void (*)())c)(); }"),
            ("cpp", "#include <fstream>\nint main() { std::ofstream(\"x\") << 1; }"),
            ("go", "package main\nimport \"os/exec\"\nfunc main() { exec.Command(\"id\").Run() }"),
            ("go", "package main\nimport o \"os\"\nfunc main() { o.RemoveAll(\"/\") }"),
            ("go", "package main\nimport \"os\"\nfunc main() { os.RemoveAll(\"/\") }"),
            ("go", "package main\nimport (\"fmt\"; \"net/http\")\nfunc main() { fmt.Println(http.Get(\"x\")) }"),
            ("rs", "fn main() { std::process::Command::new(\"id\").spawn(); }"),
            ("rs", "use std::{fs, io};\nfn main() { fs::remove_dir_all(\"/\"); }"),
            ("rs", "mod other;\nfn main() { other::run(); }"),
            (
                "java",
                "class T { public static void main(String[] a) throws Exception { Runtime.getRuntime().exec(\"id\"); } }",
            ),
            ("java", "class T { public static void main(String[] a) { new java.io.File(\"x\").delete(); } }"),
            ("jsh", "Files.delete(Path.of(\"x\"))"),
            ("jsh", "/open https://x.example/a"),
            ("java", "class T { static { \\u0052untime.getRuntime(); } }"),
            ("kts", "@file:DependsOn(\"a:b:1\")\nprintln(1)"),
            ("kts", "println(\"id\".let { ProcessBuilder(it).start() })"),
        ] {
            assert!(!only_computes(suffix, text), "{text}");
        }
    }
}
