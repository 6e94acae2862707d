//! The paper's figures, as they are printed, and the flaws that they are known to have.
//!
//! Source: Kolster and Quick, "Vortex-topology Messaging: Data Vortex for high performance middleware", sections 3.2 to 3.8.

/// Messages a second and node, sustained, in the benchmark of 30 nodes that the paper refers to.
pub const REFERENCE_PER_NODE: f64 = 43_404.0;
/// The routine rate over InfiniBand in the paper's text, in messages a second and node.
pub const PAPER_PER_NODE: f64 = 60_000.0;

/// The columns of sections 3.3 to 3.7, a line each: bytes of a message, network, run, then count, mean, std, min, 25%,
/// 50%, 75%, 90%, 95%, 99% and max. `-` where the paper prints nothing.
const COLUMNS: &str = "\
8 IB r1 2000 150302.38 38069.49 14533.84 115394.53 172503.22 175716.24 178048.99 181190.05 - 240024.64
8 IB r2 2000 142114.49 43043.19 15515.43 102502.07 168669.05 176793.81 179369.46 180730.11 - 256103.3
8 DV r1 81650 24367.11 155509.38 0 0 0 0 0 0 836636.66 3399120.25
8 DV r2 76708 25899.96 153395.95 0 0 0 0 0 0 830419.94 3263747.25
256 IB r1 2000 130873.74 38062.42 11994.67 101817.41 144048.64 161141.42 169812.82 175182.95 - 224190
256 IB r2 2000 123974.2 38308.45 21789.22 95694.58 125226.65 158591.87 171747.6 176608.29 - 258566.83
256 DV r1 96028 20719.41 102774.04 0 0 0 0 0 135972.81 583683.25 1712257.5
256 DV r2 106129 18782.32 98317.39 0 0 0 0 0 60707.86 579628.08 1567886.38
2048 IB r1 1000 84446.16 32843.38 18130.22 66163.34 82752.36 101637.7 128775.7 138156.11 - 209783.37
2048 IB r2 1000 90501.22 32728.39 26606.66 71262.94 86536.94 121854.87 131202.47 139758.67 - 186020.85
2048 DV r1 55915 35620.75 97570.9 0 0 0 0 165166.97 307338.53 428514.31 588282.31
2048 DV r2 53896 36984.6 99616.36 0 0 0 0 174365.12 308938.22 431723.65 556288.75
8192 IB r1 1000 70737.47 26947.44 21328.03 53330.66 68147.48 83160.4 107865.82 117244.19 - 195842.57
8192 IB r2 1000 74661.05 25466.21 23717.44 58020.97 71183.36 88446.37 107283.3 120536.79 - 191430.24
8192 DV r1 66370 120148.79 152927.31 0 0 0 314537.09 337532.5 349730.06 392121.56 548690.25
8192 DV r2 71397 111742.89 149788.77 0 0 0 304339.12 332933.41 346330.72 388946.21 549090.19
131072 IB r1 240 19084.56 6144.13 11289.95 14636.15 17763.82 21665.92 26889.26 31163.8 - 48466.3
131072 IB r2 240 18427.74 5101.05 11069.98 15077.15 17111.68 20585.38 25560.8 26972.33 - 45946.51
131072 DV r1 119865 245338.68 220357.67 0 0 289742.06 478704.25 503899.22 516496.69 554289.12 3161967.5
131072 DV r2 107411 285279.25 207620.49 0 0 352729.47 491301.75 503899.22 516496.69 554289.12 970006";

/// Rows of the paper's Table 2 as they are printed: name, mean and deviation.
pub const TABLE_2: [(&str, f64, f64); 14] = [
    ("256 B RabbitMQ r1", 135_902.82, 102_772.37),
    ("256 B RabbitMQ r2", 18_782.31, 98_316.09),
    ("256 B RabbitMQ \"avg\"", 60_587.88, 60_587.88),
    ("256 B DV r1", 159_968.00, 99_809.56),
    ("256 B DV r2", 119_976.01, 94_851.23),
    ("256 B DV avg", 139_972.00, 97_330.40),
    ("256 B avg difference", 79_384.12, 36_742.51),
    ("128 KiB RabbitMQ r1", 3_599.28, 1_732.26),
    ("128 KiB RabbitMQ r2", 3_799.24, 1_633.55),
    ("128 KiB RabbitMQ avg", 3_699.26, 1_682.90),
    ("128 KiB DV r1", 278_500.82, 213_264.60),
    ("128 KiB DV r2", 284_590.99, 207_119.34),
    ("128 KiB DV avg", 281_545.90, 210_191.97),
    ("128 KiB avg difference", 277_846.64, 208_509.07),
];

