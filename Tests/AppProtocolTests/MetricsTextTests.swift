import Testing

@testable import AppProtocol

/// The text formats that Prometheus and its kin read.
@Suite struct MetricsTextTests {
    private static let report = MetricsReport([
        Metric(
            "altnet_outages", .counter, "Outages, by \"cause\".",
            [.init(["cause": "a\"b\\c\nd"], 2), .init(["cause": "key"], 3)]),
        Metric("altnet_connected", .gauge, "Is it?", [.init(1)]),
        Metric(
            "altnet_gap_seconds", .histogram, unit: "seconds", scale: 1000, "Gaps.",
            [
                .init(
                    ["kind": "x"], sum: 3500, buckets: [.init(atMost: 500, count: 1), .init(atMost: 1000, count: 1)],
                    count: 2)
            ]),
        Metric(
            "altnet_signal_dbm", .histogram, unit: "dbm", "Signal.",
            [.init(sum: -150, buckets: [.init(atMost: -70, count: 2)], count: 2)]),
    ])

    @Test func prometheus() {
        #expect(
            Self.report.text(.prometheus) == """
                # HELP altnet_outages_total Outages, by "cause".
                # TYPE altnet_outages_total counter
                altnet_outages_total{cause="a\\"b\\\\c\\nd"} 2
                altnet_outages_total{cause="key"} 3
                # HELP altnet_connected Is it?
                # TYPE altnet_connected gauge
                altnet_connected 1
                # HELP altnet_gap_seconds Gaps.
                # TYPE altnet_gap_seconds histogram
                altnet_gap_seconds_bucket{kind="x",le="0.5"} 1
                altnet_gap_seconds_bucket{kind="x",le="1"} 1
                altnet_gap_seconds_bucket{kind="x",le="+Inf"} 2
                altnet_gap_seconds_sum{kind="x"} 3.5
                altnet_gap_seconds_count{kind="x"} 2
                # HELP altnet_signal_dbm Signal.
                # TYPE altnet_signal_dbm histogram
                altnet_signal_dbm_bucket{le="-70"} 2
                altnet_signal_dbm_bucket{le="+Inf"} 2
                altnet_signal_dbm_sum -150
                altnet_signal_dbm_count 2

                """)
    }

    @Test func openMetrics() {
        #expect(
            Self.report.text(.openMetrics) == """
                # HELP altnet_outages Outages, by \\"cause\\".
                # TYPE altnet_outages counter
                altnet_outages_total{cause="a\\"b\\\\c\\nd"} 2
                altnet_outages_total{cause="key"} 3
                # HELP altnet_connected Is it?
                # TYPE altnet_connected gauge
                altnet_connected 1
                # HELP altnet_gap_seconds Gaps.
                # TYPE altnet_gap_seconds histogram
                # UNIT altnet_gap_seconds seconds
                altnet_gap_seconds_bucket{kind="x",le="0.5"} 1
                altnet_gap_seconds_bucket{kind="x",le="1.0"} 1
                altnet_gap_seconds_bucket{kind="x",le="+Inf"} 2
                altnet_gap_seconds_sum{kind="x"} 3.5
                altnet_gap_seconds_count{kind="x"} 2
                # HELP altnet_signal_dbm Signal.
                # TYPE altnet_signal_dbm histogram
                # UNIT altnet_signal_dbm dbm
                altnet_signal_dbm_bucket{le="-70.0"} 2
                altnet_signal_dbm_bucket{le="+Inf"} 2
                # EOF

                """)
    }
}
