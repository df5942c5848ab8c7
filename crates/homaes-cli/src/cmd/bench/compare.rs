use crate::args::Compare;
use crate::cmd::report::read_document;
use crate::console::{self, Failure};
use homaes_lab::{Document, Lab, compare};
use std::path::Path;

pub(super) fn run(args: &Compare) -> Result<(), Failure> {
    let [old, new] = [lab(&args.old)?, lab(&args.new)?];
    let comparison = compare(&old, &new);
    if comparison.compared == 0 {
        let (old, new) = (args.old.display(), args.new.display());
        return Err(Failure::Work(format!(
            "{old} and {new} have no run in common; give documents of the same command"
        )));
    }
    console::print(&comparison.text())?;
    match args.check {
        true if comparison.is_worse() => {
            let message = "something became slower or worse, or is missing; see above";
            Err(Failure::Work(message.into()))
        }
        true if comparison.is_blind() => {
            let message = "the documents are too noisy to compare; measure on an idle machine";
            Err(Failure::Work(message.into()))
        }
        _ => Ok(()),
    }
}

pub(super) fn lab(path: &Path) -> Result<Lab, Failure> {
    Ok(match read_document(path)? {
        Document::Lab(lab) => *lab,
        Document::Run(run) | Document::Own(run) => Lab {
            runs: vec![*run],
            ..Lab::default()
        },
    })
}
