//! What is wrong or pointless in a policy, found without running anything: what does not compile, names that do not exist, rules
//! that never match or can never win.

use countersign_plan::tool::{Effect, Manifest, Reversibility, TargetKind, Tool};
use countersign_policy::paths::Place;
use countersign_policy::policy::{
    AllowRule, DenyRule, GoalDecision, GoalRule, Policy, PolicyDocument, Rule, Selector, VerifyRule,
};
use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    /// The policy does what it says, but perhaps not what was meant.
    Warning,
    /// The policy cannot be used.
    Error,
}

/// Something that is wrong or pointless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Finding {
    /// How bad.
    pub(super) severity: Severity,
    /// The place in the document, a JSON pointer.
    pub(super) pointer: String,
    /// What is wrong and how to mend it.
    pub(super) message: String,
}

/// Looks through a policy for a place and a set of tools. Findings stand in the order of the document.
#[must_use]
pub(super) fn lint(document: &PolicyDocument, manifest: &Manifest, place: &Place) -> Vec<Finding> {
    let mut findings = compile_each(document, place);
    if let Err(e) = Policy::compile(document, place)
        && !findings.iter().any(|f| f.pointer == e.pointer)
    {
        findings.push(Finding { severity: Severity::Error, pointer: e.pointer, message: e.what });
    }
    if findings.is_empty()
        && let Ok(policy) = Policy::compile(document, place)
    {
        Lint { policy: &policy, manifest, findings: &mut findings }.run();
    }
    findings
}

/// Every rule alone, so that one mistake does not hide the next.
fn compile_each(document: &PolicyDocument, place: &Place) -> Vec<Finding> {
    let empty = PolicyDocument::empty;
    let deny = document.deny.iter().map(|rule| PolicyDocument { deny: vec![DenyRule::clone(rule)], ..empty() });
    let verify = document.verify.iter().map(|rule| PolicyDocument { verify: vec![VerifyRule::clone(rule)], ..empty() });
    let allow = document.allow.iter().map(|rule| PolicyDocument { allow: vec![AllowRule::clone(rule)], ..empty() });
    let goal = document.goal.iter().map(|rule| PolicyDocument { goal: vec![GoalRule::clone(rule)], ..empty() });
    let alone = (deny.enumerate().map(|(i, d)| ("deny", i, d)))
        .chain(verify.enumerate().map(|(i, d)| ("verify", i, d)))
        .chain(allow.enumerate().map(|(i, d)| ("allow", i, d)))
        .chain(goal.enumerate().map(|(i, d)| ("goal", i, d)));
    alone
        .filter_map(|(kind, i, document)| {
            let error = Policy::compile(&document, place).err()?;
            // The rule stands first in its own document.
            let rest = error.pointer.strip_prefix(&format!("/{kind}/0")).unwrap_or("").to_owned();
            let pointer = format!("/{kind}/{i}{rest}");
            Some(Finding { severity: Severity::Error, pointer, message: error.what })
        })
        .collect()
}

struct Lint<'a> {
    policy: &'a Policy,
    manifest: &'a Manifest,
    findings: &'a mut Vec<Finding>,
}

impl<'a> Lint<'a> {
    fn warn(&mut self, pointer: String, message: impl Into<String>) {
        self.findings.push(Finding { severity: Severity::Warning, pointer, message: message.into() });
    }

