//! The examples about minds: typed by their operator, or as a mind within a session with it.

use super::{BOUND, stage, stays, typed};
use crate::stage::{Said, Stage, run};

/// Who types a line, and where.
#[derive(Clone, Copy, Debug)]
struct Scene {
    workspace: &'static str,
    /// As that mind; else as the operator.
    mind: Option<&'static str>,
    line: &'static str,
    /// It stands in a help.
    is_example: bool,
    /// It names what a new stack does not have, and says so.
    is_refused: bool,
}

const fn line(line: &'static str) -> Scene {
    Scene {
        workspace: "default",
        mind: None,
        line,
        is_example: true,
        is_refused: false,
    }
}

const fn of(mind: &'static str, text: &'static str) -> Scene {
    Scene {
        mind: Some(mind),
        ..line(text)
    }
}

impl Scene {
    const fn within(self, workspace: &'static str) -> Self {
        Self { workspace, ..self }
    }

    /// What an example needs, and no help shows.
    const fn before(self) -> Self {
        Self {
            is_example: false,
            ..self
        }
    }

    const fn refused(self) -> Self {
        Self {
            is_refused: true,
            ..self
        }
    }
}

const SCENES: &[Scene] = &[
    line("cambium minds"),
    line("cambium minds --state awake --json"),
    line("cambium dial set --rate 2 --run 0.25"),
    line("cambium dial set --heat 0.5"),
    line("cambium dial set --k 3 --turn-max 1h --json"),
    line("cambium dial"),
    line("cambium dial show --json"),
    line("cambium wallet set 20 --per month"),
    line("cambium wallet"),
    line("cambium wallet show --json"),
    line("cambium mind open eureka --target body:desk --share 2 --release"),
    line("cambium mind open weksa --mission 'Keep the house in order.' --fresh weksa.json --share 1"),
    line("cambium mind open remnant --import remnant.json"),
    line("cambium mind propose scout --title 'The scout' --mission 'Look ahead.'"),
    line("cambium mind decline scout --reason 'too many already'"),
    line("cambium mind show eureka"),
    line("cambium mind haste eureka 2 --for 2h"),
    line("cambium mind haste eureka off"),
    line("cambium mind share eureka none"),
    line("cambium mind share eureka 2.5"),
    line("cambium mind target eureka --target graph:daily"),
    line("cambium mind target eureka --target body:desk --organ self"),
    line("cambium mind brake eureka --reason 'it spends too much'"),
    line("cambium mind release eureka"),
    line("cambium mind brake --all --reason 'we look first'"),
    line("cambium mind steward eureka docs --note 'it has written most of them'"),
    line("cambium control"),
    line("cambium control --json"),
    line("cambium timeline"),
    line("cambium timeline --next 10"),
    line("cambium timeline reset --reason 'the shares were wrong for a week'"),
    line("cambium turns"),
    line("cambium turns eureka --live --json"),
    line("cambium turn-show 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10").refused(),
    line("cambium why-mind eureka"),
    line("cambium audit"),
    line("cambium fsck"),
    line("cambium fsck --only I-W --json"),
    line("cambium token --kind meter --ttl 12h"),
    line("cambium lead"),
    line("cambium lead move eureka --reason 'it knows the house'"),
    line("cambium lead show --json"),
    line("cambium lead move --none --reason 'we try it without'"),
    line("cambium reviews"),
    line("cambium reviews --overdue --json"),
    line("cambium mind operate eureka"),
    line("cambium mind operate eureka --preempt --ttl 30m -- cambium rest --for 2h"),
    line(
        "cambium call ControlService/OperateMind '{\"workspaceId\":\"default\",\"requestId\":\"01977f3a-5c1e-7d44-9a51-0d7a2f6b8c11\",\"instance\":\"eureka\"}'",
    )
    .before(),
    line("cambium mind close eureka"),
    line("cambium persona preview remnant.yaml"),
    line("cambium persona preview remnant.yaml --mind eureka"),
    line("cambium persona preview remnant.yaml --mind eureka > me.json").before(),
    of("eureka", "cambium persona put me.json"),
    of("eureka", "cambium persona show $CAMBIUM_MIND > me.json"),
    of("eureka", "cambium persona put me.json").before(),
    line("cambium persona show eureka"),
    line("cambium persona show eureka --version 1 > first.json"),
    line("cambium persona versions eureka"),
    line("cambium persona diff eureka"),
    line("cambium persona diff eureka 1 4").refused(),
    of("eureka", "cambium agenda --wake-in 8h"),
    of("eureka", "cambium agenda --wakes always"),
    of("eureka", "cambium rest --for 2h"),
    of("eureka", "cambium rest --end"),
    // Its day has come and gone.
    of("eureka", "cambium rest --until 2026-03-01T09:00:00Z").refused(),
    of("eureka", "cambium retire-request --reason 'my work is done'"),
    of("eureka", "cambium retire-request --withdraw"),
    of("eureka", "cambium lend weksa 0.5 --for 2h"),
    line("cambium loans --active"),
    of("eureka", "cambium loans return 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10").refused(),
    line("cambium loans end 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10").refused(),
    of("weksa", "cambium rule left --title 'Left' --text 'We go left.'"),
    of(
        "eureka",
        "cambium question way --title 'Which way?' --text 'Left or right?' --option left='By the river.' --option right='Over the hill.' --recommend left",
    ),
    of(
        "eureka",
        "cambium rule left --title 'Left' --text 'We go left.' --answers eureka:question:way --choice left --precedent weksa:ruling:left",
    ),
    of("eureka", "cambium cite river weksa:ruling:left --note 'they went by the river'"),
    of("eureka", "cambium cite left weksa:ruling:left --note 'for now'").before(),
    of("eureka", "cambium record append documents.json"),
    of(
        "eureka",
        "cambium record end eureka:campaign:docs --closed 'all chapters are new' --why 'the goal is met'",
    ),
    of("eureka", "cambium record end eureka:citation:left --withdrawn --why 'it was the wrong one'"),
    line("cambium record list"),
    line("cambium record list eureka --in-force"),
    line("cambium record list eureka --kind ruling --in-force --json"),
    line("cambium record show eureka:ruling:left"),
    line("cambium record verify"),
    line("cambium record verify eureka"),
    of("eureka", "cambium hand-off offer weksa --area docs --reason 'it knows them better'"),
    of(
        "eureka",
        "cambium hand-off offer weksa --work 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'it wrote that chapter'",
    )
    .refused(),
    of("weksa", "cambium hand-off accept eureka:hand_off:01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10").refused(),
    of(
        "weksa",
        "cambium hand-off decline eureka:hand_off:01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'I have too much'",
    )
    .refused(),
    line("cambium work submit 'Look at this ruling' --ref weksa:ruling:left"),
    line("cambium work submit 'The guide is out of date' --body 'Chapter 3 names old commands.' --to eureka"),
    line("cambium work submit 'The guide is out of date' --to eureka"),
    line("cambium work list --holder eureka"),
    line("cambium work list --state unrouted"),
    line("cambium work list --state unrouted --json"),
    line("cambium work assign 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 eureka").refused(),
    line("cambium work withdraw 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10").refused(),
    of("eureka", "cambium work complete 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --result docs/guide.md").refused(),
    of("eureka", "cambium work return 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 --reason 'not my field'").refused(),
    of("eureka", "cambium work route 01977f3a-5c1e-7d44-9a51-0d7a2f6b8c10 weksa --reason 'it wrote that chapter'")
        .refused(),
    line("cambium wallet none"),
    // What the operator says where a mind said otherwise above.
    line("cambium mind open eureka").within("north").before(),
    line("cambium mind open weksa").within("north").before(),
    line("cambium mind steward eureka docs --note 'all of them'").within("north").before(),
    line("cambium rule left --title 'Left' --text 'We go left.' --holder eureka").within("north"),
    line(
        "cambium question way --title 'Which way?' --text 'Left or right?' --option left=Left. --option right=Right. --recommend left --between eureka,weksa --holder eureka",
    )
    .within("north"),
    line("cambium rule left --title 'Left' --text 'We too.' --holder weksa").within("north").before(),
    line("cambium rule docs --title 'Docs' --text 'Short ones.' --holder weksa").within("north").before(),
    of("eureka", "cambium cite river weksa:ruling:left --note 'as we do' --about eureka:ruling:left").within("north"),
    of(
        "eureka",
        "cambium hand-off offer weksa --area docs --reason 'it knows them better' --ref weksa:ruling:docs",
    )
    .within("north"),
    // A mind moves from one house to another, and one ends.
    line("cambium mind open eureka").within("west").before(),
    line("cambium mind export eureka --to eureka.jsonl").within("west"),
    line("cambium mind receive eureka.jsonl --host 'the house by the river'").within("south"),
    line("cambium mind moved eureka --to 'the house by the river' --bundle eureka.jsonl").within("west"),
    line("cambium mind open eureka").within("east").before(),
    line("cambium mind retire eureka --reason 'its work is done'").within("east"),
];

