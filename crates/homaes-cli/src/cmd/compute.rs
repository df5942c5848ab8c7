use super::decrypt::{job_at, open};
use super::{print_done, refuse_own_input};
use crate::args::Compute;
use crate::console::{self, Failure};
use crate::progress::spin;
use homaes::{Cancel, Ciphertexts, EvalKey, Mode, Output, PartMeta, Pool, Total, Totals};

pub(crate) fn run(args: &Compute) -> Result<(), Failure> {
    refuse_own_input(&args.out, &[&args.input, &args.eval])?;
    let mut totals = Vec::new();
    if let Some(column) = args.column {
        totals.extend(args.sum.then_some(Total::Sum(column)));
        totals.extend(args.dot.map(|other| Total::Dot(column, other)));
    }
    totals.extend(args.count.then_some(Total::Count));
    let totals = Totals::new(totals, args.conditions.iter().copied());
    let totals = match args.column {
        Some(column) => totals.records_of(column),
        None => totals,
    };
    let totals = match args.records {
        Some(records) => totals.first_records(records),
        None => totals,
    };
    let job = job_at(&args.input)?;
    let results = match open(&args.input, job.as_ref())? {
        Some(results) => results,
        None => Ciphertexts::open(&args.input)?,
    };
    let padded = |part: &PartMeta| matches!(part.mode, Mode::Cbc { .. } | Mode::Ecb);
    if args.records.is_none() && results.meta().parts.iter().any(padded) {
        let input = args.input.display();
        console::warn(&format!(
            "{input}: padding of ECB or CBC counts as data; give --records N if it fills a record"
        ));
    }
    let output = Output::create(&args.out, args.force)?;
    let eval = EvalKey::open(&args.eval)?;
    let pool = Pool::new(args.threads.map_or(0, |threads| threads.get()));
    let computed = spin("computing", || {
        totals.run(&eval, results, &pool, &Cancel::new())
    })?;
    computed.write(output)?;
    let labels: Vec<_> = computed.labels().collect();
    print_done(
        &args.out,
        &format!(
            "{}; print them with 'homaes decrypt --json'",
            labels.join("; ")
        ),
    );
    Ok(())
}
