//! Compiled rules and the index that finds the few that may match.

use std::collections::HashMap;

use countersign_plan::tool::Effect;

use super::document::{AllowRule, Approvers, DenyRule, VerifyRule};
use super::selector::{Selector, Selectors};
use super::{Action, PolicyError, Use};
use crate::condition::{Condition, Environment, Outcome, Scope};
use crate::hosts::HostSet;
use crate::paths::{Case, PathSet, Place, Seen};

/// A compiled rule.
#[derive(Debug)]
pub struct Rule {
    name: String,
    selectors: Selectors,
    paths: Option<(Vec<String>, PathSet)>,
    hosts: Option<(Vec<String>, HostSet)>,
    when: Option<Condition>,
    tier: u8,
    approvers: Option<Approvers>,
}

/// The parts of a rule's document that all three kinds have.
pub(super) struct Source<'d> {
    name: &'d str,
    action_types: &'d [String],
    paths: Option<&'d [String]>,
    hosts: Option<&'d [String]>,
    when: Option<&'d str>,
    tier: Option<u8>,
    approvers: Option<&'d Approvers>,
}

/// A document of a rule.
pub(super) trait Document {
    /// Its parts.
    fn source(&self) -> Source<'_>;
}

macro_rules! document {
    ($type:ty, $tier:expr, $approvers:expr) => {
        impl Document for $type {
            fn source(&self) -> Source<'_> {
                let (tier, approvers): (fn(&Self) -> Option<u8>, fn(&Self) -> Option<&Approvers>) = ($tier, $approvers);
                Source {
                    name: &self.name,
                    action_types: &self.action_types,
                    paths: self.paths.as_deref(),
                    hosts: self.hosts.as_deref(),
                    when: self.when.as_deref(),
                    tier: tier(self),
                    approvers: approvers(self),
                }
            }
        }
    };
}

document!(DenyRule, |_| None, |_| None);
document!(VerifyRule, |rule| rule.tier, |rule| rule.approvers.as_ref());
document!(AllowRule, |_| None, |_| None);

impl<'d> Source<'d> {
    pub(super) fn of(document: &'d impl Document) -> Self {
        document.source()
    }
}

pub(super) fn compile_rule(
    source: &Source<'_>,
    case: Case,
    place: &Place,
    env: &Environment,
    pointer: &str,
) -> Result<Rule, PolicyError> {
    let wrong = |at: &str, what: String| PolicyError { pointer: format!("{pointer}{at}"), what };
    if source.name.is_empty() || source.name.len() > 128 || countersign_plan::text::check_name(source.name).is_err() {
        return Err(wrong("/name", "a rule has a plain name of at most 128 bytes".to_owned()));
    }
    if source.action_types.is_empty() {
        return Err(wrong("/action_types", "a rule names tools, `effect:…`, `group:…` or `*`".to_owned()));
    }
    let selectors = source
        .action_types
        .iter()
        .enumerate()
        .map(|(i, text)| text.parse().map_err(|e| wrong(&format!("/action_types/{i}"), e)))
        .collect::<Result<_, _>>()?;
    let paths = source
        .paths
        .map(|list| {
            for (i, pattern) in list.iter().enumerate() {
                PathSet::compile(case, place, [(0, pattern.as_str())])
                    .map_err(|e| wrong(&format!("/paths/{i}"), e.to_string()))?;
            }
            let set = PathSet::compile(case, place, list.iter().map(|pattern| (0, pattern.as_str())));
            set.map(|set| (list.to_vec(), set)).map_err(|e| wrong("/paths", e.to_string()))
        })
        .transpose()?;
    let hosts = source
        .hosts
        .map(|list| {
            for (i, pattern) in list.iter().enumerate() {
                crate::hosts::HostPattern::parse(pattern).map_err(|e| wrong(&format!("/hosts/{i}"), e.to_string()))?;
            }
            let set = HostSet::compile(list.iter().map(|pattern| (0, pattern.as_str())));
            set.map(|set| (list.to_vec(), set)).map_err(|e| wrong("/hosts", e.to_string()))
        })
        .transpose()?;
    let when =
        source.when.map(|text| Condition::compile(text, env).map_err(|e| wrong("/when", e.to_string()))).transpose()?;
    let tier = source.tier.unwrap_or(3);
    if !(1..=3).contains(&tier) {
        return Err(wrong("/tier", "a tier is 1, 2 or 3".to_owned()));
    }
    if source.approvers.is_some_and(|a| a.quorum == 0) {
        return Err(wrong("/approvers/quorum", "a quorum is at least one person".to_owned()));
    }
    Ok(Rule {
        name: source.name.to_owned(),
        selectors: Selectors(selectors),
        paths,
        hosts,
        when,
        tier,
        approvers: source.approvers.cloned(),
    })
}