    fn run(&mut self) {
        self.goal();
        let [deny, verify, allow] = self.policy.rules();
        for (kind, set) in [("deny", deny), ("verify", verify), ("allow", allow)] {
            for (i, rule) in set.iter().enumerate() {
                let pointer = format!("/{kind}/{i}");
                self.names(rule, &pointer);
                self.targets(rule, &pointer);
                // Within a kind, a wider rule before this one says all that it says.
                if let Some(wider) = set.iter().take(i).find(|other| self.covers(other, rule)) {
                    let message = format!("`{}` matches everything that `{}` matches", wider.name(), rule.name());
                    self.warn(pointer.clone(), message);
                }
                if kind != "deny"
                    && let Some(stronger) = deny.iter().find(|other| self.covers(other, rule))
                {
                    let message =
                        format!("`{}` can never win: `{}` denies all that it matches", rule.name(), stronger.name());
                    self.warn(pointer.clone(), message);
                }
                if kind == "allow" {
                    self.allow(rule, &pointer);
                    if let Some(stronger) = verify.iter().find(|other| self.covers(other, rule)) {
                        let message = format!(
                            "`{}` can never win: `{}` asks for tier {} first",
                            rule.name(),
                            stronger.name(),
                            stronger.tier()
                        );
                        self.warn(pointer.clone(), message);
                    }
                }
            }
        }
    }

    /// A rule about findings that a stricter one is about already.
    fn goal(&mut self) {
        let rules = &self.policy.document().goal;
        let all = |rule: &GoalRule| rule.findings.iter().any(|finding| finding == "goal.*");
        for (i, rule) in rules.iter().enumerate() {
            let covers = |(at, other): (usize, &GoalRule)| {
                let same = other.decision == rule.decision && other.approvers == rule.approvers && at < i;
                let stricter = other.decision == GoalDecision::Block && rule.decision != GoalDecision::Block;
                let about = all(other) || (!all(rule) && rule.findings.iter().all(|f| other.findings.contains(f)));
                (same || stricter) && about
            };
            if let Some((_, other)) = rules.iter().enumerate().find(|(at, other)| covers((*at, other))) {
                let message = format!("`{}` changes nothing: `{}` is about the same findings", rule.name, other.name);
                self.warn(format!("/goal/{i}"), message);
            }
        }
    }

    fn names(&mut self, rule: &Rule, pointer: &str) {
        let unknown: Vec<(usize, String)> = rule
            .selectors()
            .iter()
            .enumerate()
            .filter_map(|(i, selector)| match selector {
                Selector::Tool(name) if self.manifest.get(name).is_none() => {
                    Some((i, format!("no tool named `{name}`")))
                }
                Selector::Group(group)
                    if !self.manifest.iter().any(|t| t.definition().group.as_ref() == Some(group)) =>
                {
                    Some((i, format!("no group named `{group}`")))
                }
                Selector::Tool(_) | Selector::Group(_) | Selector::Effect(_) | Selector::Any => None,
            })
            .collect();
        for (i, message) in unknown {
            self.warn(format!("{pointer}/action_types/{i}"), format!("{message} exists here"));
        }
    }

    /// Paths on tools that touch no path, hosts on tools that reach no host.
    fn targets(&mut self, rule: &Rule, pointer: &str) {
        let tools = self.selected(rule);
        let any = |test: fn(TargetKind) -> bool, builtin: &[&str]| {
            tools.is_empty()
                || tools.iter().any(|tool| {
                    let definition = tool.definition();
                    test(definition.target.kind) || builtin.contains(&definition.name.as_str())
                })
        };
        let paths = any(
            countersign_policy::deployment::is_path_kind,
            &["execute_command", "run_program", "git", "database_query", "send_email"],
        );
        let hosts = any(|kind| matches!(kind, TargetKind::Host | TargetKind::Url), &["git"]);
        if rule.paths().is_some() && !paths {
            self.warn(format!("{pointer}/paths"), "none of these tools touches a path, so the rule never matches");
        }
        if rule.hosts().is_some() && !hosts {
            self.warn(format!("{pointer}/hosts"), "none of these tools reaches a host, so the rule never matches");
        }
        if rule.paths().is_some_and(<[String]>::is_empty) || rule.hosts().is_some_and(<[String]>::is_empty) {
            self.warn(pointer.to_owned(), "an empty list matches nothing; leave the key out to match everything");
        }
    }

