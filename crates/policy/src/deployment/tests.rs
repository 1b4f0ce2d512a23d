//! Deployments: the example of FORMATS, built-in lines, defaults, errors with their place.

use countersign_plan::tool::TargetKind;

use super::{Deployment, DeploymentDocument, Own, SecrecyLevel, Standing};
use crate::hosts::Endpoint;
use crate::paths::Seen;

const EXAMPLE: &str = include_str!("example.yaml");

fn own() -> Own {
    Own { folders: vec!["/srv/[c]/state".to_owned()], files: vec!["/home/user/project/rules.yaml".to_owned()] }
}

fn deployment(yaml: &str) -> Deployment {
    let document = DeploymentDocument::read(yaml.as_bytes()).unwrap();
    Deployment::compile(document, "/home/user/project", "/home/user", &own()).unwrap()
}

fn bare() -> Deployment {
    Deployment::compile(DeploymentDocument::empty(), "/home/user/project", "/home/user", &own()).unwrap()
}

#[test]
fn the_example_of_formats_section_4_is_read() {
    let d = deployment(EXAMPLE);
    assert_eq!(d.workspace(), ["/home/user/project"]);
    assert_eq!(d.standing_of("user@company.com"), Standing::User);
    assert_eq!(d.standing_of("eve@company.com"), Standing::Internal);
    assert_eq!(d.standing_of("ap@partner.example"), Standing::Known);
    assert_eq!(d.standing_of("eve@partner.example"), Standing::Other);
    assert_eq!(d.standing_of_host(&Endpoint::parse("a.company.com").unwrap()), Standing::Internal);
    assert_eq!(d.standing_of_host(&Endpoint::parse("api.github.com").unwrap()), Standing::Known);
    assert_eq!(d.standing_of_host(&Endpoint::parse("127.0.0.1").unwrap()), Standing::Other);
    assert_eq!(d.secrecy(&Seen::new("/srv/payroll/may.csv", None)), SecrecyLevel::Confidential);
    assert_eq!(d.protected().name(TargetKind::Database, "PROD-orders"), Some("prod-*"));
    assert_eq!(d.protected().name(TargetKind::Database, "staging-orders"), None);
    assert_eq!(d.protected().path(&Seen::new("/home/user/project/.git/HEAD", None)), Some("**/.git/**"));
}

#[test]
fn built_in_lines_stand_whatever_a_document_says() {
    for d in [bare(), deployment("schema: countersign.deployment/v1\nsecrecy: {public: ['**']}\n")] {
        for path in ["/home/user/.ssh/id", "/srv/app/.env", "/SRV/App/.ENV.production", "/etc/shadow", "/x/key.pem"] {
            assert_eq!(d.secrecy(&Seen::new(path, None)), SecrecyLevel::Restricted, "{path}");
        }
        assert_ne!(d.secrecy(&Seen::new("/srv/app/.env.example", None)), SecrecyLevel::Restricted);
        assert!(d.is_trusted(&Seen::new("/a/.git/hooks/pre-commit", None)));
        assert!(
            d.is_trusted(&Seen::new("/home/user/.bashrc", None)) && !d.is_trusted(&Seen::new("/a/.git/HEAD", None))
        );
        assert!(d.is_own_folder(&Seen::new("/home/user/.local/state/countersign/ledger.db", None)));
        assert!(d.is_own_folder(&Seen::new("/srv/[c]/state", None)));
        assert!(d.is_own_folder(&Seen::new("/home/user/project/link", Some("/srv/[c]/state/x"))));
        assert!(!d.is_own_folder(&Seen::new("/srv/c/state", None)));
        assert!(d.is_own_file(&Seen::new("/home/user/project/rules.yaml", None)));
        assert!(d.is_own_file(&Seen::new("/anywhere/countersign.yaml", None)));
    }
    assert!(Deployment::builtin_lines().all(|(_, pattern, reason)| !pattern.is_empty() && !reason.is_empty()));
}

#[test]
fn with_no_deployment_nobody_is_known() {
    let d = bare();
    assert_eq!(d.standing_of_host(&Endpoint::parse("localhost").unwrap()), Standing::Other);
    assert_eq!(d.clearance(Standing::Other), SecrecyLevel::Public);
    assert_eq!(d.clearance(Standing::Internal), SecrecyLevel::Confidential);
    assert!(d.in_workspace(&Seen::new("/home/user/project/a", None)));
    assert!(!d.in_workspace(&Seen::new("/home/user/project/a", Some("/home/user/other"))));
    assert!(!d.in_workspace(&Seen::new("/home/user/projects/a", None)));
    assert!(d.in_temporary(&Seen::new("/tmp/x", None)));
    assert!(!d.in_temporary(&Seen::new("/tmp", None)));
    assert_eq!(d.secrecy(&Seen::new("/etc/passwd", None)), SecrecyLevel::Internal);
}

#[test]
fn what_can_be_read_in_two_ways_is_an_error_with_its_place() {
    for (yaml, place) in [
        ("workspace: []", "/workspace"),
        ("workspace: ['/']", "/workspace/0"),
        ("hosts: {internal: ['*']}", "/hosts/internal/0"),
        ("hosts: {known: [ok.example, 'a b']}", "/hosts/known/1"),
        ("identities: {internal: ['*']}", "/identities/internal"),
        ("protected: [{kind: file, match: 'a**b'}]", "/protected/0/match"),
        ("secrecy: {restricted: ['a[']}", "/secrecy"),
    ] {
        let text = format!("schema: countersign.deployment/v1\n{yaml}\n");
        let document = DeploymentDocument::read(text.as_bytes()).unwrap();
        let error = Deployment::compile(document, "/w", "/h", &Own::default()).unwrap_err();
        assert_eq!(error.pointer, place, "{yaml}: {error}");
    }
    for yaml in ["schema: x", "schema: countersign.deployment/v1\nworkspaces: []", "{}"] {
        assert!(DeploymentDocument::read(yaml.as_bytes()).is_err(), "{yaml}");
    }
}

#[test]
fn what_decides_is_in_the_digest() {
    let one = bare().digest();
    let other =
        Deployment::compile(DeploymentDocument::empty(), "/home/user/project", "/home/user", &Own::default()).unwrap();
    assert_ne!(one, other.digest());
    assert_eq!(one, bare().digest());
}
