//! Decisions of whole plans, as FORMATS §4 and §5 say them: tables, a matrix reviewed as text, attacks, properties.

#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on fails")]

mod apart;
mod asked;
mod behind;
mod beside;
mod blocks;
mod chosen;
mod commands;
mod crossing;
mod defaults;
mod edited;
mod evaluator;
mod flow;
mod given_out;
mod goal;
mod later;
mod left_out;
mod lessons;
mod looked;
mod matrix;
mod meant;
mod namesakes;
mod paired;
mod phrased;
mod promises;
mod properties;
mod released;
mod repository;
mod said;
mod structure;
mod swapped;
mod taken_back;
mod threats;
mod waited_for;
mod wished;
mod withheld;
mod worded;
mod world;
mod written_to;
