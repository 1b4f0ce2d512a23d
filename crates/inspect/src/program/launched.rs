//! Tools that a JavaScript project keeps, started by its package manager: `npx TOOL`, `pnpm exec TOOL`, `yarn TOOL` (the managers' manuals).

use crate::machine::{Machine, Stream, Word};

/// Tools by which JavaScript projects are checked, built, tested and documented, under the names of their packages. None of them
/// runs code that its arguments hold, publishes, or works on a database.
const DEVELOPED_WITH: &[&str] = &[
    "@arethetypeswrong/cli",
    "@biomejs/biome",
    "@redocly/cli",
    "@stoplight/spectral-cli",
    "api-extractor",
    "astro",
    "attw",
    "ava",
    "babel",
    "biome",
    "c8",
    "commitlint",
    "cspell",
    "cucumber-js",
    "cypress",
    "depcheck",
    "depcruise",
    "docusaurus",
    "drizzle-kit",
    "eleventy",
    "esbuild",
    "eslint",
    "expo",
    "gatsby",
    "graphql-codegen",
    "grunt",
    "gulp",
    "html-validate",
    "jasmine",
    "jest",
    "jscodeshift",
    "jsdoc",
    "json2ts",
    "karma",
    "knip",
    "lerna",
    "lessc",
    "license-checker",
    "lint-staged",
    "madge",
    "markdownlint",
    "markdownlint-cli2",
    "microbundle",
    "metro",
    "mocha",
    "ncc",
    "next",
    "ng",
    "nuxt",
    "nx",
    "nyc",
    "openapi-typescript",
    "oxlint",
    "parcel",
    "playwright",
    "postcss",
    "prettier",
    "prisma",
    "publint",
    "react-native",
    "redocly",
    "rollup",
    "sass",
    "size-limit",
    "source-map-explorer",
    "spectral",
    "standard",
    "storybook",
    "stryker",
    "stylelint",
    "svelte-check",
    "svgo",
    "swc",
    "tailwindcss",
    "tap",
    "tsc",
    "tsd",
    "tsdown",
    "tslint",
    "tsup",
    "turbo",
    "typedoc",
    "vite",
    "vitepress",
    "vitest",
    "vue-tsc",
    "wdio",
    "webpack",
    "xo",
];

/// Options of package managers that stand before what is run and take a value.
const WITH_VALUE: &[&str] =
    &["-F", "--filter", "-w", "--workspace", "--workspace-concurrency", "--loglevel", "--reporter"];

/// Those that change the folder.
const FOLDERS: &[&str] = &["-C", "--dir", "--prefix", "--cwd"];

impl Machine<'_> {
    /// `npx TOOL`, where the tool is one that a project keeps: its own copy is run before anything is fetched (npm-exec(1)). Whoever
    /// says yes to fetching beforehand may mean another package of that name.
    pub(super) fn projects_own(&mut self, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let flag = |word: &&Word| matches!(word.constant(), Some("--no" | "--no-install" | "-q" | "--quiet" | "--bun"));
        let (tool, rest) = rest.get(rest.iter().take_while(flag).count()..)?.split_first()?;
        let name = tool.constant().filter(|name| DEVELOPED_WITH.contains(name))?;
        let name = name
            .rsplit('/')
            .next()
            .filter(|last| *last != "cli")
            .or_else(|| name.split(['@', '/']).nth(1))
            .unwrap_or(name);
        let words = std::iter::once(Word::text(format!("node_modules/.bin/{name}"))).chain(rest.iter().cloned());
        Some(self.start(words.collect(), stdin.clone()))
    }

    /// `pnpm exec PROGRAM`, `yarn TOOL`: what is run is the project's own copy, and nothing is fetched (pnpm-exec(1); Yarn, "yarn run").
    /// Any program may stand behind `exec`; by its bare name only one that projects develop with is known not to be a script.
    pub(super) fn by_package_manager(&mut self, name: &str, rest: &[Word], stdin: &Stream) -> Option<Stream> {
        let mut at = 0;
        let mut folder = None;
        while let Some(word) = rest.get(at) {
            let text = word.constant()?;
            if FOLDERS.contains(&text) {
                folder = rest.get(at + 1);
                at += 1;
            } else if WITH_VALUE.contains(&text) {
                at += 1;
            } else if !text.starts_with('-') {
                break;
            }
            at += 1;
        }
        let words = rest.get(at..)?;
        let (first, more) = words.split_first()?;
        let (explicit, command) = match first.constant()? {
            "exec" => {
                // Flags of `exec` itself end where the program begins.
                let flags = more.iter().take_while(|word| word.prefix().starts_with('-')).count();
                more.iter().take(flags).all(is_flag_of_exec).then_some(())?;
                (true, more.get(flags..)?)
            }
            "run" if name != "npm" => (false, more),
            _ => (false, words),
        };
        let tool = command.first()?.constant()?;
        let known = DEVELOPED_WITH.contains(&tool);
        // npm asks the registry for what the project does not keep, and tells `exec` no other way.
        if !(known || (explicit && matches!(name, "pnpm" | "yarn"))) || (name == "npm" && !explicit) {
            return None;
        }
        let scope = folder.map(|folder| {
            let before = self.scope.clone();
            let to = if folder.has_hole() { Vec::new() } else { self.paths(folder) };
            self.scope.change_folder(to);
            before
        });
        let out =
            if known { self.projects_own(command, stdin) } else { Some(self.start(command.to_vec(), stdin.clone())) };
        if let Some(scope) = scope {
            self.scope = scope;
        }
        out
    }
}