    /// What an allow rule cannot waive.
    fn allow(&mut self, rule: &Rule, pointer: &str) {
        if rule.selectors().iter().any(|s| *s == Selector::Any) && !rule.is_conditional() && rule.paths().is_none() {
            self.warn(format!("{pointer}/action_types"), "allows every tool; name tools or effects");
        }
        let tools = self.selected(rule);
        let asks = |tool: &&Tool| {
            let definition = tool.definition();
            matches!(definition.effect, Effect::Pay | Effect::Admin)
                || definition.reversibility == Reversibility::Irreversible
        };
        if !tools.is_empty() && tools.iter().all(asks) {
            let message = "payments, administration and what cannot be taken back ask whatever rules allow";
            self.warn(pointer.to_owned(), message);
        }
        let runs = |tool: &&Tool| tool.definition().effect == Effect::Execute;
        if !tools.is_empty() && tools.iter().all(runs) && !rule.is_conditional() {
            let message = "programs are never allowed by name alone; add a `when` over `args.argv`";
            self.warn(pointer.to_owned(), message);
        }
    }

    /// The tools that the rule names, by their declared effect.
    fn selected(&self, rule: &Rule) -> Vec<&'a Tool> {
        let fits = |tool: &&Tool| {
            let definition = tool.definition();
            rule.selectors().fits(definition.name.as_str(), definition.group.as_deref(), definition.effect)
        };
        self.manifest.iter().filter(fits).collect()
    }

    /// Whether `wide` surely matches whatever `narrow` matches.
    fn covers(&self, wide: &Rule, narrow: &Rule) -> bool {
        let subset = |wide: Option<&[String]>, narrow: Option<&[String]>| match (wide, narrow) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(wide), Some(narrow)) => narrow.iter().all(|pattern| wide.contains(pattern)),
        };
        !wide.is_conditional()
            && subset(wide.paths(), narrow.paths())
            && subset(wide.hosts(), narrow.hosts())
            && narrow
                .selectors()
                .iter()
                .all(|one| wide.selectors().iter().any(|other| self.selector_covers(other, one)))
    }

    fn selector_covers(&self, wide: &Selector, narrow: &Selector) -> bool {
        match (wide, narrow) {
            (Selector::Any, _) => true,
            (Selector::Group(group), Selector::Tool(name)) => {
                self.manifest.get(name).is_some_and(|tool| tool.definition().group.as_ref() == Some(group))
            }
            (Selector::Effect(effect), Selector::Tool(name)) => {
                self.manifest.get(name).is_some_and(|tool| tool.definition().effect == *effect)
            }
            (wide, narrow) => wide == narrow,
        }
    }
}

#[cfg(test)]
mod tests {
    use countersign_plan::tool::Manifest;

    use super::{Severity, lint};
    use countersign_policy::paths::Place;
    use countersign_policy::policy::PolicyDocument;

    fn of(rules: &str) -> Vec<(Severity, String, String)> {
        let text = format!("schema: countersign.policy/v1\n{rules}\n");
        let document = PolicyDocument::read(text.as_bytes()).unwrap();
        let place = Place::new("/w", "/h").unwrap();
        lint(&document, &Manifest::builtin().unwrap(), &place)
            .into_iter()
            .map(|f| (f.severity, f.pointer, f.message))
            .collect()
    }

    fn only(rules: &str) -> (Severity, String, String) {
        let mut found = of(rules);
        assert_eq!(found.len(), 1, "{rules}: {found:?}");
        found.remove(0)
    }

