//! A whole swarm in memory, made of the rules and nothing else, for tests: vectors and laws play it.
//! Holds no rule of its own: what it does between two rules is what a transaction would.

mod acts;
mod checks;
mod laws;
mod stride;
mod swarm;
mod vectors;
mod views;