/// Reasons not to calibrate on the paper's figures.
pub const FLAWS: [&str; 6] = [
    "Table 2, 256 B, RabbitMQ: r2 (18,782.31) is the Data Vortex's r2 of section 3.4, and \"avg\" (60,587.88) is neither the mean of r1 and r2 (77,342.57) nor a deviation, in whose place it stands again.",
    "128 KiB, Data Vortex: 245,339 to 285,279 messages/s of 131,072 bytes are 32 to 37 GB/s for the two nodes, and the 99th percentile is 73 GB/s: many times what an interface card carries. The unit must be a burst or a part of a message.",
    "8 B, Data Vortex: the 99th percentile, 836,637 messages/s, is 6.7 MB/s.",
    "Data Vortex samples are poll intervals, empty ones included, so that medians are 0; samples hit by buffer overruns were left out. A sample of InfiniBand is a batch of 10,000 messages (2,500 at 128 KiB): the two kinds of samples cannot be compared.",
    "The gains of the text (5, 2, 2, 2 and 10 times) come from upper percentiles. By the means of the same tables the Data Vortex has 0.2 times the rate at 8 B and 256 B, 0.4 at 2 KiB, 1.6 at 8 KiB and 14 at 128 KiB.",
    "The paths differ: over InfiniBand messages go straight into the broker, over the Data Vortex they are counted in memory, before the loopback into the broker.",
];

/// Returns the columns of a size: name and values.
pub fn columns(size: usize) -> impl Iterator<Item = (String, Vec<Option<f64>>)> {
    let columns = COLUMNS.lines().map(|line| line.split(' ').collect::<Vec<&str>>());
    columns.filter(move |words| words[0].parse() == Ok(size)).map(|words| {
        let values = words[3..].iter().map(|word| word.parse().ok()).collect();
        (format!("paper {} {}", words[1], words[2]), values)
    })
}

/// The gain of the Data Vortex over InfiniBand that the paper's text claims at this size.
pub fn claimed_gain(size: usize) -> Option<f64> {
    match size {
        8 => Some(5.0),
        256..=8192 => Some(2.0),
        131_072 => Some(10.0),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [usize; 5] = [8, 256, 2048, 8192, 131_072];

    /// The mean of both runs.
    fn mean(size: usize, kind: &str) -> f64 {
        let columns = columns(size).filter(|column| column.0.contains(kind));
        let means: Vec<f64> = columns.filter_map(|column| column.1[1]).collect();
        means.iter().sum::<f64>() / means.len() as f64
    }

    #[test]
    fn five_sizes_have_four_columns_each_whose_percentiles_rise() {
        for size in SIZES {
            let columns: Vec<_> = columns(size).collect();
            assert_eq!(columns.len(), 4);
            for (name, values) in columns {
                let rising: Vec<f64> = values[3..].iter().copied().flatten().collect();
                assert!(rising.is_sorted() && (values.len(), rising.len()) >= (11, 7), "{name}: {values:?}");
            }
        }
    }

    #[test]
    fn the_flaws_are_what_the_figures_say() {
        let gains = SIZES.map(|size| mean(size, "DV") / mean(size, "IB"));
        let rounded = gains.map(|gain| (gain * 10.0).round() / 10.0);
        assert_eq!((&rounded[..4], gains[4].round()), (&[0.2, 0.2, 0.4, 1.6][..], 14.0));
        let (r1, r2, average) = (TABLE_2[0].1, TABLE_2[1].1, TABLE_2[2].1);
        assert!(
            ((r1 + r2) / 2.0 - 77_342.565).abs() < 0.01 && average < r1 && (average - 77_342.57).abs() > 1e4
        );
        let gigabytes = |rate: f64| (rate * 131_072.0 / 1e9).round();
        assert_eq!([245_338.68, 285_279.25, 554_289.13].map(gigabytes), [32.0, 37.0, 73.0]);
    }

    #[test]
    fn gains_are_claimed_for_the_sizes_that_the_text_names() {
        let claimed = [8, 16, 256, 1024, 8192, 16_384, 131_072].map(claimed_gain);
        assert_eq!(claimed, [Some(5.0), None, Some(2.0), Some(2.0), Some(2.0), None, Some(10.0)]);
    }
}
