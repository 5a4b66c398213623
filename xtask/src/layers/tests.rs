use super::*;

fn ours() -> Vec<Crate> {
    [
        ("cambium-kernel", "crates/kernel"),
        ("cambium-proto", "proto"),
        ("cambium-service-kit", "crates/service-kit"),
        ("cambium-testkit", "crates/testkit"),
        ("cambium-hypha", "hypha-svc/domain"),
        ("cambium-genesis", "genesis-svc/domain"),
        ("hypha-svc", "hypha-svc"),
        ("genesis-svc", "genesis-svc"),
        ("cambium-cli", "cli"),
    ]
    .into_iter()
    .map(|(name, folder)| Crate {
        name: name.to_owned(),
        folder: folder.to_owned(),
        layer: Layer::of(name, folder).unwrap(),
    })
    .collect()
}

fn judge(from: &str, to: &str, kind: DependencyKind) -> Option<Breach> {
    let ours = ours();
    let from = ours.iter().find(|c| c.name == from).unwrap();
    breach(
        from,
        &ours,
        &Dependency {
            name: to.to_owned(),
            kind,
        },
    )
}

#[test]
fn a_service_uses_its_own_domain_and_no_other() {
    assert_eq!(
        judge("hypha-svc", "cambium-hypha", DependencyKind::Normal),
        None
    );
    assert!(judge("hypha-svc", "cambium-genesis", DependencyKind::Normal).is_some());
}

#[test]
fn services_never_depend_on_services() {
    assert!(judge("hypha-svc", "genesis-svc", DependencyKind::Normal).is_some());
    assert!(judge("hypha-svc", "genesis-svc", DependencyKind::Development).is_some());
    assert_eq!(
        judge("cambium-cli", "genesis-svc", DependencyKind::Normal),
        None
    );
}

#[test]
fn a_domain_stays_pure() {
    assert_eq!(
        judge("cambium-hypha", "petgraph", DependencyKind::Normal),
        None
    );
    assert_eq!(
        judge("cambium-hypha", "proptest", DependencyKind::Development),
        None
    );
    for library in ["tokio", "sqlx", "tonic", "prost", "axum", "tracing"] {
        assert!(
            judge("cambium-hypha", library, DependencyKind::Normal).is_some(),
            "{library}"
        );
    }
    assert!(judge("cambium-hypha", "cambium-proto", DependencyKind::Normal).is_some());
    assert!(
        judge(
            "cambium-hypha",
            "cambium-testkit",
            DependencyKind::Development
        )
        .is_some()
    );
}

#[test]
fn the_testkit_is_for_tests_alone() {
    assert_eq!(
        judge(
            "genesis-svc",
            "cambium-testkit",
            DependencyKind::Development
        ),
        None
    );
    assert!(judge("genesis-svc", "cambium-testkit", DependencyKind::Normal).is_some());
}

#[test]
fn a_crate_without_a_layer_is_found() {
    assert_eq!(Layer::of("helpers", "crates/helpers"), None);
}
