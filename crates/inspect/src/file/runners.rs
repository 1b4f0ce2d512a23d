//! Settings by which tests are left out or what fails passes, written where a runner of tests or a service reads them (the manuals of
//! pytest, tox, Jest, Vitest, Mocha, RSpec, Maven, Gradle, npm, GitHub Actions, GitLab CI and Azure Pipelines).

use serde_json::Value;

use crate::bounded::Bounded as _;

/// The most lines that are looked at.
const MAX_LINES: usize = 2048;

/// The most settings of a pipeline around which is looked.
const MAX_SETTINGS: usize = 32;

/// Programs that run tests.
const RUNNERS: &[&str] = &[
    "pytest",
    "py.test",
    "tox",
    "nox",
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "karma",
    "jasmine",
    "phpunit",
    "pest",
    "rspec",
    "ctest",
    "unittest",
    "nosetests",
    "trial",
    "nextest",
    "behave",
    "cypress",
    "wdio",
    "stestr",
    "bats",
    "gotestsum",
    "busted",
];

/// Programs that run tests with the word `test`.
const MANAGERS: &[&str] = &[
    "npm",
    "yarn",
    "pnpm",
    "bun",
    "deno",
    "cargo",
    "go",
    "mvn",
    "mvnw",
    "gradle",
    "gradlew",
    "make",
    "gmake",
    "dotnet",
    "mix",
    "swift",
    "flutter",
    "dart",
    "rake",
    "rails",
    "composer",
    "just",
    "task",
    "bazel",
    "nx",
    "turbo",
    "playwright",
    "sbt",
    "lein",
    "stack",
    "cabal",
    "zig",
    "meson",
    "invoke",
    "hatch",
    "ng",
    "forge",
    "hardhat",
    "truffle",
];

/// Words before the program that they start.
const STARTERS: &[&str] = &[
    "npx", "bunx", "uv", "uvx", "run", "poetry", "pdm", "pipenv", "exec", "bundle", "python", "python3", "-m",
    "coverage", "sudo", "time", "xvfb-run", "env", "--", "dotenv", "then", "do", "-",
];

/// What of the tests a file of this name would leave out or let pass.
pub(crate) fn weakens_tests(name: &str, text: &str) -> Option<String> {
    let lower = name.to_ascii_lowercase();
    let last = lower.rsplit('/').next().unwrap_or(&lower);
    let left_out = match last {
        "pytest.ini" | ".pytest.ini" | "tox.ini" | "setup.cfg" | "pyproject.toml" | "conftest.py" => of_python(text),
        "package.json" => of_package(text) || of_javascript(text),
        "pom.xml" => {
            let tight: String = text.chars().filter(|c| !c.is_whitespace()).collect();
            [
                "<skipTests>true<",
                "<testFailureIgnore>true<",
                "<maven.test.skip>true<",
                "<maven.test.failure.ignore>true<",
            ]
            .iter()
            .any(|setting| tight.contains(setting))
        }
        "build.gradle" | "build.gradle.kts" => of_gradle(text),
        // What is left out (cmake-properties(7), "DISABLED").
        "cmakelists.txt" => of_ctest(text),
        ".rspec" => has(text, &["--dry-run", "--failure-exit-code 0", "--failure-exit-code=0"]),
        _ => {
            let runner = ["jest.", "vitest.", "vite.", ".mocharc", "karma.", "playwright.", "cypress."];
            runner.iter().any(|start| last.starts_with(start)) && of_javascript(text)
        }
    };
    if left_out {
        return Some(format!("{name} would leave the tests out, or let what fails pass"));
    }
    let service = last.ends_with(".yml") || last.ends_with(".yaml");
    let passes = service && unheeded(text)
        || super::embedded(name, text)
            .is_some_and(|lines| lines.lines().at_most(MAX_LINES).any(swallows) || ends_well(&lines));
    passes.then(|| format!("{name} would let tests that fail pass"))
}

fn of_ctest(text: &str) -> bool {
    let calls = ["set_tests_properties", "set_property"].iter().flat_map(|call| text.split(call).skip(1));
    let on = |word: &str| matches!(word.to_ascii_uppercase().as_str(), "TRUE" | "ON" | "YES" | "1" | "Y");
    calls.at_most(MAX_LINES).any(|call| {
        let words: Vec<&str> = call.split(')').next().unwrap_or("").split_whitespace().collect();
        words.windows(2).any(|pair| matches!(pair, ["DISABLED", value] if on(value)))
    })
}

