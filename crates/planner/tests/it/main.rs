//! The real planner binary under its real seal, with a monitor played by the test at the other end of its socket.
//!
//! Without the test harness, whose threads a spawner must not have. The battery of the sandbox crate attacks the same seal
//! with some hundred probes; here a few of them show that it holds in the image of this binary too.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "tests"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

mod conversation;
mod image;
mod monitor;

/// A name and what it does; a failed expectation panics.
type Test = (&'static str, fn());

const TESTS: &[Test] = &[
    ("a_goal_becomes_a_countersigned_plan", conversation::a_goal_becomes_a_countersigned_plan),
    ("the_answer_is_written_by_a_fresh_planner", conversation::the_answer_is_written_by_a_fresh_planner),
    ("hostile_answers_are_answered_and_not_obeyed", conversation::hostile_answers_are_answered_and_not_obeyed),
    ("inv_9_a_message_out_of_turn_ends_the_process", conversation::a_message_out_of_turn_ends_the_process),
    ("a_planner_ends_with_its_monitor", conversation::a_planner_ends_with_its_monitor),
    ("inv_5_the_image_of_the_planner_is_sealed", image::the_image_of_the_planner_is_sealed),
];

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    if std::env::args().any(|word| word == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str()));
    let mut passed = 0;
    for (name, test) in TESTS.iter().filter(|(name, _)| chosen(name)) {
        test();
        println!("test {name} ... ok");
        passed += 1;
    }
    println!("test result: ok. {passed} passed");
    ExitCode::SUCCESS
}

fn planner() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_countersign-planner"))
}

fn probe() -> PathBuf {
    planner().with_file_name("examples").join("sealed_probe")
}
