//! Every example, in an order that makes sense, with what must be typed before it.

/// An example of the help, as it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step {
    pub(super) before: &'static [&'static str],
    pub(super) line: &'static str,
}

const fn line(line: &'static str) -> Step {
    Step { before: &[], line }
}

const fn after(before: &'static [&'static str], line: &'static str) -> Step {
    Step { before, line }
}

/// Examples that begin so are whatever the help shows: each measures on a stack of its own, for as long as it likes.
pub(super) const MEASURES: &str = "cambium bench ";

/// Runs stay open meanwhile.
pub(super) const WHILE_NOBODY_WORKS: &[Step] = &[
    line("cambium graph validate graph.yaml"),
    line("cambium graph put graph.yaml"),
    line("cambium graph put tasks.yaml --agents agents.yaml --name crew"),
    line("cambium graph show report --version 1"),
    line("cambium graph list"),
    line("cambium graph list --json"),
    line("cambium import ci.yml --to yaml > jobs.yaml"),
    after(
        &["gzip --keep --force manifest.json"],
        "cambium import manifest.json.gz --graph parent_map --to json",
    ),
    line("cambium run graph.yaml --key nightly --json"),
    line("cambium run tasks.yaml --agents agents.yaml --input '{\"topic\":\"lichen\"}'"),
    line("cambium why nightly"),
    line("cambium why nightly draft"),
    line("cambium pause nightly"),
    line("cambium resume nightly"),
    line("cambium signal nightly approved '{\"by\":\"ada\"}'"),
    line("cambium signal nightly approved @answer.json"),
    after(
        &["cambium run graph.yaml --key weekly"],
        "cambium cancel weekly --reason 'wrong input' --grace-ms 5000",
    ),
    line("cambium enroll ada --capability role:writer --capability translate:is --out ada.token"),
    line("cambium agent-show ada"),
    line("cambium agents --workspace north"),
    line("cambium token"),
    line("cambium token --as ada --ttl 5m"),
    line("cambium call"),
    line("cambium call RunService"),
    line("cambium call RunService/ListRuns '{\"workspaceId\":\"default\"}'"),
    line(
        "cambium call cambium.hypha.v1.RunService/GetRun '{\"workspaceId\":\"default\",\"requestKey\":\"nightly\"}' --json",
    ),
    line("cambium runs"),
    line("cambium runs --state failed --json"),
    line("cambium completions bash"),
    line(
        "mkdir -p ~/.local/share/bash-completion/completions && cambium completions bash > ~/.local/share/bash-completion/completions/cambium",
    ),
    line("mkdir -p ~/.zfunc && cambium completions zsh > ~/.zfunc/_cambium"),
    line(
        "mkdir -p ~/.config/fish/completions && cambium completions fish > ~/.config/fish/completions/cambium.fish",
    ),
    line("cambium completions powershell >> $PROFILE"),
    line("mkdir -p ~/.config/elvish && cambium completions elvish >> ~/.config/elvish/rc.elv"),
];

/// Waits until immune has heard of the agents that were enrolled before.
const HEARD: &str = "for name in ada bo cy; do until cambium why-agent $name >/dev/null 2>&1; do sleep 0.1; done; done";