impl Rule {
    /// The name that reasons cite.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its `action_types` name.
    #[must_use]
    pub const fn selectors(&self) -> &Selectors {
        &self.selectors
    }

    /// For a verify rule: at least this far.
    #[must_use]
    pub const fn tier(&self) -> u8 {
        self.tier
    }

    /// Who must approve, where people are asked.
    #[must_use]
    pub const fn approvers(&self) -> Option<&Approvers> {
        self.approvers.as_ref()
    }

    /// Its path patterns as written.
    #[must_use]
    pub fn paths(&self) -> Option<&[String]> {
        self.paths.as_ref().map(|(list, _)| list.as_slice())
    }

    /// Its host patterns as written.
    #[must_use]
    pub fn hosts(&self) -> Option<&[String]> {
        self.hosts.as_ref().map(|(list, _)| list.as_slice())
    }

    /// Whether it has a condition.
    #[must_use]
    pub const fn is_conditional(&self) -> bool {
        self.when.is_some()
    }

    /// Whether the condition holds in several scopes: `decisive` is the outcome that one scope alone settles it with.
    pub(super) fn holds(&self, scopes: &[&dyn Scope], decisive: Outcome) -> Outcome {
        let Some(condition) = &self.when else { return Outcome::True };
        let mut all = if decisive == Outcome::True { Outcome::False } else { Outcome::True };
        for scope in scopes {
            match condition.evaluate(*scope) {
                Outcome::Diagnostic(why) => return Outcome::Diagnostic(why),
                outcome if outcome == decisive => all = outcome,
                Outcome::Unknown if all != decisive => all = Outcome::Unknown,
                Outcome::True | Outcome::False | Outcome::Unknown => {}
            }
        }
        if scopes.is_empty() { Outcome::Diagnostic("nothing to evaluate the condition in".to_owned()) } else { all }
    }

    fn host_fits(&self, one: &Use<'_>) -> bool {
        self.hosts.as_ref().is_none_or(|(_, set)| one.endpoint.is_some_and(|endpoint| set.contains(endpoint)))
    }

    /// For a rule with both paths and hosts: some use that the selectors mean goes to one of the hosts.
    fn some_host(&self, action: &Action<'_>) -> bool {
        let meant = |one: &&Use<'_>| self.selectors.fits(action.tool, action.group, one.effect);
        self.hosts.is_none() || action.uses.iter().filter(meant).any(|one| self.host_fits(one))
    }

    /// For a rule to allow: every use is meant, every path lies inside, every host is listed, and there is at least one of each
    /// that the rule names.
    fn covers(&self, action: &Action<'_>) -> bool {
        let meant = action.uses.iter().all(|one| self.selectors.fits(action.tool, action.group, one.effect));
        let paths = self.paths.as_ref().is_none_or(|(_, set)| {
            let mut named = action.uses.iter().filter_map(|one| one.path.as_ref()).peekable();
            named.peek().is_some() && named.all(|path| path.inside(set))
        });
        let hosts = self.hosts.as_ref().is_none_or(|(_, set)| {
            let mut named = action.uses.iter().filter_map(|one| one.endpoint).peekable();
            named.peek().is_some() && named.all(|endpoint| set.contains(endpoint))
        });
        meant && paths && hosts && !action.uses.is_empty()
    }
}

/// Rules of one kind, found by tool, group and effect.
#[derive(Debug)]
pub struct RuleSet {
    rules: Vec<Rule>,
    tools: HashMap<String, Bucket>,
    groups: HashMap<String, Bucket>,
    effects: Vec<Bucket>,
    any: Bucket,
}

/// Rules that one selector names, by what else they ask for.
#[derive(Debug)]
struct Bucket {
    plain: Vec<u32>,
    paths: PathSet,
    hosts: HostSet,
}

#[derive(Default)]
struct Draft {
    plain: Vec<u32>,
    paths: Vec<u32>,
    hosts: Vec<u32>,
}

