//! Stories over real processes; everything is under `tests/`. Ships nothing.
