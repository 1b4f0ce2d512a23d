//! Change requests: right, wrong, expired, self-approved, about something else.

use countersign_plan::tool::{Effect, TargetKind};

use super::{Changes, Refusal, Wanted};
use crate::paths::{Place, Seen};
use crate::policy::Use;

const CHANGES: &str = r#"
schema: countersign.changes/v1
change_requests:
  - {id: CR-1, status: approved, requested_by: dana@acme.example, approved_by: [ines@acme.example],
     not_before: '2026-01-01T00:00:00Z', not_after: '2027-01-01T00:00:00Z',
     actions: [drop_database, delete_file], resources: [{kind: database, match: prod-old}, {kind: file, match: /srv/prod/**}]}
  - {id: CR-self, status: approved, requested_by: dana@acme.example, approved_by: [Dana@ACME.example],
     actions: [drop_database], resources: [{kind: database, match: prod-old}]}
  - {id: CR-alone, status: approved, requested_by: joe@acme.example, approved_by: ['user:dana@acme.example'],
     actions: [drop_database], resources: [{kind: database, match: prod-old}]}
  - {id: CR-none, status: approved, requested_by: joe@acme.example, approved_by: [],
     actions: [drop_database], resources: [{kind: database, match: prod-old}]}
  - {id: CR-pending, status: pending, requested_by: joe@acme.example, approved_by: [ines@acme.example],
     actions: [drop_database], resources: [{kind: database, match: prod-old}]}
  - {id: CR-empty, status: approved, requested_by: joe@acme.example, approved_by: [ines@acme.example]}
  - {id: CR-broken, status: approved, requested_by: joe@acme.example, approved_by: [ines@acme.example],
     actions: ['effect:frob'], resources: []}
"#;

fn ask(id: &str, tool: &str, database: &str, now: &str) -> Result<(), Refusal> {
    let one = Use { effect: Effect::Delete, kind: TargetKind::Database, path: None, endpoint: None };
    let wanted = Wanted {
        tool,
        group: None,
        uses: &[(one, database)],
        requester: "user:dana@acme.example",
        user: Some("dana@acme.example"),
        now: now.parse().unwrap(),
    };
    Changes::read(CHANGES.as_bytes()).unwrap().cover(id, &wanted, &Place::new("/w", "/h").unwrap())
}

#[test]
fn only_a_right_request_gives_leave() {
    let now = "2026-06-01T00:00:00Z";
    assert_eq!(ask("CR-1", "drop_database", "prod-old", now), Ok(()));
    assert!(matches!(ask("CR-2", "drop_database", "prod-old", now), Err(Refusal::Unknown(_))));
    assert!(matches!(ask("CR-1", "drop_database", "prod-new", now), Err(Refusal::Resource { .. })));
    assert!(matches!(ask("CR-1", "drop_database", "PROD-old", now), Err(Refusal::Resource { .. })), "leave is exact");
    assert!(matches!(ask("CR-1", "drop_table", "prod-old", now), Err(Refusal::Action { .. })));
    assert!(matches!(ask("CR-1", "drop_database", "prod-old", "2025-12-31T23:59:59Z"), Err(Refusal::Window(_))));
    assert!(matches!(ask("CR-1", "drop_database", "prod-old", "2027-01-01T00:00:00Z"), Err(Refusal::Window(_))));
    for id in ["CR-self", "CR-alone", "CR-none"] {
        assert!(matches!(ask(id, "drop_database", "prod-old", now), Err(Refusal::SelfApproved(_))), "{id}");
    }
    assert!(matches!(ask("CR-pending", "drop_database", "prod-old", now), Err(Refusal::Status { .. })));
    assert!(matches!(ask("CR-empty", "drop_database", "prod-old", now), Err(Refusal::Action { .. })));
    assert!(matches!(ask("CR-broken", "drop_database", "prod-old", now), Err(Refusal::Invalid { .. })));
}

#[test]
fn a_link_out_of_what_is_covered_is_not_covered() {
    let changes = Changes::read(CHANGES.as_bytes()).unwrap();
    for (resolved, covered) in [(None, true), (Some("/srv/prod/b"), true), (Some("/srv/other"), false)] {
        let path = Some(Seen::new("/srv/prod/a", resolved));
        let one = Use { effect: Effect::Delete, kind: TargetKind::File, path, endpoint: None };
        let wanted = Wanted {
            tool: "delete_file",
            group: None,
            uses: &[(one, "/srv/prod/a")],
            requester: "uid:1000",
            user: None,
            now: "2026-06-01T00:00:00Z".parse().unwrap(),
        };
        assert_eq!(changes.cover("CR-1", &wanted, &Place::new("/w", "/h").unwrap()).is_ok(), covered);
    }
}

#[test]
fn ids_are_unique_and_fields_known() {
    let twice = "schema: countersign.changes/v1\nchange_requests: [{id: a, status: x, requested_by: y}, {id: a, status: x, requested_by: y}]\n";
    assert_eq!(Changes::read(twice.as_bytes()).unwrap_err().pointer, "/change_requests/1/id");
    assert!(
        Changes::read(b"schema: countersign.changes/v1\nchange_requests: [{id: a, status: x, requested_by: y, ok: 1}]")
            .is_err()
    );
}
