//! Whole command lines about minds, as people type them: which are understood, and which are not.

use clap::Parser as _;

use super::Cli;

/// Splits at blanks; no word here holds one.
fn is_read(line: &str) -> bool {
    Cli::try_parse_from(line.split(' ')).is_ok()
}

#[test]
fn what_is_complete_is_understood() {
    for line in [
        "cambium minds --state in-session --json",
        "cambium mind open eureka --target graph:daily@3 --share 0.5 --release",
        "cambium mind open eureka --import remnant.yaml --wakes always",
        "cambium mind target eureka --target body:desk --organ self",
        "cambium mind brake --all --reason look",
        "cambium mind share eureka none",
        "cambium mind haste eureka 1.5 --for 2h",
        "cambium mind haste eureka off",
        "cambium mind operate eureka --preempt -- cambium rest --for 2h",
        "cambium dial set --rate 2 --run 0.25 --k 3 --reserve none --turn-max 1h",
        "cambium wallet set 20 --per month",
        "cambium wallet none",
        "cambium timeline --next 50",
        "cambium timeline watch --from 3",
        "cambium turns eureka --live --page-size 5",
        "cambium loans --active",
        "cambium loans return l1",
        "cambium lead move --none --reason rest",
        "cambium work submit title --ref weksa:ruling:left --to eureka",
        "cambium work list --state unrouted",
        "cambium persona diff eureka 1 2",
        "cambium persona put - --over 2026-03-01T09:00:00Z",
        "cambium record list --kind hand-off --in-force",
        "cambium record end eureka:campaign:docs --closed done --why met",
        "cambium rest --end",
        "cambium lend weksa 0.5 --until 2026-03-01",
        "cambium agenda --wakes work --wake-in 8h",
        "cambium hand-off offer weksa --area docs --reason better",
        "cambium retire-request --withdraw",
        "cambium audit watch",
        "cambium token --kind scheduler --name pacer --ttl 24h",
    ] {
        assert!(is_read(line), "{line}");
    }
}

#[test]
fn what_is_missing_or_does_not_go_together_is_refused() {
    for line in [
        "cambium minds --state happy",
        "cambium mind open eureka --fresh a.json --import b.json",
        "cambium mind open eureka --share half",
        "cambium mind open eureka --organ self",
        "cambium mind brake",
        "cambium mind brake eureka --all",
        "cambium mind retire eureka",
        "cambium dial set",
        "cambium dial set --rate -1",
        "cambium wallet set 20",
        "cambium timeline --next 51",
        "cambium timeline --next 3 watch",
        "cambium lead move eureka --none --reason rest",
        "cambium work submit title --ref weksa",
        "cambium persona diff eureka 1",
        "cambium record end eureka:campaign:docs --why met",
        "cambium rest",
        "cambium rest --for 2h --end",
        "cambium lend weksa 0.5",
        "cambium agenda",
        "cambium hand-off offer weksa --reason better",
        "cambium hand-off offer weksa --work w1 --area docs --reason better",
        "cambium retire-request",
        "cambium token --kind mind",
        "cambium token --name pacer",
    ] {
        assert!(!is_read(line), "{line}");
    }
}