fn has(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// Options of pytest and settings of tox by which nothing of the project's is tested.
fn of_python(text: &str) -> bool {
    let mut inside = false;
    for line in text.lines().at_most(MAX_LINES) {
        let bare = line.trim();
        let (key, value) = bare.split_once('=').unwrap_or(("", bare));
        let key = key.trim().trim_matches('"');
        let goes_on = inside && (bare.starts_with(['-', '"', '\'', ']']) || line.starts_with([' ', '\t']));
        inside = key == "addopts" || key == "PYTEST_ADDOPTS" || goes_on;
        let value = if goes_on { bare } else { value };
        let words: Vec<&str> = value
            .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | ',' | '[' | ']'))
            .filter(|word| !word.is_empty())
            .collect();
        let all = match key {
            _ if inside => options_leave_out(&words),
            "norecursedirs" | "collect_ignore_glob" | "collect_ignore" => words.iter().any(|word| is_whole(word)),
            "ignore_outcome" | "ignore_errors" => words.first().is_some_and(|word| word.eq_ignore_ascii_case("true")),
            "commands" => !words.is_empty() && is_vacuous(value),
            _ => false,
        };
        if all {
            return true;
        }
    }
    false
}

/// Whether options of pytest collect nothing, or leave the folder of the tests or each of them out (pytest, "Command-line Flags").
fn options_leave_out(words: &[&str]) -> bool {
    words.iter().enumerate().any(|(i, word)| {
        let next = words.get(i + 1).copied().unwrap_or("");
        let of = |option: &str| {
            let value = word.strip_prefix(option)?;
            if value.is_empty() { Some(next) } else { value.strip_prefix('=') }
        };
        matches!(*word, "--collect-only" | "--co" | "--setup-plan" | "--fixtures")
            || ["--ignore", "--ignore-glob", "--deselect"].iter().any(|option| of(option).is_some_and(is_whole))
            || (*word == "-k"
                && next == "not"
                && words.get(i + 2).is_some_and(|name| is_whole(name) || *name == "test_"))
    })
}

/// Whether a name or pattern is that of all tests.
fn is_whole(pattern: &str) -> bool {
    let bare = pattern.trim_start_matches("./").trim_end_matches('/');
    matches!(
        bare,
        "" | "."
            | "*"
            | "**"
            | "**/*"
            | "*.py"
            | "**/*.py"
            | "test"
            | "tests"
            | "test*"
            | "tests/*"
            | "tests/**"
            | "test/*"
            | "*test*"
            | "test_*"
            | "test_*.py"
            | "*_test.py"
            | "**/test_*.py"
            | "*/test_*.py"
            | "src"
    )
}

/// Patterns of the runners of JavaScript that leave everything out, or find nothing.
fn of_javascript(text: &str) -> bool {
    const LEAVES_OUT: &[&str] = &[
        "testPathIgnorePatterns",
        "modulePathIgnorePatterns",
        "testIgnore",
        "excludeSpecPattern",
        "exclude",
        "ignore",
    ];
    let tight: String = text.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'')).collect();
    if has(&tight, &["testMatch:[]", "testRegex:^$", "testRegex:$^", "testRegex:(?!)", "dry-run:true", "dryRun:true"]) {
        return true;
    }
    LEAVES_OUT.iter().any(|key| {
        text.match_indices(key).at_most(MAX_LINES).any(|(at, _)| {
            let after = text.get(at + key.len()..).unwrap_or("").trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = after.strip_prefix(':') else { return false };
            // Other tools leave files out under the same word.
            let own = matches!(*key, "exclude" | "ignore");
            if own && !matches!(owner(text.get(..at).unwrap_or("")), "test" | "mocha" | "") {
                return false;
            }
            let value = value.trim_start();
            let end = if value.starts_with('[') { value.find(']') } else { value.find(['\n', ',']) };
            let value = value.get(..end.unwrap_or(value.len())).unwrap_or(value);
            let texts = value.split(['"', '\'', '`']).skip(1).step_by(2);
            texts.into_iter().any(leaves_all_out)
        })
    })
}

/// The name of the object that is open at the end of a text: `test: { …`.
fn owner(before: &str) -> &str {
    let mut depth = 0_usize;
    for (at, c) in before.char_indices().rev().take(4096) {
        match c {
            '}' => depth += 1,
            '{' if depth > 0 => depth -= 1,
            '{' => {
                let name = before.get(..at).unwrap_or("").trim_end();
                let Some(name) = name.strip_suffix(':') else { return "" };
                let name = name.trim_end().trim_end_matches(['"', '\'']);
                let from = name.rfind(|c: char| !(c.is_alphanumeric() || c == '_')).map_or(0, |i| i + 1);
                return name.get(from..).unwrap_or("");
            }
            _ => {}
        }
    }
    ""
}