/// Whether a word between `exec` and the program changes only how it is run: in all packages, without a message.
fn is_flag_of_exec(word: &Word) -> bool {
    matches!(
        word.constant(),
        Some(
            "--" | "-r"
                | "--recursive"
                | "--parallel"
                | "--no-bail"
                | "--bail"
                | "-s"
                | "--silent"
                | "--no"
                | "--offline"
        )
    )
}

#[cfg(test)]
mod tests {
    use crate::inspection::FindingKind;
    use countersign_plan::inspection::{Context, Inspection};

    fn inspect(line: &str) -> Inspection {
        crate::shell::shell(line, &Context::new("/home/user/project", "/home/user"))
    }

    #[test]
    fn npx_of_what_a_project_develops_with_is_the_project_s_own() {
        for line in ["npx eslint src --ext .ts", "npx --no prettier --check src", "bunx vitest run"] {
            let seen = inspect(line);
            assert!(seen.is_clear() && seen.touches.iter().any(|t| t.name.contains("node_modules/.bin/")), "{seen:#?}");
        }
        for line in [
            "npx esIint src",
            "npx eslint@latest-evil",
            "npx left-padd",
            "npx -p evil eslint",
            "npx --yes prettier --check src",
            "npx tsx -e 'x()'",
        ] {
            let seen = inspect(line);
            assert!(seen.touches.iter().any(|t| t.name.starts_with("package ")), "{line}: {seen:#?}");
        }
    }

    #[test]
    fn a_package_manager_starts_what_the_project_keeps() {
        for line in [
            "pnpm exec tsc --noEmit -p .",
            "pnpm -r --no-bail exec vitest run",
            "pnpm --filter @a/shop exec eslint src",
            "pnpm -C apps/shop vitest run",
            "yarn vitest run",
            "npm exec -- tsc --noEmit",
        ] {
            let seen = inspect(line);
            assert!(
                seen.is_clear() && !seen.touches.iter().any(|t| t.name.starts_with("package ")),
                "{line}: {seen:#?}"
            );
        }
        for line in ["pnpm exec sh -c 'rm -rf ~'", "pnpm -r exec -- rm -rf ~", "yarn exec rm -rf ~"] {
            assert!(inspect(line).found(FindingKind::DestroysHome), "{line}");
        }
        for line in ["pnpm exec left-padd", "pnpm dlx vitest", "npm exec left-padd", "pnpm exec --shell-mode 'x | sh'"]
        {
            assert!(
                !inspect(line).is_clear() || inspect(line).touches.iter().any(|t| t.name.starts_with("package ")),
                "{line}"
            );
        }
    }
}
