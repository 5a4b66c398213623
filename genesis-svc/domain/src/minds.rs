//! The minds whose turns' tasks an agent may be given. Only an operator says it: at enrolment, or in a template.

use std::collections::BTreeSet;

use cambium_kernel::check_name;

use crate::Error;

/// More than this many are refused.
const MOST: usize = 100;

/// Names of minds, or `*` for every one. In which order, or how often, one is named makes no difference.
pub fn parse(names: &[String]) -> Result<BTreeSet<String>, Error> {
    if names.len() > MOST {
        return Err(Error::Template {
            field: "serves_minds".to_owned(),
            why: format!("has {} entries, over the limit of {MOST}", names.len()),
        });
    }
    let checked = names.iter().enumerate().map(|(index, name)| {
        check_name(name).map_err(|why| Error::Template {
            field: format!("serves_minds[{index}]"),
            why: why.to_string(),
        })?;
        Ok(name.clone())
    });
    checked.collect()
}