/// Whether a pattern of paths matches the files of all tests.
fn leaves_all_out(pattern: &str) -> bool {
    let bare: String = pattern
        .replace("<rootDir>", "")
        .chars()
        .filter(|c| {
            !matches!(c, '/' | '*' | '.' | '\\' | '^' | '$' | '(' | ')' | '+' | '?' | '{' | '}' | ',' | '[' | ']' | '|')
        })
        .collect();
    let plain = matches!(
        bare.as_str(),
        "" | "test" | "tests" | "spec" | "specs" | "__tests__" | "src" | "testspec" | "spectest"
    );
    plain
        || ["test", "spec"].iter().any(|kind| {
            bare.strip_prefix(kind).is_some_and(|rest| {
                matches!(rest, "js" | "ts" | "tsx" | "jsx" | "mjs" | "cjs" | "jt" | "jts" | "jtsx" | "tjs")
            })
        })
}

/// Whether the test script of a package runs no test. A part of the file is read as such.
fn of_package(text: &str) -> bool {
    let whole: Option<Value> = serde_json::from_str(text).ok();
    if let Some(scripts) = whole.as_ref().and_then(|document| document.get("scripts")).and_then(Value::as_object) {
        return scripts.iter().filter(|(name, _)| is_test(name)).filter_map(|(_, line)| line.as_str()).any(is_vacuous);
    }
    text.split("\"test\"").skip(1).any(|rest| {
        let value = rest.trim_start().strip_prefix(':').map(str::trim_start).and_then(|rest| rest.strip_prefix('"'));
        value.and_then(|value| value.split('"').next()).is_some_and(is_vacuous)
    })
}

fn is_test(name: &str) -> bool {
    name == "test" || name.starts_with("test:")
}

/// Whether a command succeeds whatever the project is, and says nothing of there being no tests.
pub(crate) fn is_vacuous(line: &str) -> bool {
    let parts = || line.split(['&', ';', '|']).map(str::trim).filter(|part| !part.is_empty());
    let nothing = |part: &str| matches!(part, "exit 0" | "true" | ":" | "/bin/true" | "exit" | "/usr/bin/true");
    let says = |part: &str| part.starts_with("echo ") || part == "echo";
    let lower = line.to_ascii_lowercase();
    parts().all(|part| nothing(part) || says(part))
        && (parts().any(nothing) || ["pass", " ok", "success", "green"].iter().any(|word| lower.contains(word)))
        && !lower.contains("no test")
}

/// Whether Gradle goes on after failures, or runs no test (Gradle manual, "Testing in Java & JVM projects").
fn of_gradle(text: &str) -> bool {
    let tight: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    has(
        &tight,
        &[
            "ignoreFailures=true",
            "ignoreFailures.set(true)",
            "test.enabled=false",
            "test{enabled=false",
            "test.onlyIf{false}",
        ],
    )
}

/// Whether a command runs tests and swallows that they failed.
pub(crate) fn swallows(line: &str) -> bool {
    let line = line.trim().trim_start_matches(['-', '@', ' ']);
    let line = line.strip_prefix("run:").unwrap_or(line);
    let swallowed = ["|| true", "|| :", "|| exit 0", "|| echo", "||true", "||:", "; exit 0", "; true", "|| /bin/true"];
    swallowed.iter().any(|end| line.split_once(end).is_some_and(|(before, _)| runs_tests(before)))
}

/// Whether a script runs tests, goes on when they fail, and ends well whatever happened.
fn ends_well(lines: &str) -> bool {
    let goes_on = lines.lines().any(|line| line.trim() == "set +e");
    let pairs = lines.lines().zip(lines.lines().skip(1)).at_most(MAX_LINES);
    goes_on && pairs.into_iter().any(|(line, next)| runs_tests(line) && matches!(next.trim(), "exit 0" | "true" | ":"))
}

/// Whether the last of some commands runs tests.
fn runs_tests(commands: &str) -> bool {
    let last =
        commands.split(['&', ';', '|', '"', '\'', '(']).map(str::trim).rfind(|part| !part.is_empty()).unwrap_or("");
    let mut words = last
        .split_whitespace()
        .skip_while(|word| STARTERS.contains(word) || (word.contains('=') && !word.starts_with('-')));
    let first = words.next().unwrap_or("");
    let program = first.rsplit('/').next().unwrap_or(first);
    let rest: Vec<&str> = words.collect();
    let asks =
        rest.iter().any(|word| matches!(*word, "--version" | "--help" | "--collect-only" | "--list" | "--listTests"));
    let verb = |word: &&str| matches!(*word, "test" | "t" | "tests" | "check" | "verify" | "nextest") || is_test(word);
    !asks && (RUNNERS.contains(&program) || (MANAGERS.contains(&program) && rest.iter().take(4).any(verb)))
}

