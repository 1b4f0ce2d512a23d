//! A plan's values as a picture: DOT for Graphviz, or SVG with a layout of its own: one column for each step away from the roots.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use countersign_policy::flow::{Level, Node, Proof, Verdict};

/// Size of a box and of the space around it, in pixels.
const BOX: (usize, usize) = (230, 34);
const GAP: (usize, usize) = (70, 12);

/// What the picture marks: values on the way of an issue, and arguments that decide.
struct Marks {
    bad: BTreeSet<usize>,
    ways: BTreeSet<(usize, usize)>,
    decides: BTreeSet<usize>,
}

impl Marks {
    fn of(proof: &Proof) -> Self {
        let ways = proof.sinks.iter().flat_map(|sink| &sink.issues).map(|issue| &issue.way);
        let mut marks = Self { bad: BTreeSet::new(), ways: BTreeSet::new(), decides: BTreeSet::new() };
        for way in ways {
            marks.bad.extend(way);
            marks.ways.extend(way.iter().zip(way.iter().skip(1)).map(|(a, b)| (*a, *b)));
        }
        let proved = proof.sinks.iter().filter(|sink| sink.verdict == Verdict::Proved);
        marks.decides.extend(proved.flat_map(|sink| &sink.decides).map(|(node, _)| *node));
        marks
    }

    fn stroke(&self, node: usize) -> &'static str {
        match (self.bad.contains(&node), self.decides.contains(&node)) {
            (true, _) => "#c62828",
            (false, true) => "#2e7d32",
            (false, false) => "#777777",
        }
    }
}

const fn fill(level: Level) -> &'static str {
    match level {
        Level::Open => "#fdecea",
        Level::Party => "#fff4e0",
        Level::User => "#e8f4ea",
        Level::System => "#e6eefa",
    }
}

/// The graph as Graphviz reads it.
pub(super) fn dot(proof: &Proof) -> String {
    let marks = Marks::of(proof);
    let mut out =
        String::from("digraph flow {\n  rankdir=LR;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n");
    for (i, node) in proof.nodes.iter().enumerate() {
        let (name, label) = words(node);
        let text = format!("{}\\n{}", quoted(&name), quoted(&label));
        let (fill, stroke) = (fill(node.label.level), marks.stroke(i));
        writeln!(out, "  n{i} [label=\"{text}\", fillcolor=\"{fill}\", color=\"{stroke}\"];").unwrap_or_default();
        for edge in &node.from {
            let style = if marks.ways.contains(&(edge.node, i)) { " [color=\"#c62828\", penwidth=2]" } else { "" };
            writeln!(out, "  n{} -> n{i}{style};", edge.node).unwrap_or_default();
        }
    }
    for (i, sink) in proof.sinks.iter().enumerate() {
        let colour = if sink.verdict == Verdict::Proved { "#2e7d32" } else { "#c62828" };
        let text = format!("{} {}", sink.step, sink.verdict.as_str());
        writeln!(out, "  s{i} [label=\"{}\", shape=octagon, color=\"{colour}\"];", quoted(&text)).unwrap_or_default();
        let into: BTreeSet<usize> =
            sink.decides.iter().map(|(node, _)| *node).chain(sink.carries.iter().copied()).collect();
        for node in into {
            writeln!(out, "  n{node} -> s{i} [style=dashed];").unwrap_or_default();
        }
    }
    out.push_str("}\n");
    out
}

/// The graph as a picture of its own; it loads nothing.
pub(super) fn svg(proof: &Proof) -> String {
    let marks = Marks::of(proof);
    let mut columns: Vec<usize> = Vec::new();
    let mut heights: Vec<usize> = Vec::new();
    let mut places = Vec::new();
    for node in &proof.nodes {
        let from = node.from.iter().filter_map(|edge| columns.get(edge.node));
        let column = from.max().map_or(0, |column| column + 1);
        if heights.len() <= column {
            heights.resize(column + 1, 0);
        }
        let row = heights.get(column).copied().unwrap_or(0);
        if let Some(height) = heights.get_mut(column) {
            *height += 1;
        }
        columns.push(column);
        places.push((column * (BOX.0 + GAP.0) + 10, row * (BOX.1 + GAP.1) + 10));
    }
    let width = heights.len() * (BOX.0 + GAP.0) + 20;
    let height = heights.iter().max().copied().unwrap_or(0) * (BOX.1 + GAP.1) + 20;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"11\">\n"
    );
    for (i, node) in proof.nodes.iter().enumerate() {
        let Some((x, y)) = places.get(i) else { continue };
        for edge in &node.from {
            let Some((a, b)) = places.get(edge.node) else { continue };
            let bad = marks.ways.contains(&(edge.node, i));
            let (stroke, wide) = if bad { ("#c62828", 2) } else { ("#aaaaaa", 1) };
            let (a, b, y) = (a + BOX.0, b + BOX.1 / 2, y + BOX.1 / 2);
            let middle = usize::midpoint(a, *x);
            writeln!(
                out,
                "<path d=\"M{a} {b} C{middle} {b} {middle} {y} {x} {y}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{wide}\"/>"
            )
            .unwrap_or_default();
        }
    }
    for (i, node) in proof.nodes.iter().enumerate() {
        let Some((x, y)) = places.get(i) else { continue };
        let (name, label) = words(node);
        let (fill, stroke) = (fill(node.label.level), marks.stroke(i));
        let (text, first, second) = (x + 6, y + 14, y + 28);
        write!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" stroke=\"{stroke}\"/>\n\
             <text x=\"{text}\" y=\"{first}\">{}</text>\n<text x=\"{text}\" y=\"{second}\" fill=\"#555555\">{}</text>\n",
            BOX.0,
            BOX.1,
            escaped(&name),
            escaped(&label),
        )
        .unwrap_or_default();
    }
    out.push_str("</svg>\n");
    out
}

fn words(node: &Node) -> (String, String) {
    let name = countersign_plan::text::escape(&node.name);
    let more = name.chars().count() > 34;
    let name: String = name.chars().take(34).chain(more.then_some('…')).collect();
    (name, format!("{} · {}", node.label.level.as_str(), node.label.readers))
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{escaped, quoted};

    #[test]
    fn names_stay_text() {
        assert_eq!(escaped("<script>\"&"), "&lt;script&gt;&quot;&amp;");
        assert_eq!(quoted("a\"]; x\\"), "a\\\"]; x\\\\");
    }
}
