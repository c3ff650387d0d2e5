//! Workflows with the shapes of well-known ones, of any size: ours to generate, so that no file of others is needed.

use serde_json::{Value, json};

/// A workflow in the making: tasks with parents and times, written as WfFormat 1.5.
pub(crate) struct Sketch {
    name: String,
    state: u64,
    tasks: Vec<(String, Vec<usize>, f64)>,
}

impl Sketch {
    fn new(shape: &str, size: usize, seed: u64) -> Self {
        Self {
            name: format!("{shape}-{size}-{seed}"),
            state: seed,
            tasks: Vec::new(),
        }
    }

    /// From 0 to 1, the same for the same seed.
    fn chance(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from((mixed ^ (mixed >> 31)) >> 32).unwrap()) / f64::from(u32::MAX)
    }

    /// Adds a task that takes about `seconds`: half to one and a half times as long, once in a while three times.
    fn task(&mut self, kind: &str, parents: &[usize], seconds: f64) -> usize {
        let mut factor = 0.5 + self.chance();
        if self.chance() < 0.05 {
            factor *= 2.0;
        }
        let millis = (seconds * factor * 1000.0).round();
        let id = format!("{kind}_{:05}", self.tasks.len() + 1);
        self.tasks.push((id, parents.to_vec(), millis / 1000.0));
        self.tasks.len() - 1
    }

    /// As WfFormat 1.5.
    pub(crate) fn document(&self) -> Value {
        let id = |index: &usize| self.tasks[*index].0.clone();
        let specification: Vec<Value> = (0..self.tasks.len())
            .map(|index| {
                let (own, parents, _) = &self.tasks[index];
                let children =
                    (0..self.tasks.len()).filter(|child| self.tasks[*child].1.contains(&index));
                json!({
                    "name": own.split('_').next(),
                    "id": own,
                    "parents": parents.iter().map(id).collect::<Vec<_>>(),
                    "children": children.map(|child| id(&child)).collect::<Vec<_>>(),
                })
            })
            .collect();
        let execution: Vec<Value> = self
            .tasks
            .iter()
            .map(|(id, _, seconds)| json!({"id": id, "runtimeInSeconds": seconds}))
            .collect();
        json!({
            "name": self.name,
            "description": "A made-up workflow with the shape of a well-known one.",
            "schemaVersion": "1.5",
            "workflow": {
                "specification": {"tasks": specification},
                "execution": {
                    "makespanInSeconds": 0,
                    "executedAt": "2026-01-01T00:00:00Z",
                    "tasks": execution,
                },
            },
        })
    }
}

/// A shape, which makes a workflow of about so many tasks.
pub(crate) type Shape = fn(usize, u64) -> Sketch;

/// All shapes by name.
pub(crate) const SHAPES: &[(&str, Shape)] = &[
    ("montage", montage),
    ("epigenomics", epigenomics),
    ("cybershake", cybershake),
    ("blast", blast),
    ("seismology", seismology),
    ("genome", genome),
    ("srasearch", srasearch),
];

/// Images are projected, overlapping ones compared, all made equally bright and put together.
pub(crate) fn montage(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("montage", size, seed);
    let images = (size / 5).max(2);
    let projected: Vec<usize> = (0..images)
        .map(|_| sketch.task("mProject", &[], 12.0))
        .collect();
    let mut compared = Vec::new();
    for image in 0..images {
        for next in [1, 2, 3] {
            if image + next < images {
                let pair = [projected[image], projected[image + next]];
                compared.push(sketch.task("mDiffFit", &pair, 4.0));
            }
        }
    }
    let fitted = sketch.task("mConcatFit", &compared, 3.0);
    let model = sketch.task("mBgModel", &[fitted], 6.0);
    let corrected: Vec<usize> = projected
        .iter()
        .map(|image| sketch.task("mBackground", &[*image, model], 3.0))
        .collect();
    let table = sketch.task("mImgtbl", &corrected, 2.0);
    let added = sketch.task("mAdd", &[table], 10.0);
    sketch.task("mViewer", &[added], 4.0);
    sketch
}