impl RuleSet {
    pub(super) fn compile(rules: Vec<Rule>, case: Case, place: &Place, pointer: &str) -> Result<Self, PolicyError> {
        let (mut tools, mut groups) = (HashMap::<String, Draft>::new(), HashMap::<String, Draft>::new());
        let mut effects: Vec<Draft> = Effect::ALL.iter().map(|_| Draft::default()).collect();
        let mut any = Draft::default();
        for (id, rule) in (0_u32..).zip(&rules) {
            for selector in &rule.selectors.0 {
                let draft = match selector {
                    Selector::Any => &mut any,
                    Selector::Tool(name) => tools.entry(name.to_string()).or_default(),
                    Selector::Group(name) => groups.entry(name.clone()).or_default(),
                    Selector::Effect(effect) => match effects.get_mut(*effect as usize) {
                        Some(draft) => draft,
                        None => continue,
                    },
                };
                if rule.paths.is_some() {
                    draft.paths.push(id);
                } else if rule.hosts.is_some() {
                    draft.hosts.push(id);
                } else {
                    draft.plain.push(id);
                }
            }
        }
        let finish = |draft: Draft| Bucket::compile(draft, &rules, case, place, pointer);
        let all = |map: HashMap<String, Draft>| map.into_iter().map(|(k, d)| Ok((k, finish(d)?))).collect();
        let (tools, groups): (Result<_, PolicyError>, Result<_, PolicyError>) = (all(tools), all(groups));
        let (tools, groups, any) = (tools?, groups?, finish(any)?);
        let effects = effects.into_iter().map(finish).collect::<Result<_, _>>()?;
        Ok(Self { tools, groups, effects, any, rules })
    }

    /// The rules in the order of the document.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.rules.iter()
    }

    fn buckets<'s>(
        &'s self,
        tool: &str,
        group: Option<&str>,
        effect: Effect,
    ) -> impl Iterator<Item = &'s Bucket> + use<'s> {
        let tool = if self.tools.is_empty() { None } else { self.tools.get(tool) };
        let group = group.filter(|_| !self.groups.is_empty()).and_then(|g| self.groups.get(g));
        let effect = self.effects.get(effect as usize);
        tool.into_iter().chain(group).chain(effect).chain(std::iter::once(&self.any))
    }

    /// Candidates of an action, in the order of the document: a use of it fits selector and paths or hosts.
    fn candidates(&self, action: &Action<'_>) -> Vec<u32> {
        let mut found = Vec::new();
        for (i, one) in action.uses.iter().enumerate() {
            for bucket in self.buckets(action.tool, action.group, one.effect) {
                if i == 0 || !bucket.plain.is_empty() {
                    found.extend_from_slice(&bucket.plain);
                }
                if let (Some(path), false) = (&one.path, bucket.paths.is_empty()) {
                    path.hits(&bucket.paths, &mut |id| found.push(id));
                }
                if let (Some(endpoint), false) = (one.endpoint, bucket.hosts.is_empty()) {
                    bucket.hosts.hits(endpoint, &mut |id| found.push(id));
                }
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Rules that some use of the action matches: for what is denied or verified.
    pub(super) fn any_use<'s>(&'s self, action: &Action<'_>) -> Vec<&'s Rule> {
        let rules = self.candidates(action).into_iter().filter_map(|id| self.rules.get(id as usize));
        rules.filter(|rule| rule.paths.is_none() || rule.some_host(action)).collect()
    }

    /// Rules that every use of the action matches: for what is allowed.
    pub(super) fn all_uses<'s>(&'s self, action: &Action<'_>) -> Vec<&'s Rule> {
        let rules = self.candidates(action).into_iter().filter_map(|id| self.rules.get(id as usize));
        rules.filter(|rule| rule.covers(action)).collect()
    }

    pub(super) fn path_hit(&self, tool: &str, group: Option<&str>, effect: Effect, path: &Seen<'_>) -> Option<&Rule> {
        let mut first: Option<u32> = None;
        for bucket in self.buckets(tool, group, effect) {
            path.hits(&bucket.paths, &mut |id| first = Some(first.map_or(id, |f| f.min(id))));
        }
        self.rules.get(first? as usize)
    }

    pub(super) fn anchored_below(&self, tool: &str, group: Option<&str>, effect: Effect, dir: &str) -> Option<&Rule> {
        let buckets = self.buckets(tool, group, effect);
        let first = buckets.flat_map(|bucket| bucket.paths.anchored_below(dir).min()).min();
        self.rules.get(first? as usize)
    }
}

impl Bucket {
    fn compile(draft: Draft, rules: &[Rule], case: Case, place: &Place, pointer: &str) -> Result<Self, PolicyError> {
        let wrong = |what: String| PolicyError { pointer: pointer.to_owned(), what };
        let rule = |id: &u32| rules.get(*id as usize).map(|rule| (*id, rule));
        let paths = draft.paths.iter().filter_map(rule).flat_map(|(id, rule)| {
            rule.paths.iter().flat_map(move |(list, _)| list.iter().map(move |pattern| (id, pattern.as_str())))
        });
        let hosts = draft.hosts.iter().filter_map(rule).flat_map(|(id, rule)| {
            rule.hosts.iter().flat_map(move |(list, _)| list.iter().map(move |pattern| (id, pattern.as_str())))
        });
        Ok(Self {
            paths: PathSet::compile(case, place, paths).map_err(|e| wrong(e.to_string()))?,
            hosts: HostSet::compile(hosts).map_err(|e| wrong(e.to_string()))?,
            plain: draft.plain,
        })
    }
}