/// Marks are left and read, and agents judged.
pub(super) const ABOUT_AGENTS: &[Step] = &[
    line("cambium mark place repo/docs knowledge.pattern --payload '{\"use\":\"short words\"}'"),
    line("cambium mark place repo/build danger.flaky --intensity 0.8 --half-life 10m --json"),
    line("cambium mark sense repo --below"),
    line("cambium mark sense repo/docs"),
    line("cambium mark sense repo --below --category knowledge --category danger --newest"),
    line(
        "cambium mark sense repo --below --type knowledge.pattern --min-intensity 0.2 --limit 10 --json",
    ),
    line("cambium mark show repo/docs"),
    line("cambium mark reinforce repo/docs"),
    line("cambium mark transform repo/docs --payload @better.json --as ada"),
    line("cambium mark lineage repo/docs"),
    line("cambium mark gradient repo"),
    line("cambium mark gradient --json"),
    line("cambium mark regions"),
    line("cambium mark regions repo --json"),
    after(
        &[
            "cambium enroll bo --capability role:writer --capability translate:is",
            "cambium enroll cy --capability role:writer --capability translate:is",
            HEARD,
        ],
        "cambium why-agent ada",
    ),
    line("cambium why-agent ada --score generosity --page-size 20"),
    line("cambium trust ada --by 0.05 --reason 'checked by hand'"),
    line("cambium trust ada --by -0.1 --reason 'made up a source'"),
    line("cambium quarantine ada --reason 'made up its sources'"),
    line("cambium quarantine ada --reason 'still does' --for 24h --over-cap"),
    line("cambium quarantines"),
    line("cambium release ada --reason 'the sources exist'"),
    line("cambium quarantines --all --json"),
    line("cambium rules"),
    line("cambium rules --json"),
    line("cambium rules list"),
    line("cambium rules put rule.json"),
    line(
        "cambium rules put '{\"ruleId\":\"slow-failures\",\"signalType\":\"task.failed\",\"severity\":0.4,\"response\":\"alert\",\"window\":\"1h\",\"minCount\":5}'",
    ),
    line("cambium rules disable failure-burst"),
    line("cambium rules enable failure-burst"),
    line("cambium rules dry-run failure-burst --hours 24"),
    line("cambium rules dry-run rule.json"),
    line("cambium anomalies"),
    line("cambium anomalies --agent ada --json"),
    line("cambium alerts"),
    line("cambium alerts --all --json"),
    line("cambium alerts ack --all"),
    line("cambium policy"),
    line("cambium policy show --json"),
    line("cambium policy set --hoarding-threshold 0.2 --pair-daily-cap 5"),
    line("cambium weights"),
    line("cambium weights show --json"),
    line("cambium weights set --trust 0.3 --capability 0.25"),
    line("cambium weights set --explore-every 10"),
    line("cambium templates put writer.yaml"),
    line("cambium templates list"),
    line("cambium templates list --json"),
    line("cambium templates show writer --version 1"),
    line("cambium templates versions writer"),
    line("cambium templates export writer > writer.yaml"),
    line("cambium templates import writer.yaml --name my-writer"),
    line("cambium spawn writer"),
    line("cambium spawn writer --reason 'the report is late'"),
    line("cambium learnings writer"),
    line("cambium learnings writer --all --json"),
    line("cambium retire ada --failure 'timeout in search' --hint 'ask for sources first'"),
];

/// They name a learning, which three agents must live for: a stack that is new says that it has none, and no more is wrong.
pub(super) const OF_OLD_STACKS: &[&str] = &[
    "cambium learnings explain 0193a0b2-7d1c-7c3e-9f00-3c2f5a7f1e11",
    "cambium learnings roll-back 0193a0b2-7d1c-7c3e-9f00-3c2f5a7f1e11 --reason 'it is wrong'",
];

/// They tell what has happened to the marks above, and stay until they are told to stop.
pub(super) const WATCHES: &[&str] = &[
    "cambium mark watch repo",
    "cambium mark watch --from 1 --json",
];

/// Runs go to their end.
pub(super) const WHILE_A_CREW_WORKS: &[Step] = &[
    line("cambium run graph.yaml --watch"),
    line("cambium watch nightly"),
    line("cambium watch nightly --events"),
    line("cambium watch nightly --from 3 --json"),
    line("cambium run-show nightly"),
    line("cambium rerun nightly --from draft --dry-run"),
    line("cambium rerun nightly --from draft --from check --key nightly-again --watch"),
    line("cambium rerun nightly --from draft check --json"),
];

/// They stay until they are told to drain.
pub(super) const WORKS: &[Step] = &[
    line("cambium worker --agent bob --capability role:writer --exec './write.sh'"),
    after(
        &["cambium enroll ada --capability role:writer --out ada.token"],
        "cambium worker --agent ada --token-file ada.token --slots 4 --exec 'jq .inputs'",
    ),
    line(
        "cambium worker --agent carol --capability role:editor --http http://127.0.0.1:8000/tasks",
    ),
    line("cambium worker --agent dan --capability role:lead -- ./lead.sh"),
    line("cambium worker --agent eve --capability role:tester --simulate --speed 100"),
    after(
        &["cambium templates put writer.yaml", "cambium spawn writer"],
        "cambium worker --template writer --slots 2 --exec './write.sh'",
    ),
];

