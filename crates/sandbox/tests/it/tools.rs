//! A corpus of real tools under the `program` list: a denial that breaks an honest tool shows here first.

use serde_json::json;

use crate::harness::{Work, everyone, run, toolchain};

/// Name of the tool that must be installed, and a shell line that must end well.
const CORPUS: [(&str, &str); 14] = [
    (
        "/usr/bin/ls",
        "mkdir -p a/b && ls -laR . && cp -a a c && mv c d && ln -s a e && rm -r d e && touch -d 2001-01-01 a && stat a && du -s . && sort /etc/passwd | uniq | wc -l",
    ),
    ("/usr/bin/find", "find . -type d -exec chmod 755 {} + && find /usr/share -maxdepth 1 | xargs -n 5 echo | tail -1"),
    (
        "/usr/bin/tar",
        "mkdir -p t && echo x > t/f && mkfifo t/p && tar cf t.tar t && tar tf t.tar && mkdir u && tar xf t.tar -C u && tar czf t.tgz t && tar xzf t.tgz -C u",
    ),
    (
        "/usr/bin/git",
        "git init -q r && cd r && git config user.email a@b && git config user.name n && echo x > f && git add . && git commit -qm one && git log --oneline && git checkout -qb two && git gc -q && git clone -q . ../clone && git status --short",
    ),
    (
        "/usr/bin/python3",
        "python3 -c 'import subprocess, threading, tempfile, json, hashlib, os, sqlite3; t = threading.Thread(target=print); t.start(); t.join(); print(subprocess.run([\"true\"]).returncode); d = sqlite3.connect(\"d.db\"); d.execute(\"pragma journal_mode=wal\"); d.execute(\"create table t(a)\"); d.commit(); print(tempfile.mkdtemp())'",
    ),
    (
        "/usr/bin/python3",
        "python3 -m unittest discover -q 2>&1; python3 -c 'import multiprocessing as m; p = m.Process(target=print, args=(1,)); p.start(); p.join(); assert p.exitcode == 0; m.Lock()'",
    ),
    (
        "/usr/bin/python3",
        "python3 -c 'import asyncio\nasync def main():\n    p = await asyncio.create_subprocess_exec(\"echo\", \"hi\", stdout=-1)\n    assert (await p.communicate())[0] == b\"hi\\n\"\n    s = await asyncio.start_server(lambda r, w: w.close(), \"127.0.0.1\", 0)\n    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n    await r.read()\nasyncio.run(main())'",
    ),
    (
        "/usr/bin/gcc",
        "printf '#include <stdio.h>\\nint main(void){puts(\"hi\");return 0;}' > m.c && gcc -O2 -o m m.c && ./m && gcc -static -o s m.c && ./s && ar cr l.a m.c && strip m",
    ),
    ("/usr/bin/make", "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile && make -j4 && test -f b"),
    (
        "/usr/bin/perl",
        "perl -e 'open(F, \">f\"); print F \"x\"; close F; print `cat f`; my $p = fork; exit 0 unless $p; waitpid($p, 0); exit $?'",
    ),
    (
        "/usr/bin/awk",
        "seq 9 | awk '{ s += $1 } END { print s }' | grep 45 && echo abc | sed s/b/x/ | tr x y && seq 3 | xargs -P2 -n1 echo",
    ),
    (
        "/usr/bin/node",
        "node -e 'const { execSync, spawn } = require(\"child_process\"); require(\"fs\").writeFileSync(\"f\", execSync(\"echo hi\")); new (require(\"worker_threads\").Worker)(\"1\", { eval: true }); require(\"http\").createServer((q, s) => s.end()).listen(0, \"127.0.0.1\", function () { fetch(\"http://127.0.0.1:\" + this.address().port).then(() => process.exit(0)) })'",
    ),
    (
        "/usr/bin/diff",
        "echo a > a; echo b > b; (diff -u a b > p || true); patch -s a < p && cmp a b && gzip -k b && zcat b.gz && bzip2 -k b; xz -T2 -k b || true",
    ),
    (
        "/usr/bin/flock",
        "flock l true && timeout 5 true && nice -n 5 true && setsid -w true && date && mktemp && dd if=/dev/zero of=z bs=1k count=1 2>&1 && sync z && truncate -s 5 z && shuf -i 1-3 && install -m 755 z y && nproc && (tty || true)",
    ),
];

#[test]
fn honest_tools_work() {
    let mut ran = 0;
    for who in everyone() {
        for (needs, line) in CORPUS {
            if !std::path::Path::new(needs).exists() {
                continue;
            }
            let work = Work::new(who);
            let outcome = run(
                who,
                &json!({ "role": "toolchain", "loopback": true, "view": toolchain(work.path()), "operations": [
                    { "run": ["/bin/sh", "-ec", line] }]}),
            )
            .good();
            assert!(outcome.answer(0).is_ok(), "{who:?} {needs}: {outcome:#?}");
            ran += 1;
        }
    }
    assert!(ran >= 5, "only {ran} tools are installed here");
}

/// Where a Rust toolchain lies in the home folder, it is granted by name, as a user would.
#[test]
fn cargo_builds_and_tests_a_crate() {
    let Ok(cargo) = std::process::Command::new("rustup").args(["which", "cargo"]).output() else { return };
    let cargo = std::path::PathBuf::from(String::from_utf8(cargo.stdout).unwrap().trim());
    let Some(root) = cargo.parent().and_then(std::path::Path::parent) else { return };
    let who = crate::harness::As::Own;
    let work = Work::new(who);
    work.file(who, "Cargo.toml", "[package]\nname = \"tiny\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    work.file(
        who,
        "src/lib.rs",
        "#[test]\nfn adds() { assert_eq!(1 + 1, 2); std::thread::spawn(|| {}).join().unwrap(); }\n",
    );
    let mut view = toolchain(work.path());
    view["executable"].as_array_mut().unwrap().push(json!({ "path": root }));
    let line = format!("export PATH={0}/bin:$PATH CARGO_HOME=/tmp/cargo; cargo test --offline 2>&1", root.display());
    let outcome = run(
        who,
        &json!({ "role": "toolchain", "loopback": true, "view": view, "operations": [{ "run": ["/bin/sh", "-ec", line] }] }),
    )
    .good();
    assert!(outcome.answer(0).is_ok_and(|text| text.contains("1 passed")), "{outcome:#?}");
}

#[test]
fn hostile_calls_end_the_tool_and_are_told_from_ordinary_failures() {
    for who in everyone() {
        let work = Work::new(who);
        let outcome = run(
            who,
            &json!({ "role": "toolchain", "view": toolchain(work.path()), "operations": [
                { "run": ["/usr/bin/mount", "-t", "tmpfs", "none", "/tmp"] },
                { "run": ["/usr/bin/unshare", "-U", "/bin/true"] },
                { "run": ["/bin/sh", "-c", "chmod 4755 started; cp /bin/true suid; chmod 4755 suid; stat -c %a suid"] },
                { "run": ["/usr/bin/python3", "-c", "import os; os.open('made', os.O_CREAT | os.O_WRONLY, 0o4755)"] },
            ]}),
        )
        .good();
        assert!(outcome.answer(0).unwrap_err().starts_with("Signal(31)"), "{outcome:#?}");
        assert!(outcome.answer(1).unwrap_err().contains("not permitted"), "{outcome:#?}");
        assert!(
            outcome.answer(2).unwrap().ends_with("755\n") && !outcome.answer(2).unwrap().ends_with("4755\n"),
            "{outcome:#?}"
        );
        assert!(outcome.answer(3).unwrap_err().contains("PermissionError"), "{outcome:#?}");
    }
}
