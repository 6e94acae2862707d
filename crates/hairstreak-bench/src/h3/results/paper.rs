//! The paper's figures, as they are printed, and the flaws that they are known to have.
//!
//! Source: Kolster and Quick, "Vortex-topology Messaging: Data Vortex for high performance middleware", sections 3.2 to 3.8.

/// Messages a second and node, sustained, in the benchmark of 30 nodes that the paper refers to.
pub const REFERENCE_PER_NODE: f64 = 43_404.0;
/// Messages a second and node that the paper says it routinely sustains over InfiniBand.
pub const PAPER_PER_NODE: f64 = 60_000.0;

/// One column of the paper's tables.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Bytes of a message.
    pub size: usize,
    /// The name of the column here.
    pub name: &'static str,
    /// Count, mean, std, min, 25%, 50%, 75%, 90%, 95%, 99% and max; `None` where the paper prints nothing.
    pub values: [Option<f64>; 11],
}

/// The columns of sections 3.3 to 3.7.
pub const COLUMNS: [Column; 20] = [
    Column {
        size: 8,
        name: "paper IB r1",
        values: [
            Some(2_000.0),
            Some(150_302.38),
            Some(38_069.49),
            Some(14_533.84),
            Some(115_394.53),
            Some(172_503.22),
            Some(175_716.24),
            Some(178_048.99),
            Some(181_190.05),
            None,
            Some(240_024.64),
        ],
    },
    Column {
        size: 8,
        name: "paper IB r2",
        values: [
            Some(2_000.0),
            Some(142_114.49),
            Some(43_043.19),
            Some(15_515.43),
            Some(102_502.07),
            Some(168_669.05),
            Some(176_793.81),
            Some(179_369.46),
            Some(180_730.11),
            None,
            Some(256_103.3),
        ],
    },
    Column {
        size: 8,
        name: "paper DV r1",
        values: [
            Some(81_650.0),
            Some(24_367.11),
            Some(155_509.38),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(836_636.66),
            Some(3_399_120.25),
        ],
    },
    Column {
        size: 8,
        name: "paper DV r2",
        values: [
            Some(76_708.0),
            Some(25_899.96),
            Some(153_395.95),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(830_419.94),
            Some(3_263_747.25),
        ],
    },
    Column {
        size: 256,
        name: "paper IB r1",
        values: [
            Some(2_000.0),
            Some(130_873.74),
            Some(38_062.42),
            Some(11_994.67),
            Some(101_817.41),
            Some(144_048.64),
            Some(161_141.42),
            Some(169_812.82),
            Some(175_182.95),
            None,
            Some(224_190.0),
        ],
    },
    Column {
        size: 256,
        name: "paper IB r2",
        values: [
            Some(2_000.0),
            Some(123_974.2),
            Some(38_308.45),
            Some(21_789.22),
            Some(95_694.58),
            Some(125_226.65),
            Some(158_591.87),
            Some(171_747.6),
            Some(176_608.29),
            None,
            Some(258_566.83),
        ],
    },
    Column {
        size: 256,
        name: "paper DV r1",
        values: [
            Some(96_028.0),
            Some(20_719.41),
            Some(102_774.04),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(135_972.81),
            Some(583_683.25),
            Some(1_712_257.5),
        ],
    },
    Column {
        size: 256,
        name: "paper DV r2",
        values: [
            Some(106_129.0),
            Some(18_782.32),
            Some(98_317.39),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(60_707.86),
            Some(579_628.08),
            Some(1_567_886.38),
        ],
    },
    Column {
        size: 2048,
        name: "paper IB r1",
        values: [
            Some(1_000.0),
            Some(84_446.16),
            Some(32_843.38),
            Some(18_130.22),
            Some(66_163.34),
            Some(82_752.36),
            Some(101_637.7),
            Some(128_775.7),
            Some(138_156.11),
            None,
            Some(209_783.37),
        ],
    },
    Column {
        size: 2048,
        name: "paper IB r2",
        values: [
            Some(1_000.0),
            Some(90_501.22),
            Some(32_728.39),
            Some(26_606.66),
            Some(71_262.94),
            Some(86_536.94),
            Some(121_854.87),
            Some(131_202.47),
            Some(139_758.67),
            None,
            Some(186_020.85),
        ],
    },
    Column {
        size: 2048,
        name: "paper DV r1",
        values: [
            Some(55_915.0),
            Some(35_620.75),
            Some(97_570.9),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(165_166.97),
            Some(307_338.53),
            Some(428_514.31),
            Some(588_282.31),
        ],
    },
    Column {
        size: 2048,
        name: "paper DV r2",
        values: [
            Some(53_896.0),
            Some(36_984.6),
            Some(99_616.36),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(174_365.12),
            Some(308_938.22),
            Some(431_723.65),
            Some(556_288.75),
        ],
    },
    Column {
        size: 8192,
        name: "paper IB r1",
        values: [
            Some(1_000.0),
            Some(70_737.47),
            Some(26_947.44),
            Some(21_328.03),
            Some(53_330.66),
            Some(68_147.48),
            Some(83_160.4),
            Some(107_865.82),
            Some(117_244.19),
            None,
            Some(195_842.57),
        ],
    },
    Column {
        size: 8192,
        name: "paper IB r2",
        values: [
            Some(1_000.0),
            Some(74_661.05),
            Some(25_466.21),
            Some(23_717.44),
            Some(58_020.97),
            Some(71_183.36),
            Some(88_446.37),
            Some(107_283.3),
            Some(120_536.79),
            None,
            Some(191_430.24),
        ],
    },
    Column {
        size: 8192,
        name: "paper DV r1",
        values: [
            Some(66_370.0),
            Some(120_148.79),
            Some(152_927.31),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(314_537.09),
            Some(337_532.5),
            Some(349_730.06),
            Some(392_121.56),
            Some(548_690.25),
        ],
    },
    Column {
        size: 8192,
        name: "paper DV r2",
        values: [
            Some(71_397.0),
            Some(111_742.89),
            Some(149_788.77),
            Some(0.0),
            Some(0.0),
            Some(0.0),
            Some(304_339.12),
            Some(332_933.41),
            Some(346_330.72),
            Some(388_946.21),
            Some(549_090.19),
        ],
    },
    Column {
        size: 131072,
        name: "paper IB r1",
        values: [
            Some(240.0),
            Some(19_084.56),
            Some(6_144.13),
            Some(11_289.95),
            Some(14_636.15),
            Some(17_763.82),
            Some(21_665.92),
            Some(26_889.26),
            Some(31_163.8),
            None,
            Some(48_466.3),
        ],
    },
    Column {
        size: 131072,
        name: "paper IB r2",
        values: [
            Some(240.0),
            Some(18_427.74),
            Some(5_101.05),
            Some(11_069.98),
            Some(15_077.15),
            Some(17_111.68),
            Some(20_585.38),
            Some(25_560.8),
            Some(26_972.33),
            None,
            Some(45_946.51),
        ],
    },
    Column {
        size: 131072,
        name: "paper DV r1",
        values: [
            Some(119_865.0),
            Some(245_338.68),
            Some(220_357.67),
            Some(0.0),
            Some(0.0),
            Some(289_742.06),
            Some(478_704.25),
            Some(503_899.22),
            Some(516_496.69),
            Some(554_289.12),
            Some(3_161_967.5),
        ],
    },
    Column {
        size: 131072,
        name: "paper DV r2",
        values: [
            Some(107_411.0),
            Some(285_279.25),
            Some(207_620.49),
            Some(0.0),
            Some(0.0),
            Some(352_729.47),
            Some(491_301.75),
            Some(503_899.22),
            Some(516_496.69),
            Some(554_289.12),
            Some(970_006.0),
        ],
    },
];

/// Rows of the paper's Table 2 as they are printed: what, mean and deviation.
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

    /// The mean of both runs.
    fn mean(size: usize, kind: &str) -> f64 {
        let columns = COLUMNS.iter().filter(|column| column.size == size && column.name.contains(kind));
        let means: Vec<f64> = columns.filter_map(|column| column.values[1]).collect();
        means.iter().sum::<f64>() / means.len() as f64
    }

    #[test]
    fn percentiles_rise_in_every_column() {
        for column in COLUMNS {
            let rising: Vec<f64> = column.values[3..].iter().copied().flatten().collect();
            assert!(rising.is_sorted(), "{column:?}");
        }
    }

    #[test]
    fn the_flaws_are_what_the_figures_say() {
        let gains = [8, 256, 2048, 8192, 131_072].map(|size| mean(size, "DV") / mean(size, "IB"));
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
