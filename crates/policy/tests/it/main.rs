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
mod evaluator;
mod flow;
mod given_out;
mod goal;
mod lessons;
mod looked;
mod matrix;
mod meant;
mod namesakes;
mod phrased;
mod promises;
mod properties;
mod released;
mod said;
mod structure;
mod taken_back;
mod threats;
mod wished;
mod withheld;
mod worded;
mod world;
