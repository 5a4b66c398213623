//! The formats we read, by the names that the contract gives them.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A form in which files hold graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// Our own YAML or JSON.
    Cambium,
    /// WfCommons' recorded workflows, schema 1.4 and 1.5.
    WfFormat,
    /// CrewAI's tasks.yaml.
    CrewAi,
    /// Argo Workflows' DAG templates.
    Argo,
    /// A GitHub Actions workflow.
    GithubActions,
    /// dbt's manifest.json.
    Dbt,
}

impl Format {
    pub const ALL: [Self; 6] = [
        Self::Cambium,
        Self::WfFormat,
        Self::CrewAi,
        Self::Argo,
        Self::GithubActions,
        Self::Dbt,
    ];

    /// The name on the wire and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cambium => "cambium",
            Self::WfFormat => "wfformat",
            Self::CrewAi => "crewai",
            Self::Argo => "argo",
            Self::GithubActions => "github-actions",
            Self::Dbt => "dbt",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let named = Self::ALL.into_iter().find(|format| format.as_str() == name);
        named.ok_or_else(|| Error::FormatNameUnknown {
            name: name.to_owned(),
        })
    }
}
