use super::super::picture::Counts;
use super::*;

const PLAIN: Pen = Pen {
    colours: false,
    width: 80,
};

fn view() -> View {
    View {
        title: "report v3".to_owned(),
        state: RunState::Running,
        paused: false,
        counts: Counts {
            succeeded: 6,
            failed: 1,
            ..Counts::default()
        },
        total: 12,
        ready: 0,
        running: 2,
        backing_off: 1,
        parked: 0,
        waiting: 2,
        rate: Some(1.25),
        left: Some(Duration::from_secs(4)),
        elapsed: Duration::from_secs(72),
        tasks: vec![Running {
            task: "draft".to_owned(),
            took: Some(Duration::from_secs(8)),
            is_stopping: false,
        }],
        children: 0,
    }
}

#[test]
fn a_running_run_is_told_in_a_few_lines() {
    let pen = Pen { width: 30, ..PLAIN };
    let wide = lines(&view(), PLAIN);

    assert_eq!(lines(&view(), pen)[1], "[##############!>>>~...] 7/12");
    assert_eq!(
        wide,
        [
            "report v3  running  1 min 12 s",
            &format!(
                "[{}!!!!!{}~~~~~{}] 7/12",
                "#".repeat(30),
                ">".repeat(10),
                ".".repeat(10)
            ),
            "6 succeeded  1 failed  2 running  1 backing off  2 waiting",
            "1.2 tasks/s, about 4 s left",
            "  draft  8 s",
            "  and 1 more",
        ]
    );
}

#[test]
fn nothing_is_said_of_what_is_not_known() {
    let view = View {
        rate: None,
        left: None,
        running: 0,
        tasks: Vec::new(),
        ..view()
    };

    let lines = lines(&view, PLAIN);

    assert_eq!(lines.len(), 3, "{lines:?}");
}

#[test]
fn what_is_out_of_the_ordinary_is_said() {
    let view = View {
        paused: true,
        children: 2,
        counts: Counts {
            succeeded: 6,
            reused: 4,
            ..Counts::default()
        },
        tasks: vec![Running {
            task: "draft".to_owned(),
            took: None,
            is_stopping: true,
        }],
        ..view()
    };

    let told = lines(&view, PLAIN).join("\n");

    assert!(told.contains("running, paused, 2 child runs"), "{told}");
    assert!(told.contains("4 of them reused"), "{told}");
    assert!(
        told.contains("draft  since before the watch began, told to stop"),
        "{told}"
    );
}

#[test]
fn no_line_reaches_the_edge_whatever_its_colours() {
    for colours in [true, false] {
        let pen = Pen { colours, width: 24 };
        let failure = Failure {
            task: "a".repeat(90),
            code: "EXIT_1".to_owned(),
            detail: String::new(),
        };

        for line in lines(&view(), pen).iter().chain(&failures(&[failure], pen)) {
            assert!(console::measure_text_width(line) < 24, "{line}");
        }
    }
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let coloured = lines(
        &view(),
        Pen {
            colours: true,
            ..PLAIN
        },
    )
    .concat();

    assert!(coloured.contains("\x1b["));
    assert!(!lines(&view(), PLAIN).concat().contains('\x1b'));
    assert_eq!(
        console::strip_ansi_codes(&coloured),
        lines(&view(), PLAIN).concat()
    );
}

#[test]
fn failures_are_told_with_the_end_of_their_detail() {
    let failed: Vec<Failure> = (1..=12)
        .map(|n| Failure {
            task: format!("t{n}"),
            code: "EXIT_3".to_owned(),
            detail: "first\nlast".to_owned(),
        })
        .collect();

    let told = failures(&failed, PLAIN);

    assert_eq!(told[0], "failed  t1  EXIT_3  last");
    assert_eq!(told.len(), 11);
    assert_eq!(told[10], "and 2 more failed");
}

#[test]
fn shares_fill_the_room_and_leave_nothing_out() {
    assert_eq!(shares(&[1, 1, 2], 8), [2, 2, 4]);
    assert_eq!(shares(&[1_000, 1, 0], 10), [9, 1, 0]);
    assert_eq!(shares(&[1, 1, 1], 10), [3, 3, 4]);
    assert_eq!(shares(&[0, 0], 10), [0, 0]);
    assert_eq!(shares(&[5, 5, 5], 2).iter().sum::<usize>(), 2);
    assert_eq!(shares(&[5, 5], 0), [0, 0]);
}