/// Several lanes of reads, each split, worked on in chains and merged; then all together.
fn epigenomics(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("epigenomics", size, seed);
    let lanes = (size / 80).clamp(2, 8);
    let chains = (size / lanes / 4).max(1);
    let mut merged = Vec::new();
    for _ in 0..lanes {
        let split = sketch.task("fastqSplit", &[], 8.0);
        let mut mapped = Vec::new();
        for _ in 0..chains {
            let mut last = split;
            for (kind, seconds) in [
                ("filter", 3.0),
                ("sol2sanger", 1.0),
                ("fast2bfq", 2.0),
                ("map", 40.0),
            ] {
                last = sketch.task(kind, &[last], seconds);
            }
            mapped.push(last);
        }
        merged.push(sketch.task("mapMerge", &mapped, 6.0));
    }
    let all = sketch.task("mapMerge", &merged, 10.0);
    let index = sketch.task("maqIndex", &[all], 8.0);
    sketch.task("pileup", &[index], 10.0);
    sketch
}

/// A few long extractions, behind each many syntheses with a short task each, all zipped at the end.
fn cybershake(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("cybershake", size, seed);
    let sites = (size / 50).max(1);
    let each = (size / sites / 2).max(1);
    let (mut seismograms, mut peaks) = (Vec::new(), Vec::new());
    for _ in 0..sites {
        let extracted = sketch.task("ExtractSGT", &[], 60.0);
        for _ in 0..each {
            let made = sketch.task("SeismogramSynthesis", &[extracted], 25.0);
            seismograms.push(made);
            peaks.push(sketch.task("PeakValCalc", &[made], 1.0));
        }
    }
    sketch.task("ZipSeis", &seismograms, 20.0);
    sketch.task("ZipPSA", &peaks, 20.0);
    sketch
}

/// A split, many searches, two collections.
fn blast(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("blast", size, seed);
    let split = sketch.task("split", &[], 1.0);
    let found: Vec<usize> = (0..size.saturating_sub(3).max(1))
        .map(|_| sketch.task("blastall", &[split], 60.0))
        .collect();
    sketch.task("cat", &found, 1.0);
    sketch.task("catBlast", &found, 1.5);
    sketch
}

/// Many alike, one that collects.
fn seismology(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("seismology", size, seed);
    let all: Vec<usize> = (0..size.saturating_sub(1).max(1))
        .map(|_| sketch.task("decon", &[], 5.0))
        .collect();
    sketch.task("sift", &all, 2.0);
    sketch
}

/// Chromosomes: individuals in many parts, merged; siftings beside them; populations at the end.
fn genome(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("genome", size, seed);
    let chromosomes = (size / 40).max(1);
    for _ in 0..chromosomes {
        let parts: Vec<usize> = (0..24)
            .map(|_| sketch.task("individuals", &[], 80.0))
            .collect();
        let merged = sketch.task("merge", &parts, 30.0);
        let sifted = sketch.task("sifting", &[], 20.0);
        for _ in 0..7 {
            sketch.task("overlap", &[merged, sifted], 15.0);
            sketch.task("frequency", &[merged, sifted], 40.0);
        }
    }
    sketch
}

/// Files of all sizes are fetched, each is searched by the same index, and what was found is merged.
fn srasearch(size: usize, seed: u64) -> Sketch {
    let mut sketch = Sketch::new("srasearch", size, seed);
    let index = sketch.task("bowtie-build", &[], 3.0);
    let found: Vec<usize> = (0..(size / 2).max(2))
        .map(|_| {
            let fetched = sketch.task("fasterq-dump", &[], 240.0);
            sketch.task("bowtie", &[index, fetched], 5.0)
        })
        .collect();
    sketch.task("merge", &found, 1.0);
    sketch
}
