use super::*;

#[test]
fn reasons_are_a_contract() {
    let names = || vec!["b".to_owned(), "a".to_owned()];
    let (line, column, message) = (3, 1, String::from("no"));
    let (path, name) = (String::from("a.b"), String::from("x"));
    let errors = [
        Error::FileTooLarge { limit: 1 },
        Error::Gzip {
            message: message.clone(),
        },
        Error::NotText { offset: 0 },
        Error::Json {
            line,
            column,
            message: message.clone(),
        },
        Error::Yaml {
            line,
            column,
            message,
        },
        Error::Companion(Box::new(Error::Empty)),
        Error::FormatNameUnknown { name: name.clone() },
        Error::FormatUnknown,
        Error::FormatUnsupported { kind: "a drawing" },
        Error::AgentsFileAlone,
        Error::GraphUnknown {
            name: name.clone(),
            known: names(),
        },
        Error::NameInvalid {
            name: name.clone(),
            fault: NameError::Empty,
        },
        Error::FieldInvalid {
            path: path.clone(),
            expected: "text".into(),
        },
        Error::FieldMissing { path },
        Error::FieldUnknown(names()),
        Error::DependsInvalid {
            task: name,
            fault: "no".into(),
        },
        Error::DaemonedUnsupported(names()),
        Error::AmbiguousParent(names()),
        Error::Empty,
        Error::TooLarge {
            what: "nodes",
            count: 2,
            limit: 1,
        },
        Error::KeysInvalid(names()),
        Error::KeysDuplicate(names()),
        Error::UnknownReferences(names()),
        Error::SelfEdges(names()),
        Error::EdgesConflict(names()),
        Error::Cycle(names()),
    ];

    let reasons = errors.each_ref().map(Failure::reason);

    assert_eq!(
        reasons,
        [
            "FILE_TOO_LARGE",
            "GZIP_INVALID",
            "FILE_NOT_TEXT",
            "JSON_INVALID",
            "YAML_INVALID",
            "GRAPH_EMPTY",
            "FORMAT_NAME_UNKNOWN",
            "FORMAT_UNKNOWN",
            "FORMAT_UNSUPPORTED",
            "AGENTS_FILE_ALONE",
            "GRAPH_UNKNOWN",
            "GRAPH_NAME_INVALID",
            "FIELD_INVALID",
            "FIELD_MISSING",
            "FIELD_UNKNOWN",
            "DEPENDS_INVALID",
            "DAEMONED_UNSUPPORTED",
            "AMBIGUOUS_PARENT",
            "GRAPH_EMPTY",
            "GRAPH_TOO_LARGE",
            "GRAPH_KEY_INVALID",
            "GRAPH_KEY_DUPLICATE",
            "GRAPH_UNKNOWN_REFERENCE",
            "GRAPH_SELF_EDGE",
            "GRAPH_EDGE_CONFLICT",
            "GRAPH_CYCLE",
        ]
    );
    assert_eq!(
        Error::Cycle(names()).to_string(),
        "tasks wait on one another: b -> a -> b"
    );
    assert_eq!(Error::Cycle(names()).details(), ["b", "a"]);
}
