use crate::args::Compare;
use crate::cmd::report::read_document;
use crate::console::{self, Failure, fail};
use homaes_lab::compare;

pub(super) fn run(args: &Compare) -> Result<(), Failure> {
    let [old, new] = [read_document(&args.old)?, read_document(&args.new)?];
    let comparison = compare(&old, &new);
    if comparison.compared == 0 {
        let (old, new) = (args.old.display(), args.new.display());
        return fail(format!(
            "{old} and {new} have no run in common; give documents of the same command"
        ));
    }
    console::print(&comparison.text())?;
    match args.check {
        true if comparison.is_worse() => {
            fail("something became slower or worse, or is missing; see above")
        }
        true if comparison.is_blind() => {
            fail("the documents are too noisy to compare; measure on an idle machine")
        }
        _ => Ok(()),
    }
}
