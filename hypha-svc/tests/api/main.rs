//! hypha over its real port and a real Postgres, one file per subject.
#![expect(clippy::unwrap_used, reason = "fixtures are not test functions")]

mod fixture;
mod model;

mod agree;
mod asking;
mod attempts;
mod batches;
mod charging;
mod children;
mod closing;
mod deafness;
mod decisions;
mod evidence;
mod explain;
mod graphs;
mod keeping;
mod losers;
mod matching;
mod minds;
mod minds_own;
mod races;
mod reading;
mod registering;
mod replicas;
mod rerunning;
mod signals;
mod starting;
mod streams;
mod truth_table;
mod turns;
mod watching;
mod weights;
mod withdrawing;
