use cambium_kernel::{ErrorKind, Failure as _};
use proptest::prelude::*;

use super::*;

fn names() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-z]{1,3}(:[a-z]{1,3})?", 0..20)
}

proptest! {
    #[test]
    fn neither_order_nor_repetition_matters(named in names()) {
        let mut turned: Vec<String> = named.iter().rev().cloned().collect();
        turned.extend(named.first().cloned());

        prop_assert_eq!(Capabilities::parse(&named), Capabilities::parse(&turned));
    }

    #[test]
    fn what_is_read_reads_the_same_again(named in names()) {
        let once = Capabilities::parse(&named).unwrap();
        let texts: Vec<&str> = once.iter().collect();

        prop_assert_eq!(Capabilities::parse(&texts).unwrap(), once.clone());
        prop_assert!(texts.is_sorted());
    }
}

#[test]
fn the_hundred_and_first_is_one_too_many() {
    let names: Vec<String> = (0..101).map(|n| format!("skill:{n}")).collect();

    assert!(Capabilities::parse(&names[..100]).is_ok());
    assert_eq!(
        Capabilities::parse(&names),
        Err(Error::TooManyCapabilities { given: 101 })
    );
}

#[test]
fn a_bad_capability_is_named_by_its_place() {
    let refused = Capabilities::parse(&["write", "new\nline"]).unwrap_err();

    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert_eq!(refused.field().as_deref(), Some("capabilities[1]"));
}
