//! Where to connect, and with whose credentials: decided from flags, environment and data folder alone.

use std::path::{Path, PathBuf};

use crate::folder::Address;

/// Where services listen when nobody says otherwise.
const DEFAULT: &str = "https://localhost:7070";

/// What is known before anything is asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known<'a> {
    /// `--server`
    pub(crate) flag: Option<&'a str>,
    /// `CAMBIUM_SERVER`
    pub(crate) environment: Option<&'a str>,
    /// Of a running `up` that uses the data folder.
    pub(crate) address: Option<&'a Address>,
    /// Whether `--data` names the folder.
    pub(crate) folder_is_named: bool,
    /// Whether the folder holds an operator's key.
    pub(crate) has_key: bool,
    /// Whether `CAMBIUM_TOKEN` holds a token, as in a task's program.
    pub(crate) has_token: bool,
    /// `--token-file`
    pub(crate) token_flag: Option<&'a Path>,
    /// `CAMBIUM_TOKEN_FILE`
    pub(crate) token_file: Option<&'a Path>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) url: String,
    pub(crate) credentials: Credentials,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Credentials {
    /// Tokens signed with the data folder's keys.
    Folder,
    /// The token that the environment holds.
    Environment,
    File(PathBuf),
    None,
}

/// Chooses the place. A key is used for its own folder's services, or where somebody names that folder: a token that
/// it signs must not reach others unasked.
pub(crate) fn discover(known: &Known<'_>) -> Place {
    let folder_url = known.address.map(|address| address.url.as_str());
    let named = known.flag.or(known.environment);
    let url = named.or(folder_url).unwrap_or(DEFAULT);
    let is_own = known.folder_is_named || folder_url == Some(url);
    let file = |path: &Path| Credentials::File(path.to_owned());
    let credentials = match (known.token_flag, known.token_file) {
        (Some(path), _) => file(path),
        (None, _) if known.has_token => Credentials::Environment,
        (None, Some(path)) => file(path),
        (None, None) if known.has_key && is_own => Credentials::Folder,
        (None, None) => Credentials::None,
    };
    Place {
        url: url.to_owned(),
        credentials,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLAG: &str = "http://flag:1";
    const ENVIRONMENT: &str = "http://environment:1";

    fn address() -> Address {
        Address {
            url: "http://127.0.0.1:7070".to_owned(),
            pid: 1,
            port: 7070,
            admin_port: 7071,
        }
    }

    fn everything(address: &Address) -> Known<'_> {
        Known {
            flag: Some(FLAG),
            environment: Some(ENVIRONMENT),
            address: Some(address),
            has_key: true,
            ..Known::default()
        }
    }

    #[test]
    fn the_flag_comes_first_then_the_environment_then_the_folder_then_the_default() {
        let address = address();
        let all = everything(&address);
        let without_flag = Known {
            flag: None,
            ..all.clone()
        };
        let folder = Known {
            environment: None,
            ..without_flag.clone()
        };

        assert_eq!(discover(&all).url, FLAG);
        assert_eq!(discover(&without_flag).url, ENVIRONMENT);
        assert_eq!(discover(&folder).url, address.url);
        assert_eq!(discover(&Known::default()).url, "https://localhost:7070");
    }

    #[test]
    fn a_key_signs_for_its_own_services_and_for_no_others_unasked() {
        let address = address();
        let other = everything(&address);
        let own = Known {
            flag: Some(&address.url),
            ..other.clone()
        };
        let asked = Known {
            folder_is_named: true,
            ..other.clone()
        };

        assert_eq!(discover(&other).credentials, Credentials::None);
        assert_eq!(discover(&own).credentials, Credentials::Folder);
        assert_eq!(discover(&asked).credentials, Credentials::Folder);
    }

    #[test]
    fn the_flag_comes_first_then_the_environment_then_the_key() {
        let address = address();
        let file = Known {
            flag: None,
            environment: None,
            token_file: Some(Path::new("/file")),
            ..everything(&address)
        };
        let token = Known {
            has_token: true,
            ..file.clone()
        };
        let flag = Known {
            token_flag: Some(Path::new("/flag")),
            ..token.clone()
        };

        let credentials = [flag, token, file].map(|known| discover(&known).credentials);

        let expected = [
            Credentials::File("/flag".into()),
            Credentials::Environment,
            Credentials::File("/file".into()),
        ];
        assert_eq!(credentials, expected);
    }
}
