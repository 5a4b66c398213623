//! What somebody looks for, as it came.

use cambium_proto::stigmergy::v1 as wire;
use cambium_service_kit::principal::{Kind, Principal};
use cambium_stigmergy::payload::Payload;
use cambium_stigmergy::{Category, Intensity, MarkerType, Region};

use super::region_or_all;
use crate::error::Error;
use crate::store::region::Range;
use crate::store::sense::Search;

const DEFAULT_LIMIT: i32 = 50;
const MOST: i32 = 500;
/// What is quieter is left out, unless it is asked for: 0.05.
const USUAL_INTENSITY: i32 = 50_000;
/// Types and categories that one look may name.
const MOST_NAMES: usize = 100;

pub(crate) fn from_wire(
    caller: &Principal,
    request: &wire::SenseMarkersRequest,
) -> Result<Search, Error> {
    Ok(Search {
        range: range(&request.region, request.below)?,
        categories: categories(&request.categories)?,
        types: types(&request.types)?,
        min_intensity: min_intensity(request.min_intensity)?,
        payload: payload_filter(caller, &request.payload_filter)?,
        newest_first: is_newest_first(request.order)?,
        include_quarantined: request.include_quarantined,
        limit: limit(request.limit)?,
    })
}

fn range(region: &str, below: bool) -> Result<Range, Error> {
    if below {
        return Ok(Range::within(region_or_all(region)?.as_ref()));
    }
    Ok(Range::only(&Region::parse(region)?))
}

fn categories(names: &[String]) -> Result<Vec<String>, Error> {
    few("categories", names)?;
    for name in names {
        if Category::parse(name).is_none() {
            let why = format!("names `{name}`, which is no category");
            return Err(Error::field("categories", why));
        }
    }
    Ok(names.to_vec())
}

fn types(names: &[String]) -> Result<Vec<String>, Error> {
    few("types", names)?;
    for name in names {
        let why = |why: cambium_stigmergy::Error| format!("names `{name}`: {why}");
        MarkerType::parse(name).map_err(|error| Error::field("types", why(error)))?;
    }
    Ok(names.to_vec())
}

fn few(field: &'static str, names: &[String]) -> Result<(), Error> {
    if names.len() > MOST_NAMES {
        return Err(Error::field(field, "has over 100 names"));
    }
    Ok(())
}

fn min_intensity(asked: Option<f64>) -> Result<i32, Error> {
    let Some(asked) = asked else {
        return Ok(USUAL_INTENSITY);
    };
    // Also refuses what is no number.
    if !(0.0..=Intensity::MAX.as_f64()).contains(&asked) {
        let why = format!("is {asked}, outside 0 to 0.8");
        return Err(Error::field("min_intensity", why));
    }
    Ok(Intensity::asked(asked)?.intensity.as_millionths())
}

/// What a viewer is not shown it may not ask about either: a search would tell, question by question.
fn payload_filter(caller: &Principal, bytes: &[u8]) -> Result<Option<String>, Error> {
    let filter =
        Payload::parse(bytes).map_err(|fault| Error::field("payload_filter", fault.to_string()))?;
    if filter.is_some() && caller.kind == Kind::Viewer {
        return Err(Error::PayloadHidden);
    }
    Ok(filter.map(Payload::into_string))
}

fn is_newest_first(order: i32) -> Result<bool, Error> {
    match wire::SenseOrder::try_from(order) {
        Ok(wire::SenseOrder::Newest) => Ok(true),
        Ok(wire::SenseOrder::Intensity | wire::SenseOrder::Unspecified) => Ok(false),
        Err(_) => Err(Error::field("order", format!("is {order}, which is none"))),
    }
}

fn limit(asked: i32) -> Result<usize, Error> {
    let limit = match asked {
        0 => DEFAULT_LIMIT,
        1..=MOST => asked,
        _ => {
            return Err(Error::field(
                "limit",
                format!("{asked} is outside 0 to 500"),
            ));
        }
    };
    Ok(usize::try_from(limit).expect("it is between 1 and 500"))
}
