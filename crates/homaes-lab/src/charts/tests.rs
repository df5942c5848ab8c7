use super::*;
use crate::document::{Lab, Round, Run};
use crate::pictures;

#[test]
fn pictures_are_drawn_of_few_and_of_no_runs() {
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
    for svg in [noise(&run).unwrap(), rounds(&run).unwrap()] {
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
    assert!(noise(&run).unwrap().contains("failure"));
    assert!(rounds(&Run::default()).unwrap().starts_with("<svg"));
    let of = |runs: Vec<Run>| {
        let lab = Lab {
            runs,
            ..Lab::default()
        };
        pictures(&lab).unwrap().len()
    };
    assert_eq!(of(Vec::new()), 0);
    // toy sets are left out if there is a secure run
    let toy = Run {
        set: "tfhe/x".into(),
        purpose: "toy".into(),
        ..run.clone()
    };
    assert_eq!(of(vec![toy.clone()]), 2);
    assert_eq!(of(vec![toy, run]), 2);
    assert_eq!(pictures(&crate::baseline()).unwrap().len(), 4);
}
