//! Functions that code hands on, names that it gives again, members that evaluate: attacks, and the ordinary code that looks like them.

use countersign_inspect::FindingKind;
use countersign_plan::tool::{Effect, TargetKind};

use crate::seen::{finds, inspect, reads, touches_kind};

#[test]
fn a_function_that_acts_may_be_called_by_whoever_gets_it() {
    reads(
        &[
            "node -e '[1, 2].map((x, i) => x + i).forEach(x => console.log(x))'",
            "node -e 'function add(a, b) { return a + b } console.log(add(1, 2), [{link: 1}].map((f) => f.link))'",
            "node -e 'const fs = require(\"fs\"); console.log(fs.readFileSync(\"a.txt\", \"utf8\"))'",
            "node -e 'const {execSync: run} = require(\"child_process\"); console.log(run(\"git status\").toString())'",
            "node -e 'const r = /a(b)/g; let m; while ((m = r.exec(\"ab\")) !== null) console.log(m[1])'",
            "node -e 'const re = new RegExp(\"x\"); console.log(re.exec(\"axb\"), /x/.exec(\"x\"))'",
            "node -e 'const {test, describe} = require(\"node:test\"); test(\"a\", () => {})'",
            "node -e 'const {promisify} = require(\"util\"); const fs = require(\"fs\"); promisify(fs.readFile)(\"a\").then(console.log)'",
            "node -e 'import(\"fs\").then((fs) => console.log(fs.readFileSync(\"a\", \"utf8\")))'",
            "node -e '(async () => { const { readFile } = await import(\"fs/promises\"); console.log(await readFile(\"a.txt\", \"utf8\")) })()'",
            "node -e 'const {groupBy} = require(\"lodash\"); console.log(groupBy([1], x => x))'",
            "lua -e 'for l in io.lines(\"a.txt\") do print(l) end'",
            "lua -e 'local t = {}; t.x = os.time(); print(t.x)'",
            "php -r 'print_r(array_map(\"strtoupper\", [\"a\"]));'",
        ],
        &[
            "node -e '((rm = require(\"fs\").rmSync) => rm(\"src\", {recursive: true}))()'",
            "node -e 'function go(f) { f(\"a.txt\") } go(require(\"fs\").unlinkSync)'",
            "node -e 'const go = (f) => f(\"id\"); go(require(\"child_process\")[\"execSync\"])'",
            "node -e 'const go = (f) => f(\"id\"); go(require(\"child_process\")[\"exec\" + \"Sync\"])'",
            "node -e 'Object.values(require(\"child_process\")).map((f) => f(\"id\"))'",
            "node -e 'const cp = require(\"child_process\"); Object.values(cp).map((f) => f(\"id\"))'",
            "node -e 'let q = require(\"fs\").rmSync; function z(q) {} q(\"a\")'",
            "node -e 'let r = /a/; function f(r) { r.exec(\"id\") } f(require(\"child_process\"))'",
            "node -e 'let r = /a/; [r] = [require(\"child_process\")]; r.exec(\"id\")'",
            "node -e 'let r = /a/; ({r} = {r: require(\"child_process\")}); r.exec(\"id\")'",
            "node -e 'let r = /a/; for (r of [require(\"child_process\")]) r.exec(\"id\")'",
            "node -e 'const RegExp = function (s) { return require(\"child_process\") }; new RegExp(\"x\").exec(\"id\")'",
            "node -e 'Object.values(process.getBuiltinModule(\"child_process\")).map(f => f(\"id\"))'",
            "node -e 'RegExp.prototype.exec = require(\"child_process\").execSync; /a/.exec(\"id\")'",
            "node -e 'import(\"child_process\").then(cp => Object.values(cp).map((f) => f(\"id\")))'",
            "node -e 'import(\"child_process\").then(Object.values).then(x => x.map((f) => f(\"id\")))'",
            "node -e 'console.log([...require(\"other\").x])'",
            "node -e 'Object.values({...require(\"child_process\")}).map(f => f(\"id\"))'",
            "node -e 'const cp = require(\"child_process\"); Object.values({...cp}).map(f => f(\"id\"))'",
            "node -e 'require(\"lodash/template\")(\"<%= x %>\")()'",
            "node -e 'const t = require(\"lodash\").template; t(\"<% x() %>\")()'",
            "node -e 'const {run} = require(\"node:test\"); run({files: [\"x.js\"]})'",
            "node -e 'require(\"yargs\").commandDir(\"/tmp/x\").argv'",
            "node -e 'const t = require(\"test\"); t()'",
            "node -e 'class A { constructor() { } } const {constructor} = () => {}; constructor(\"return process\")()'",
            "lua -e 'for _, f in ipairs({os.execute}) do f(\"id\") end'",
            "lua -e 'for _, f in ipairs({os.remove}) do f(\"a\") end'",
            "lua -e 'f = io.popen; f(\"id\")'",
            "php -r 'array_filter(...[[\"id\"], \"system\"]);'",
        ],
    );
    for (line, effect, kind, name) in [
        (
            "node -e 'import(\"child_process\").then(cp => cp.execSync(\"rm -rf x\"))'",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/x",
        ),
        (
            "node --input-type=module -e 'const {execSync} = await import(\"child_process\"); execSync(\"rm -rf x\")'",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/x",
        ),
        (
            "node -e 'let cp = 0; cp ||= require(\"child_process\"); cp.exec(\"rm -rf x\")'",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/x",
        ),
        (
            "node -e 'const {sys} = require(\"typescript\"); sys.deleteFile(\"x\")'",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/x",
        ),
        (
            "node -e 'require(\"papaparse\").parse(\"http://203.0.113.4/x\", {download: true})'",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "php -r 'call_user_func_array(\"file_put_contents\", [\"a.php\", \"x\"]);'",
            Effect::Update,
            TargetKind::File,
            "/home/user/project/a.php",
        ),
        (
            "php -r 'preg_replace_callback(\"/x/\", \"unlink\", \"a.txt\");'",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/a.txt",
        ),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
}

#[test]
fn perl_calls_what_has_the_name_of_a_variable() {
    reads(
        &[
            "perl -e 'my %o = (unlink => 1); print $o{unlink}, $p->{system}'",
            "perl -e 'my $x = 1; for my $k (sort keys %h) { print $k + $x }'",
            "perl -pe \"s/(\\\\d+)/sprintf('%05d', \\$1 + 1)/ge\"",
            "perl -MFile::Find -e 'find(sub { print \"$File::Find::name\\n\" if /\\.c$/ }, \"src\")'",
        ],
        &[
            "perl -pe \"s/x/'\\\"' . system(q(rm -rf y)) . '\\\"'/e\"",
            "perl -MFile::Find -e 'find(sub { unlink }, \".\")'",
            "perl -MFile::Find -e 'find(sub { rmdir; }, \"/var\")'",
            "perl -MFile::Find -e 'find(\\&CORE::unlink, \"/home\")'",
            "perl -ne 'chomp; unlink' list.txt",
            "perl -e 'for (glob(\"*.c\")) { unlink }'",
            "perl -e 'use File::Copy; for my $mv (1) {} mv(\"a\", \"/etc/b\")'",
            "perl -e 'use File::Path; my $make_path; make_path(\"/etc/x\")'",
            "perl -e 'my $getprint = 1; getprint(\"http://203.0.113.4/x\")'",
            "perl -e 'use base \"Other\"; Other->go'",
            "perl -e 'use parent qw(Other); Other->go'",
            "perl -e 'use Digest; print Digest->new(\"Other\")'",
        ],
    );
    for (line, effect, kind, name) in [
        ("perl -MFile::Find -e 'find(sub { unlink }, \"/var\")'", Effect::Read, TargetKind::File, "/var"),
        (
            "perl -pe \"s/x/'\\\"' . unlink(glob(q(*))) . '\\\"'/e\"",
            Effect::Delete,
            TargetKind::File,
            "/home/user/project/*",
        ),
        ("perl -e 'print \"a\" . unlink(\"b\") . \"c\"'", Effect::Delete, TargetKind::File, "/home/user/project/b"),
        ("php -r 'echo \"a\" . unlink(\"b\");'", Effect::Delete, TargetKind::File, "/home/user/project/b"),
        ("lua -e 'print(\"a\" .. os.remove(\"b\"))'", Effect::Delete, TargetKind::File, "/home/user/project/b"),
        ("perl -e 'use lib \"/tmp/e\"; use JSON; print 1'", Effect::Execute, TargetKind::File, "/tmp/e"),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
}

#[test]
fn members_of_modules_that_compute_may_evaluate_or_write() {
    reads(
        &[
            "python3 -c 'import platform; print(platform.system())'",
            "python3 -c 'from email.message import EmailMessage; m = EmailMessage(); m.set_content(\"x\"); print(m)'",
            "python3 -c 'from sympy import symbols, solve; x = symbols(\"x\"); print(solve(x**2 - 1, x))'",
            "python3 -c 'from ruamel.yaml import YAML; print(YAML(typ=\"safe\").load(open(\"x.yml\")))'",
            "python3 -c 'import pickle; pickle.dump([1], open(\"a.pkl\", \"wb\"))'",
            "python3 -c 'import markdown; print(markdown.markdown(\"x\", extensions=[\"tables\"]))'",
            "python3 -c 'import numpy as np; print(np.load(\"x.npy\", mmap_mode=\"r\"))'",
            "python3 -c 'from jinja2 import Template; print(Template(\"{{ x[0] }}\").render(x=[1]))'",
            "python3 -c 'import fileinput\nfor l in fileinput.input(files=[\"a.txt\"], inplace=True): print(l)'",
            "python3 -c 'import tarfile; tarfile.open(\"a.tar.gz\").extractall(filter=\"data\")'",
            "python3 -c 'import sqlite3\nc = sqlite3.connect(\"a.db\"); cur = c.cursor(); cur.execute(\"select 1\"); print(c.cursor().execute(\"select 3\").fetchone())\nwith sqlite3.connect(\"b.db\") as d: d.execute(\"select 1\")'",
            "python3 -c 'import logging.config; logging.config.dictConfig({\"version\": 1, \"handlers\": {\"h\": {\"class\": \"logging.StreamHandler\", \"stream\": \"ext://sys.stdout\"}}})'",
        ],
        &[
            "python3 -c 'import sympy; sympy.simplify(\"__import__(\\\"os\\\").system(\\\"id\\\")\")'",
            "python3 -c 'import networkx as nx; nx.write_latex(g, \"/srv/x\")'",
            "python3 -c 'import xarray as xr; xr.save_mfdataset([a], [\"/srv/x\"])'",
            "python3 -c 'import logging; logging.basicConfig(filename=x)'",
            "python3 -c 'from sympy import S; S(\"__import__(1)\")'",
            "python3 -c 'from sympy import sin; sin(\"__import__(1)\")'",
            "python3 -c 'import sympy as sp; x.subs(\"__import__(1)\", 2)'",
            "python3 -c 'import os; import sqlite3\ndef f(c): c.execute(\"DROP TABLE t\")\nc = sqlite3.connect(\":memory:\"); f(engine)'",
            "python3 -c 'import sqlite3\nc, d = sqlite3.connect(\":memory:\"), engine\nc.execute(\"DROP TABLE t\")'",
            "python3 -c 'import unittest; unittest.main(module=\"x\")'",
            "python3 -c 'from unittest import main; main(\"x\")'",
            "python3 -c 'import ruamel.yaml; ruamel.yaml.YAML(typ=\"unsafe\").load(open(\"x.yml\"))'",
            "python3 -c 'import pickle; pickle._loads(b\"x\")'",
            "python3 -c 'import markdown; markdown.markdown(\"x\", extensions=[\"other\"])'",
            "python3 -c 'import zipfile; zipfile.main([\"-e\", \"a.zip\", \"/etc\"])'",
            "python3 -c 'from signal import pthread_kill; pthread_kill(1, 9)'",
            "python3 -c 'from http.server import ThreadingHTTPServer; ThreadingHTTPServer((\"0.0.0.0\", 80), h)'",
            "python3 -c 'import numpy as np; np.load(\"x.npy\", None, True)'",
            "python3 -c 'import numpy as np; np.load(\"x.npy\", **{\"allow_pickle\": True})'",
            "python3 -c 'import fileinput\nfor l in fileinput.input(\"a.py\", **{\"inplace\": True}): print(l)'",
            "python3 -c 'import yaml; SafeLoader = yaml.UnsafeLoader; yaml.load(open(\"x\"), Loader=SafeLoader)'",
            "python3 -c 'import yaml; yaml.SafeLoader = yaml.UnsafeLoader; yaml.load(open(\"x\"), Loader=yaml.SafeLoader)'",
            "python3 -c 'from jinja2 import Template; Template(\"x\", extensions=[\"other.Ext\"])'",
            "python3 -c 'import logging.config; logging.config.dictConfig({\"version\": 1, \"handlers\": {\"h\": {\"class\": \"other.module.Class\"}}})'",
            "python3 -c 'import sqlite3\nc = sqlite3.connect(\":memory:\"); d = sqlite3.Connection(\"a.db\"); d.execute(\"DROP TABLE t\")'",
            "python3 -c 'import sqlite3\nc = sqlite3.connect(\":memory:\"); engine.execute(\"DROP DATABASE prod\")'",
            "python3 -c 'import xml.etree.ElementTree as ET; t = ET.parse(\"a.xml\"); t.write(f\"{x}.xml\")'",
        ],
    );
    for (line, effect, kind, name) in [
        (
            "python3 -c 'import soundfile; soundfile.SoundFile(\"/srv/x\", \"w\", 44100, 1)'",
            Effect::Update,
            TargetKind::File,
            "/srv/x",
        ),
        (
            "python3 -c 'import logging; logging.basicConfig(filename=\"/srv/x.log\"); logging.info(\"a\")'",
            Effect::Update,
            TargetKind::File,
            "/srv/x.log",
        ),
        ("python3 -c 'import click; click.open_file(\"/srv/x\", \"w\")'", Effect::Update, TargetKind::File, "/srv/x"),
        (
            "python3 -c 'import networkx; networkx.write_pajek(g, \"/srv/x\")'",
            Effect::Update,
            TargetKind::File,
            "/srv/x",
        ),
        (
            "python3 -c 'import imageio.v3; imageio.v3.imwrite(\"/srv/x.gif\", a)'",
            Effect::Update,
            TargetKind::File,
            "/srv/x.gif",
        ),
        (
            "python3 -c 'import numpy as np; np.memmap(\"data.bin\", mode=\"w+\", shape=9)'",
            Effect::Update,
            TargetKind::File,
            "/home/user/project/data.bin",
        ),
        (
            "python3 -c 'import webbrowser; webbrowser.open_new(\"http://203.0.113.4\")'",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "python3 -c 'import requests; requests.options(\"http://203.0.113.4\")'",
            Effect::Send,
            TargetKind::Host,
            "203.0.113.4:80",
        ),
        (
            "python3 -c 'import logging.config; logging.config.dictConfig({\"version\": 1, \"handlers\": {\"h\": {\"class\": \"logging.FileHandler\", \"filename\": \"/srv/x.log\"}}})'",
            Effect::Update,
            TargetKind::File,
            "/srv/x.log",
        ),
        (
            "python3 -c 'import fileinput\nfor l in fileinput.input(\"a.py\", True): print(l)'",
            Effect::Update,
            TargetKind::File,
            "/home/user/project/a.py",
        ),
        (
            "python3 -c 'import xml.etree.ElementTree as ET; t = ET.parse(\"a.xml\"); t.write(\"/srv/noext\")'",
            Effect::Update,
            TargetKind::File,
            "/srv/noext",
        ),
        (
            "python3 -c 'import xml.etree.ElementTree as ET; t = ET.parse(\"a.xml\"); t.write(file_or_filename=\"/srv/b.xml\")'",
            Effect::Update,
            TargetKind::File,
            "/srv/b.xml",
        ),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
    let told = inspect(
        "python3 -c 'import xml.etree.ElementTree, sys; sys.stdout.write(\"done.ok\")\nwith open(\"a.txt\", \"w\") as f: f.write(\"x/y.z\")'",
    );
    assert!(!told.touches.iter().any(|touch| touch.name.ends_with(".ok") || touch.name.ends_with(".z")), "{told:#?}");
}

#[test]
fn variables_that_decide_what_runs_are_set_in_more_than_one_way() {
    finds(
        FindingKind::LoadsCode,
        &[
            "python3 -c 'import os; os.environ[\"LD_PRELOAD\"] += \":/tmp/x.so\"'",
            "python3 -c 'import os; os.environ[\"LD_PRELOAD\"], x = \"/tmp/x.so\", 1'",
            "python3 -c 'import os; os.environb[b\"LD_PRELOAD\"] = b\"/tmp/x.so\"'",
            "python3 -c 'import os; os.environ |= {\"LD_PRELOAD\": \"/tmp/x.so\"}'",
            "python3 -c 'import os; e = os.environ; e[\"LD_PRELOAD\"] = \"/tmp/x.so\"'",
            "python3 -c 'import os; os.environ.update({\"LD_PRELOAD\": \"/tmp/x.so\"})'",
            "CARGO_BUILD_RUSTDOC=/tmp/x cargo doc",
            "RUSTDOC=/tmp/x cargo doc",
            "CARGO_HOST_LINKER=/tmp/x cargo build",
            "CARGO_BUILD_RUSTFLAGS=-Clinker=/tmp/x cargo build",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUSTFLAGS=-Clinker=/tmp/x cargo build",
            "CARGO_REGISTRIES_X_CREDENTIAL_PROVIDER=/tmp/x cargo publish",
            "CARGO_TARGET_X_RUNNER='wine /tmp/x.exe' cargo test",
            "CARGO_TARGET_X_RUNNER='qemu-x86_64 -plugin /tmp/x.so' cargo test",
            "CARGO_TARGET_X_RUNNER=qemu-other cargo test",
            "CARGO_TARGET_X_RUNNER='qemu-img create -f raw /srv/x 1G' cargo test",
        ],
        &[
            "python3 -c 'import os; os.environ[\"PATH\"] += \":/opt/x/bin\"; os.environ[\"A\"] = \"b\"; print(os.environ[\"A\"])'",
            "python3 -c 'import os; os.environ.update({\"A\": \"b\"}); os.environ.update(C=\"d\")'",
            "CARGO_BUILD_RUSTFLAGS=-Ctarget-cpu=native cargo build",
            "CARGO_TARGET_X_RUNNER='qemu-aarch64 -L /usr/aarch64-linux-gnu' cargo test",
            "CARGO_TARGET_WASM32_WASI_RUNNER='wasmtime --dir=.' cargo test",
            "CARGO_BUILD_RUSTC_WRAPPER=sccache cargo build",
            "CARGO_REGISTRY_CREDENTIAL_PROVIDER=cargo:token cargo publish",
        ],
    );
    reads(
        &["python3 -c 'import os; os.environ.update({\"A\": \"b\"}); os.environ.update(C=\"d\")'"],
        &[
            "python3 -c 'import os; os.environ.update(x)'",
            "python3 -c 'import os; os.environ.update(f(x))'",
            "python3 -c 'import os; os.environ[x] = \"y\"'",
        ],
    );
    finds(
        FindingKind::DestroysDevice,
        &["dd if=x of='/dev/serial/by-[i]d/x'", "dd if=x of=/dev/serial/by-x"],
        &["dd if=x of=/dev/serial/by-id/usb-FTDI_FT232R-if00-port0"],
    );
}

#[test]
fn a_dot_behind_a_name_of_julia_calls_it_for_each() {
    reads(
        &["julia -e 'f(x) = x^2 + 1; println(f.(1:3))'", "julia -e 'x = 1:3; println(x.^2 .+ 1)'"],
        &["julia -e 'f = run; f.([\"a\"])'", "julia -e 'run.(x)'"],
    );
}

#[test]
fn what_gnuplot_reads_may_be_what_a_program_prints() {
    reads(
        &[
            "gnuplot -e \"set term png size 800,600; set output 'a.png'; set style data lines; plot 'a.dat' using 1:2 title 'x', '' using 1:3\"",
            "gnuplot -e \"set datafile separator ','; plot for [i=2:4] 'a.csv' using 1:i with lines\"",
        ],
        &[
            "gnuplot -e \"f='< id'; plot f\"",
            "gnuplot -e \"sy x='id'\"",
            "gnuplot -e \"l x='a.gp'\"",
            "gnuplot -e \"set pr 'x.txt'\"",
            "gnuplot -e \"set tab 'x.txt'\"",
        ],
    );
    for (line, effect, kind, name) in [
        ("gnuplot -e \"plot '/srv/secret stuff.dat'\"", Effect::Read, TargetKind::File, "/srv/secret stuff.dat"),
        ("gnuplot -e \"plot 'secret'\"", Effect::Read, TargetKind::File, "/home/user/project/secret"),
    ] {
        assert!(touches_kind(line, effect, kind, name), "{line}: {:#?}", inspect(line));
    }
}

/// What is called once a program has ended is none of its words.
#[test]
fn a_program_with_a_callback_is_run_as_a_line() {
    let seen = inspect("node -e 'const {exec}=require(\"child_process\"); exec(\"rm -rf src\",(e)=>{})'");
    assert!(seen.touches.iter().any(|touch| touch.effect == Effect::Delete), "{seen:#?}");
    let seen =
        inspect("node -e 'const {exec}=require(\"child_process\"); exec(\"git status\",(e,out)=>console.log(out))'");
    assert!(seen.is_clear(), "{seen:#?}");
}

/// Statements for many rows, what a database loads, and texts that SymPy evaluates under its inner modules.
#[test]
fn methods_and_modules_by_their_other_names() {
    let loads = inspect("python3 -c 'import sqlite3; c=sqlite3.connect(\"a.db\"); c.load_extension(\"/tmp/x\")'");
    assert!(loads.touches.iter().any(|touch| touch.effect == Effect::Execute && touch.name == "/tmp/x"), "{loads:#?}");
    let code = "from sympy.core.sympify import sympify; sympify(\"__import__(\\\"os\\\").system(\\\"id\\\")\")";
    assert!(!inspect(&format!("python3 -c '{code}'")).is_clear());
    let many = inspect("python3 -c 'import sqlite3; c=sqlite3.connect(\"a.db\"); c.executemany(\"DROP TABLE t\",[])'");
    assert!(many.touches.iter().any(|touch| touch.effect == Effect::Delete), "{many:#?}");
}

/// Files of gnuplot whose names are put together, or have signs in numbers, may be what a program prints.
#[test]
fn what_gnuplot_draws_is_named() {
    for script in ["plot \"\\074 rm -rf x\"", "plot sprintf(\"%c id\",60)", "plot \"x< id\"[2:99]", "plot \"a\".x"] {
        assert!(!inspect(&format!("gnuplot -e '{script}'")).is_clear(), "{script}");
    }
    for script in ["plot \"a.dat\" using 1:2", "set title sprintf(\"%d runs\", 4); plot \"a.dat\" title \"A\""] {
        assert!(inspect(&format!("gnuplot -e '{script}'")).is_clear(), "{script}");
    }
}