/// Whether a step or a job that runs tests may fail without anybody heeding it (GitHub Actions, `continue-on-error`; GitLab CI,
/// `allow_failure`; Azure Pipelines, `continueOnError`).
fn unheeded(text: &str) -> bool {
    const KEYS: &[&str] = &["continue-on-error:", "allow_failure:", "continueOnError:"];
    let lines: Vec<&str> = text.lines().at_most(MAX_LINES).collect();
    let key_at = |line: &str| {
        let bare = line.trim_start();
        let bare = bare.strip_prefix("- ").map_or(bare, str::trim_start);
        line.len() - bare.len()
    };
    let setting = |line: &str| {
        let bare = line.get(key_at(line)..).unwrap_or("");
        KEYS.iter()
            .any(|key| bare.strip_prefix(key).is_some_and(|value| value.trim().trim_matches(['"', '\'']) == "true"))
    };
    let runs = |line: &&&str| {
        let bare = line.get(key_at(line)..).unwrap_or("");
        let bare = ["run:", "script:", "command:", "bash:", "sh:"]
            .iter()
            .find_map(|key| bare.strip_prefix(key))
            .unwrap_or(bare);
        runs_tests(bare.trim().trim_matches(['"', '\'']))
    };
    let settings = lines.iter().enumerate().filter(|(_, line)| setting(line)).at_most(MAX_SETTINGS);
    settings.into_iter().any(|(at, line)| {
        let indent = key_at(line);
        let inside = |line: &&&str| line.trim().is_empty() || key_at(line) >= indent;
        let begins = |line: &str| line.trim_start().starts_with("- ") && key_at(line) == indent;
        // What belongs to the same item: back to where it begins, on to where it ends.
        let mut from = at;
        while !begins(lines.get(from).copied().unwrap_or(""))
            && let Some(before) = from.checked_sub(1).filter(|before| lines.get(*before).as_ref().is_some_and(&inside))
        {
            from = before;
        }
        let rest = lines.get(at + 1..).unwrap_or_default();
        let until = at + 1 + rest.iter().take_while(|line| inside(line) && !begins(line)).count();
        lines.get(from..until).unwrap_or_default().iter().any(|line| runs(&line))
    })
}

#[cfg(test)]
mod tests {
    use super::weakens_tests;

    #[test]
    fn settings_that_leave_all_tests_out_are_told_from_those_that_leave_some_out() {
        for (name, text) in [
            ("/w/pytest.ini", "[pytest]\naddopts = -ra --ignore=tests\n"),
            ("/w/pyproject.toml", "[tool.pytest.ini_options]\naddopts = [\n  \"-q\",\n  \"--collect-only\",\n]\n"),
            ("/w/setup.cfg", "[tool:pytest]\naddopts = -k \"not test\"\n"),
            ("/w/tox.ini", "[testenv]\nignore_outcome = true\n"),
            ("/w/jest.config.js", "module.exports = { testPathIgnorePatterns: ['/'] };"),
            ("/w/vitest.config.ts", "export default { test: { exclude: ['**/*.test.ts'] } }"),
            ("/w/package.json", "{\"scripts\": {\"test\": \"exit 0\"}}"),
            ("/w/package.json", "{\"scripts\": {\"test\": \"jest || true\"}}"),
            (
                "/w/.github/workflows/a.yml",
                "jobs:\n  a:\n    steps:\n      - name: t\n        run: npm test\n        continue-on-error: true\n",
            ),
            ("/w/.github/workflows/a.yml", "jobs:\n  a:\n    steps:\n      - run: pytest -q || true\n"),
            ("/w/.gitlab-ci.yml", "unit:\n  script:\n    - cargo test\n  allow_failure: true\n"),
            ("/w/Makefile", "test:\n\tgo test ./... || true\n"),
        ] {
            assert!(weakens_tests(name, text).is_some(), "{name}: {text}");
        }
        for (name, text) in [
            ("/w/pytest.ini", "[pytest]\naddopts = -ra --ignore=tests/slow -k \"not slow\"\n"),
            ("/w/pyproject.toml", "[project]\nname = \"a\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n"),
            ("/w/jest.config.js", "module.exports = { testPathIgnorePatterns: ['/node_modules/', '/e2e/'] };"),
            (
                "/w/vitest.config.ts",
                "export default { test: { coverage: { exclude: ['**/*.test.ts'] }, exclude: ['e2e/**'] } }",
            ),
            ("/w/package.json", "{\"scripts\": {\"test\": \"jest\", \"lint\": \"eslint . || true\"}}"),
            ("/w/package.json", "{\"scripts\": {\"test\": \"echo \\\"Error: no test specified\\\" && exit 1\"}}"),
            (
                "/w/.github/workflows/a.yml",
                "jobs:\n  a:\n    steps:\n      - run: npm test\n      - name: lint\n        run: npm run lint\n        continue-on-error: true\n      - run: pytest\n",
            ),
            ("/w/.github/workflows/a.yml", "jobs:\n  a:\n    steps:\n      - run: pip install pytest || true\n"),
        ] {
            assert!(weakens_tests(name, text).is_none(), "{name}: {text}");
        }
    }
}
