use super::*;
use crate::document::{Lab, Round, Run};

fn lab() -> Lab {
    crate::baseline()
}

#[test]
fn every_picture_is_drawn_of_few_and_of_no_runs() {
    let round = |round: usize| Round {
        round,
        seconds: 0.1,
        noise_bits: 10.0,
        capacity_bits: 12.0,
        measured_noise_bits: Some(8.0),
        stage_seconds: [("a".to_owned(), 0.05), ("b".to_owned(), 0.2)].into(),
        ..Round::default()
    };
    let run = Run {
        set: "bgv/x".into(),
        purpose: "secure".into(),
        threads: 2,
        seconds: 1.0,
        ms_per_block: 3.0,
        rounds: (0..11).map(round).collect(),
        ..Run::default()
    };
    for width in Width::ALL {
        for lab in [
            Lab::default(),
            lab(),
            Lab {
                runs: vec![run.clone()],
                ..Lab::default()
            },
        ] {
            for svg in [
                points(&lab, width),
                sizes(&lab, width),
                speedups(&lab, width),
            ] {
                let svg = svg.unwrap();
                assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
        for run in [run.clone(), Run::default()] {
            assert!(rounds(&run, width).unwrap().starts_with("<svg"));
        }
        assert!(noise(&run, width).unwrap().unwrap().contains("failure"));
        assert!(noise(&Run::default(), width).is_none());
    }
}
