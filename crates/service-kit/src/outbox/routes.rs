//! Which service hears which fact. The table is code; where the services are is configuration.

use std::collections::HashMap;

/// Who is told of each type of signal, as far as it is known where they are.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    receivers: HashMap<&'static str, Vec<&'static str>>,
    addresses: Vec<(&'static str, String)>,
}

impl Routes {
    /// Joins the table with the addresses. A receiver without an address is left out, and said so, once.
    #[must_use]
    pub fn new(
        table: &'static [(&'static str, &'static [&'static str])],
        addresses: HashMap<String, String>,
    ) -> Self {
        let mut all: Vec<&'static str> = table
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        let (known, left_out): (Vec<_>, Vec<_>) = all
            .into_iter()
            .partition(|name| addresses.contains_key(*name));
        if !left_out.is_empty() {
            tracing::warn!(
                receivers = left_out.join(", "),
                "no address is set for these: they are told nothing"
            );
        }
        let heard = |names: &[&'static str]| {
            names
                .iter()
                .copied()
                .filter(|name| known.contains(name))
                .collect()
        };
        Self {
            receivers: table
                .iter()
                .map(|(kind, names)| (*kind, heard(names)))
                .collect(),
            addresses: known
                .iter()
                .map(|name| (*name, addresses[*name].clone()))
                .collect(),
        }
    }

    /// Who hears signals of that type. Of a type the table lacks, nobody.
    #[must_use]
    pub fn receivers(&self, kind: &str) -> &[&'static str] {
        self.receivers.get(kind).map_or(&[], Vec::as_slice)
    }

    /// Each receiver with its address, by name.
    #[must_use]
    pub fn addresses(&self) -> &[(&'static str, String)] {
        &self.addresses
    }
}