    #[test]
    fn every_mistake_is_found_with_its_place() {
        let found = of("deny:
- {name: a, action_types: [delete_file], paths: ['a**b']}
- {name: b, action_types: ['effect:frob']}
- {name: c, action_types: [delete_file], when: 'args.x = 1'}
- {name: d, action_types: [delete_file], when: 'args.x.matches(args.y)'}
verify:
- {name: e, action_types: [delete_file], tier: 4}
- {name: f, action_types: []}
allow:
- {name: g, action_types: [http_request], hosts: ['a b']}");
        let places: Vec<&str> = found.iter().map(|(_, pointer, _)| pointer.as_str()).collect();
        let want = [
            "/deny/0/paths/0",
            "/deny/1/action_types/0",
            "/deny/2/when",
            "/deny/3/when",
            "/verify/0/tier",
            "/verify/1/action_types",
            "/allow/0/hosts/0",
        ];
        assert_eq!(places, want);
        assert!(found.iter().all(|(severity, ..)| *severity == Severity::Error));
        assert!(found[2].2.contains("line 1, column"), "{}", found[2].2);
        assert_eq!(
            only("deny: [{name: a, action_types: ['*'], paths: [x]}, {name: a, action_types: [git], paths: [y]}]").1,
            "/deny/1/name"
        );
        assert_eq!(only("limits: {risk: {ask: 90, block: 80}}").1, "/limits/risk");
        for (rule, place) in [
            ("findings: []", "/goal/0/findings"),
            ("findings: [flow.clearance]", "/goal/0/findings/0"),
            ("findings: ['goal.*', goal.unaskd]", "/goal/0/findings/1"),
            ("findings: ['*']", "/goal/0/findings/0"),
            ("findings: ['goal.*'], approvers: {group: ops}", "/goal/0/approvers"),
        ] {
            assert_eq!(only(&format!("goal: [{{name: a, decision: block, {rule}}}]")).1, place);
        }
    }

    #[test]
    fn names_that_do_not_exist_are_found() {
        assert_eq!(only("deny: [{name: a, action_types: [frobnicate]}]").1, "/deny/0/action_types/0");
        assert_eq!(only("deny: [{name: a, action_types: ['group:nope']}]").1, "/deny/0/action_types/0");
    }

    #[test]
    fn rules_that_never_match_or_never_win_are_found() {
        for (rules, place, word) in [
            (
                "deny: [{name: a, action_types: [delete_file]}]\nallow: [{name: b, action_types: [delete_file], paths: [x]}]",
                "/allow/0",
                "denies",
            ),
            (
                "verify: [{name: a, action_types: ['group:files']}]\nallow: [{name: b, action_types: [delete_file]}]",
                "/allow/0",
                "tier",
            ),
            (
                "deny: [{name: a, action_types: ['*'], paths: ['x/**']}, {name: b, action_types: [git], paths: ['x/**']}]",
                "/deny/1",
                "matches everything",
            ),
            ("deny: [{name: a, action_types: [send_message], paths: [x]}]", "/deny/0/paths", "never matches"),
            ("deny: [{name: a, action_types: [read_file], hosts: [x.example]}]", "/deny/0/hosts", "never matches"),
            ("allow: [{name: a, action_types: [send_email]}]", "/allow/0", "whatever rules allow"),
            ("allow: [{name: a, action_types: [run_program]}]", "/allow/0", "by name alone"),
            ("allow: [{name: a, action_types: ['*']}]", "/allow/0/action_types", "every tool"),
            (
                "goal: [{name: a, findings: [goal.unasked], decision: require_approval}, {name: b, findings: ['goal.*'], decision: block}]",
                "/goal/0",
                "changes nothing",
            ),
        ] {
            let (severity, pointer, message) = only(rules);
            assert_eq!((severity, pointer.as_str()), (Severity::Warning, place), "{rules}");
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn a_good_policy_has_no_findings() {
        let rules = "deny: [{name: a, action_types: [read_file, delete_file], paths: ['~/.ssh/**']}]
verify: [{name: b, action_types: ['effect:pay'], when: 'args.amount > 500.0', approvers: {group: finance, quorum: 2}}]
allow: [{name: c, action_types: [run_program], when: 'args.argv[0] == \"cargo\"'}]";
        assert_eq!(of(rules), []);
    }
}
