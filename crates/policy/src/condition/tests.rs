//! Conditions: what holds, what is a diagnostic, what is refused at compile time.

use countersign_plan::pointer::Pointer;
use serde_json::{Value, json};

use super::{Condition, Environment, Outcome, Root, Scope};

struct Args(Value, Vec<Pointer>);

impl Scope for Args {
    fn value(&self, root: Root) -> &Value {
        if root == Root::Args { &self.0 } else { &Value::Null }
    }

    fn is_open(&self, root: Root, at: &Pointer) -> bool {
        root == Root::Args && self.1.iter().any(|hole| hole.covers(at) || at.covers(hole))
    }
}

fn ask(source: &str, args: Value) -> Outcome {
    Condition::compile(source, &Environment::default()).unwrap().evaluate(&Args(args, Vec::new()))
}

fn refused(source: &str) -> String {
    Condition::compile(source, &Environment::default()).unwrap_err().to_string()
}

#[test]
fn every_number_is_a_double() {
    for amount in [json!(501), json!(500.5)] {
        assert_eq!(ask("args.amount > 500.0", json!({"amount": amount})), Outcome::True);
        assert_eq!(ask("args.amount > 500", json!({"amount": amount})), Outcome::True);
    }
    assert_eq!(ask("args.amount > 500.0", json!({"amount": 500})), Outcome::False);
    assert_eq!(ask("args.n == 3.0 && args.n * 2.0 == 6.0", json!({"n": 3})), Outcome::True);
}

#[test]
fn lesson_14_whatever_cannot_be_evaluated_is_a_diagnostic() {
    for (source, args) in [
        ("args.amount > 500.0", json!({})),
        ("args.amount > 500.0", json!({"amount": "many"})),
        ("args.amount > 500.0", json!({"amount": null})),
        ("args.to.startsWith('a')", json!({"to": ["a"]})),
        ("args.amount", json!({"amount": true, "x": 1}).as_object().map(|_| json!({"amount": 1})).unwrap()),
        ("args.list[3] == 'a'", json!({"list": []})),
        ("args.n + 'a' == 'b'", json!({"n": 1})),
    ] {
        assert!(matches!(ask(source, args.clone()), Outcome::Diagnostic(_)), "{source} on {args}");
    }
    assert_eq!(ask("!has(args.amount) || args.amount > 500.0", json!({})), Outcome::True);
    assert_eq!(ask("has(args.amount) && args.amount > 500.0", json!({})), Outcome::False);
}

#[test]
fn lesson_15_expressions_are_anchored() {
    assert_eq!(ask("args.path.matches('/srv/[a-z]+')", json!({"path": "/srv/ab"})), Outcome::True);
    assert_eq!(ask("args.path.matches('/srv/[a-z]+')", json!({"path": "/srv/ab/../../etc"})), Outcome::False);
    assert_eq!(ask("args.path.matches('/srv/a|b')", json!({"path": "x/b"})), Outcome::False);
    assert_eq!(ask("args.path.matches('a')", json!({"path": "a\n"})), Outcome::False);
    assert!(refused("args.path.matches(args.pattern)").contains("literal"));
    assert!(refused("args.path.matches('(')").contains("1"));
}

#[test]
fn names_and_functions_are_closed() {
    assert_eq!(
        refused("args.x == 1.0 && env.HOME == 'a'"),
        "line 1, column 18: unknown name `env`; there are action, args, target, plan and facts"
    );
    assert!(refused("getenv('HOME') == 'a'").contains("unknown function"));
    assert!(refused("args.x ==").starts_with("line 1"));
    assert!(refused("args.x.all(args, args == 1.0)").contains("already"));
    assert!(refused("args.x.all(a, args.y.all(b, a == b))").contains("loop"));
    assert!(refused(&"(".repeat(300)).contains("nested"));
    assert!(refused(&"!".repeat(1500)).contains("nested"));
    assert!(refused("args.\u{200b}x == 1.0").contains("invisible"));
}

#[test]
fn the_deepest_condition_that_is_read_does_not_exhaust_the_stack() {
    for (most, one_more) in [
        (format!("{}true{}", "(".repeat(6), ")".repeat(6)), format!("{}true{}", "(".repeat(7), ")".repeat(7))),
        (format!("{}true", "!".repeat(128)), format!("{}true", "!".repeat(129))),
        (format!("args{}", ".a".repeat(128)), format!("args{}", ".a".repeat(129))),
        (
            format!("{}1{}{}", "!(".repeat(6), "+1".repeat(12), ")".repeat(6)),
            format!("{}1{}{}", "(".repeat(6), "+1".repeat(13), ")".repeat(6)),
        ),
    ] {
        let condition = Condition::compile(&most, &Environment::default()).unwrap();
        let _ = condition.evaluate(&Args(json!({}), Vec::new()));
        assert!(refused(&one_more).contains("nested"), "{one_more}");
    }
    assert!(refused(&format!("'\\'' == '{}'", "(".repeat(50))).contains("backslashes"));
    assert!(refused("'''a'b''' == 'x'").contains("triple"));
}

#[test]
fn loops_and_lists_work() {
    assert_eq!(ask("args.to.exists(t, t.endsWith('@x.example'))", json!({"to": ["a@x.example"]})), Outcome::True);
    assert_eq!(ask("args.to.all(t, t == 'a')", json!({"to": ["a", "b"]})), Outcome::False);
    assert_eq!(ask("'a' in args.to", json!({"to": ["a", "b"]})), Outcome::True);
    assert_eq!(ask("size(args.to) > 1", json!({"to": ["a", "b"]})), Outcome::True);
    assert_eq!(ask("args.argv[0] == 'cargo'", json!({"argv": ["cargo", "test"]})), Outcome::True);
    assert_eq!(ask("args.a ? args.b == 'x' : false", json!({"a": true, "b": "x"})), Outcome::True);
}

#[test]
fn a_condition_over_an_open_argument_is_unknown() {
    let condition = |source: &str| Condition::compile(source, &Environment::default()).unwrap();
    let args = Args(json!({"amount": null, "to": "a"}), vec!["/amount".parse().unwrap()]);
    assert_eq!(condition("args.amount > 500.0").evaluate(&args), Outcome::Unknown);
    assert_eq!(condition("args.to == 'a'").evaluate(&args), Outcome::True);
    assert_eq!(condition("size(args) == 2").evaluate(&args), Outcome::Unknown);
    assert_eq!(condition("args[args.to] == 'a'").evaluate(&args), Outcome::Unknown);
    let below = Args(json!({"items": [{"n": null}]}), vec!["/items/0/n".parse().unwrap()]);
    assert_eq!(condition("args.items[0].n == 1.0").evaluate(&below), Outcome::Unknown);
    assert_eq!(condition("size(args.items) == 1").evaluate(&below), Outcome::Unknown);
}