/// They stay until they are told to stop.
pub(super) const STACKS: &[&str] = &[
    "cambium up",
    "cambium up --data ./cambium-data --port 0",
    "cambium up --workers 2 --capability role:writer",
];

pub(super) const DEMOS: &[Step] = &[
    line("cambium demo"),
    after(
        &["gzip --keep --force workflow.json"],
        "cambium demo workflow.json.gz --json",
    ),
    line("cambium demo ci.yml --graph jobs --workers 8 --speed 100 --keep"),
    line("cambium demo --swarm"),
];

pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let steps = [
        WHILE_NOBODY_WORKS,
        ABOUT_AGENTS,
        WHILE_A_CREW_WORKS,
        WORKS,
        DEMOS,
    ]
    .concat();
    let lines = steps.into_iter().map(|step| step.line);
    let others = STACKS.iter().chain(WATCHES).chain(OF_OLD_STACKS);
    lines.chain(others.copied())
}

/// A mind as another house kept it.
const REMNANT: &str = r#"{"agent_id": "wren", "identity": {"name": "Wren", "public_description": "Small."}, "canonical_state": {}}"#;

/// What the examples name.
pub(super) const FILES: [(&str, &str); 16] = [
    (
        "graph.yaml",
        "name: report
nodes:
  plan: {requires: [role:lead]}
  draft: {requires: [role:writer], needs: plan}
  check: {requires: [role:editor], needs: draft}
",
    ),
    (
        "tasks.yaml",
        "research:
  description: Find out about {topic}
  expected_output: Notes
  agent: researcher
write:
  description: Write it up
  expected_output: Text
  agent: writer
  context: [research]
",
    ),
    (
        "agents.yaml",
        "researcher:
  role: Researcher
  goal: Know
  backstory: Has read a lot
writer:
  role: Writer
  goal: Be read
  backstory: Has written a lot
",
    ),
    (
        "ci.yml",
        "name: ci
on: push
jobs:
  build:
    runs-on: ubuntu-latest
    steps: [{run: make}]
  test:
    runs-on: ubuntu-latest
    needs: build
    steps: [{run: make test}]
",
    ),
    (
        "workflow.json",
        r#"{"name": "two", "schemaVersion": "1.4", "workflow": {"makespan": 3, "tasks": [
            {"id": "1", "name": "first", "type": "compute", "runtime": 1.5, "parents": []},
            {"id": "2", "name": "second", "type": "compute", "runtime": 1.5, "parents": ["first"]}]}}"#,
    ),
    (
        "manifest.json",
        r#"{"metadata": {"project_name": "shop"},
            "nodes": {"model.shop.orders": {"resource_type": "model", "name": "orders", "depends_on": {"nodes": ["source.shop.raw"]}}},
            "sources": {"source.shop.raw": {"resource_type": "source", "name": "raw"}},
            "parent_map": {"model.shop.orders": ["source.shop.raw"], "source.shop.raw": []}}"#,
    ),
    (
        "writer.yaml",
        "name: writer
role: writer
instructions: Write what the plan asks for.
capabilities: [role:writer]
",
    ),
    ("better.json", r#"{"use": "words that everybody knows"}"#),
    (
        "rule.json",
        r#"{"ruleId": "often-late", "signalType": "task.lease_lost", "severity": 0.5, "response": "log", "window": "10m", "minCount": 3}"#,
    ),
    (
        "weksa.json",
        r#"{"publicName": "Weksa", "publicDescription": "Keeps the house.", "voiceSummary": "Dry."}"#,
    ),
    ("remnant.json", REMNANT),
    ("remnant.yaml", REMNANT),
    (
        "documents.json",
        r#"[{"id": "eureka:campaign:docs", "kind": "campaign", "payload":
            {"label": "docs", "title": "New docs", "goal": "Every chapter is new.", "started_on": "2026-06-01"}}]"#,
    ),
    ("answer.json", r#"{"by": "grace"}"#),
    ("write.sh", "#!/bin/sh\necho '{\"text\": \"written\"}'\n"),
    ("lead.sh", "#!/bin/sh\ncambium run graph.yaml --json\n"),
];