/// They tell what has happened above, and stay until they are told to stop.
const WATCHES: [&str; 2] = ["cambium audit watch --json", "cambium timeline watch"];
/// Of what is still to happen.
const QUIET_WATCHES: [&str; 2] = [
    "cambium audit watch --from 120",
    "cambium timeline watch --from 120 --json",
];

pub(super) fn examples() -> impl Iterator<Item = &'static str> {
    let scenes = SCENES.iter().filter(|scene| scene.is_example);
    let watches = WATCHES.into_iter().chain(QUIET_WATCHES);
    scenes.map(|scene| scene.line).chain(watches)
}

async fn play(stage: &Stage, scene: &Scene) -> Said {
    let line = match scene.mind {
        None => scene.line.to_owned(),
        Some(mind) => {
            stage.file("as-a-mind.sh", scene.line);
            format!("cambium mind operate {mind} -- sh as-a-mind.sh")
        }
    };
    let mut command = typed(stage.home(), &line);
    command.env("CAMBIUM_WORKSPACE", scene.workspace);
    run(command, BOUND).await
}

#[tokio::test]
async fn examples_about_minds_end_as_they_should() {
    let stage = stage().await;

    for scene in SCENES {
        let said = play(&stage, scene).await;
        let code = i32::from(scene.is_refused);
        assert_eq!(said.code, code, "{scene:?}: {said:?}");
    }
    for line in WATCHES {
        let mut watch = stays(stage.home(), line, "watch.log");
        assert!(!watch.line().await.is_empty(), "{line}");
        assert_eq!(watch.stop().await, 0, "{line}");
    }
    for line in QUIET_WATCHES {
        let mut watch = stays(stage.home(), line, "watch.log");
        assert_eq!(watch.ends_within(super::STAYS).await, None, "{line}");
        assert_eq!(watch.stop().await, 0, "{line}");
    }
}
